"""Laws about the times of tasks: alone, together, folded, and on a faster machine."""

from __future__ import annotations

import fnmatch
import zlib
from collections.abc import Iterator
from functools import cache

import pytest
from law_cases import CASES, NODES, REL, Case, as_expected, every_case
from law_exceptions import EXCEPTIONS, MISTAKES
from law_nodes import scaled, without_power_limit
from law_reads import numbers_read
from law_runs import alone, as_it_is, unfolded

from c3sim.models.gemm import plan_gemm
from c3sim.models.hierarchy import plan_collective
from c3sim.simulation.folding import can_fold
from c3sim.simulation.runs import kinds_of
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Gemm, Workload
from c3sim.tasks.network import parts_of


@every_case("alone_takes_its_isolated_time")
def test_alone_takes_its_isolated_time(case: Case) -> None:
    """With every kind of sharing taken away, tasks that wait for nobody take what they take alone,
    to rounding.

    A task's time counts from the common release. Tasks that wait for another (``after``, the same
    stream) start later and are left out, as is an eager host's launch, whose thread serves tasks in
    order.
    """
    together = simulate(case.node, case.workload, private=frozenset(kinds_of(case.workload)))
    streams = [task.stream for task in case.workload.tasks.values()]
    for name, task in case.workload.tasks.items():
        if task.after or (task.stream is not None and streams.count(task.stream) > 1):
            continue
        isolated = alone(case, name).task(name).end
        assert together.task(name).end == pytest.approx(isolated, rel=REL), name


@every_case("concurrent_is_never_faster_than_ideal")
def test_concurrent_is_never_faster_than_ideal(case: Case) -> None:
    wall = as_it_is(case)[0].end
    longest = max(alone(case, name).end for name in case.workload.tasks)
    assert as_expected(
        "concurrent_is_never_faster_than_ideal", case, wall >= longest * (1 - REL)
    ), (wall, longest)


@every_case("folded_equals_unfolded", lambda c: can_fold(c.workload, c.node))
def test_folded_equals_unfolded(case: Case) -> None:
    """One GPU stands for all: every GPU of the unfolded run has the times of the only one of the
    folded run.
    """
    (folded, _), (whole, _) = as_it_is(case), unfolded(case)
    assert folded.folded and not whole.folded
    assert {gpu for _, gpu in whole.times} == set(range(case.node.ranks))
    for (name, gpu), times in whole.times.items():
        one = folded.times[name, 0]
        assert [times.ready, times.start, times.end] == pytest.approx(
            [one.ready, one.start, one.end], rel=REL
        ), gpu


def test_copies_of_the_first_gpu_only_are_never_folded() -> None:
    """GPU 0 has a link to share that the others have not: folding is derived, not asserted."""
    for case in CASES:
        if any(
            task.kind == "copy" and task.gpus == "first" for task in case.workload.tasks.values()
        ):
            assert not simulate(case.node, case.workload).folded


def _pinned(workload: Workload, node: Node) -> Workload:
    """The same with the library's present choices written down, so that no other tile is picked on
    a faster node, nor another algorithm (the library does not know what a network does behind its
    leaf switches, nor that a call is cold).
    """
    tasks = {}
    for name, task in workload.tasks.items():
        if isinstance(task, Gemm):
            plan = plan_gemm(node.gpu, task)
            task = task.model_copy(update={"macro_tile": plan.tile, "schedule": plan.schedule})
        elif isinstance(task, Collective) and task.backend == "dma" and node.nodes > 1:
            parts = parts_of(node, task)
            task = task.model_copy(update={"pipeline": parts})
        elif isinstance(task, Collective) and task.backend != "dma":
            plan = plan_collective(node, task)
            chosen = {"algorithm": plan.algorithm, "protocol": plan.protocol}
            parts = {"pipeline": plan.parts} if plan.hierarchical else {}
            task = task.model_copy(update=chosen | parts)
        tasks[name] = task
    return workload.model_copy(update={"tasks": tasks})


@cache
def _improvements(name: str) -> dict[str, Node]:
    """Node *name* without a power limit, one bandwidth a quarter higher or one latency a quarter
    lower, by the path of each.
    """
    return dict(_improved(without_power_limit(NODES[name])))


def _improved(node: Node) -> Iterator[tuple[str, Node]]:
    found: dict[str, str] = {}
    scaled(node, lambda path, unit: found.setdefault(path, unit) and 1.0)
    for path, unit in found.items():
        factor = {"B/s": 1.25, "B/cycle": 1.25, "s": 0.8}.get(unit)
        if factor:
            better = scaled(
                node, lambda here, _unit, path=path, factor=factor: factor if here == path else 1.0
            )
            if better != node:  # a latency of zero cannot improve
                yield path, better


@cache
def _before(case: Case) -> tuple[float, set[str]]:
    """When *case* ends without a power limit, its choices written down, and which numbers of the
    node that run reads.
    """
    node = without_power_limit(case.node)
    workload = _pinned(case.workload, node)
    return numbers_read(node, lambda watched: simulate(watched, workload).end)


@cache
def _after(case: Case, path: str) -> float:
    """The same with the number at *path* improved; one that is not read cannot move the end."""
    end, read = _before(case)
    if path not in read:
        return end
    workload = _pinned(case.workload, without_power_limit(case.node))
    return simulate(_improvements(case.node_name)[path], workload).end


# What the model does not use, by patterns of paths, and why.
UNUSED = {
    "links.raw_bandwidth": "what links signal at; usable bandwidth has an entry of its own",
    "gpu.clock.power_window": "when the power limit acts; these runs are without a limit",
    "gpu.dma_engines.queue_time_slice": "whose turn it is; a shorter one is not a better one",
    "gpu.dma_engines.local_latency": "of batches within a GPU; a single call is a kernel",
    "gpu.dma_engines.local_bandwidth": "the same",
    "gpu.kernels.release_spread": "one event for all; see tests/simulation/test_draws.py",
    "gpu.gemm_libraries.triton.enqueue_time": "no case launches this library eagerly",
    "collective_libraries.nccl.loop_enqueue_time": "no case is a loop; see tests/processes",
    "host_profiles.*": "no case names a profile; tests/processes, tests/iterations have some",
    "gpu.cache_policies.l1_bandwidth": "no case goes through L1; tests/models, suite h200_policies",
    "gpu.dma_engines.reduce_bandwidth": "no case has an engine add; tests/strategies have",
    "gpu.kernels.parameter_fault": "no case has managed parameters; tests/processes/kernels",
    "gpu.operators.symmetric_memory.*": "written into tasks first; tests/schedules sees them",
    "gpu.remote_stores.*": "no case stores at peers; tests/processes/kernels have some",
}


@pytest.mark.slow
@every_case(
    "more_bandwidth_or_less_latency_never_makes_the_only_task_slower",
    lambda c: len(c.workload.tasks) == 1,
)
def test_more_bandwidth_or_less_latency_never_makes_the_only_task_slower(case: Case) -> None:
    """Placement and clock fixed. (A faster memory costs power, and at the power limit that slows
    the clock.) Half of the numbers on one node, the other half on the next; all where the table
    names an exception.
    """
    before, _ = _before(case)
    law = "more_bandwidth_or_less_latency_never_makes_the_only_task_slower"
    known = {name for of, name in (*EXCEPTIONS, *MISTAKES) if of == law}
    every = not known.isdisjoint({str(case), case.name})
    tried = [path for path in _improvements(case.node_name) if every or _has_turn(case, path)]
    slower = [path for path in tried if _after(case, path) > before * (1 + REL)]
    assert as_expected(law, case, not slower), slower


def _has_turn(case: Case, path: str) -> bool:
    """Whether *case* is tried with the number at *path*: of two nodes in a row, on one."""
    number = zlib.crc32(f"{case.name} {path}".encode()) + list(NODES).index(case.node_name)
    return number % 2 == 0


@pytest.mark.slow
def test_every_bandwidth_and_latency_matters_to_some_task() -> None:
    """The law above would hold of a simulator that ignores its hardware; this one uses every number
    of its files.
    """
    matters: dict[str, bool] = {}
    for name in NODES:
        cases = [case for case in CASES if case.node_name == name]
        for path in _improvements(name):
            if not matters.get(path):  # elsewhere it did
                matters[path] = any(
                    _after(case, path) < _before(case)[0] * (1 - 1e-6) for case in cases
                )
    unused = {path for path, faster in matters.items() if not faster}
    named = {pattern: fnmatch.filter(unused, pattern) for pattern in UNUSED}
    assert sorted(unused - {path for paths in named.values() for path in paths}) == []
    assert [pattern for pattern, paths in named.items() if not paths] == []

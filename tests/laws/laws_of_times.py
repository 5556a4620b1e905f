"""Laws about the times of tasks: alone, together, folded, in another order, on another node."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import pytest
from law_cases import NODES, Case
from law_exceptions import known
from law_nodes import numbers_read, scaled, value_of, without_power_limit
from law_runs import REL, Trial, digest, ends, law

from c3sim.models.hierarchy import plan_collective
from c3sim.simulation.folding import can_fold
from c3sim.simulation.runs import kinds_of
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.paths import still_tuned
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Collective, Hold, HostTask, Workload
from c3sim.tasks.network import parts_of


@law()
def alone_takes_its_isolated_time(trial: Trial) -> None:
    """With every kind of sharing taken away, tasks that wait for nobody take what they take alone,
    to rounding.

    A task's time counts from the common release. Tasks that wait for another (``after``,
    ``awaits``, the same stream) start or end later and are left out, as is an eager host's launch,
    whose thread serves tasks in order.
    """
    kinds = frozenset(kinds_of(trial.workload))
    together = simulate(trial.node, trial.workload, private=kinds)
    streams = [task.stream for task in trial.workload.tasks.values()]
    for name, task in trial.workload.tasks.items():
        shares_stream = task.stream is not None and streams.count(task.stream) > 1
        if task.after or task.awaited or shares_stream:
            continue
        isolated = trial.alone(name).task(name).end
        assert together.task(name).end == pytest.approx(isolated, rel=REL), name


@law()
def concurrent_is_never_faster_than_ideal(trial: Trial) -> None:
    longest = max(trial.alone(name).end for name in trial.workload.tasks)
    assert trial.run.end >= longest * (1 - REL)


@law(lambda case: can_fold(case.workload, case.node))
def folded_equals_unfolded(trial: Trial) -> None:
    """One GPU stands for all: every GPU of the unfolded run has the times of the only one of the
    folded run.
    """
    folded, whole = trial.run, trial.unfolded
    assert folded.folded and not whole.folded
    assert {gpu for _, gpu in whole.times} == set(range(trial.node.ranks))
    for (name, gpu), times in whole.times.items():
        one = folded.times[name, 0]
        assert [times.ready, times.start, times.end] == pytest.approx(
            [one.ready, one.start, one.end], rel=REL
        ), gpu


def _first_copies(case: Case) -> bool:
    return any(t.kind == "copy" and t.gpus == "first" for t in case.workload.tasks.values())


@law(_first_copies)
def copies_of_the_first_gpu_only_are_never_folded(trial: Trial) -> None:
    """GPU 0 has a link to share that the others have not: folding is derived, not asserted."""
    assert not trial.run.folded


@law()
def halving_all_rates_and_clocks_doubles_every_time(trial: Trial) -> None:
    """Bandwidths and clocks halved, latencies doubled, bytes kept, no power limit: every time
    doubles.

    What fails here is a time or a rate hidden in the code, where no file can change it.
    """
    node, workload = without_power_limit(trial.node), trial.workload
    half = scaled(node, lambda _path, unit: {"B/s": 0.5, "Hz": 0.5, "s": 2.0}.get(unit, 1.0))
    tasks = {
        name: task.changed(time=2 * task.time)
        if isinstance(task, HostTask | Hold | Kernel) and task.time is not None
        else task
        for name, task in workload.tasks.items()
    }
    host = workload.host
    if host.kernel_gap is not None:
        host = host.changed(kernel_gap=2 * host.kernel_gap)
    slow = simulate(half, workload.changed(tasks=tasks, host=host))
    fast = simulate(node, workload)
    assert ends(slow) == pytest.approx({key: 2 * end for key, end in ends(fast).items()}, rel=REL)


@law(lambda case: len(case.workload.tasks) > 1)
def declaration_order_changes_only_ties(trial: Trial) -> None:
    """Tasks that arrive at the same instant are launched in the host's order. With that order
    given, the order in which tasks and streams are declared decides nothing.
    """
    workload = trial.workload
    order = workload.host.order or tuple(workload.tasks)
    host = workload.host.changed(order=order)
    tasks = dict(reversed(workload.tasks.items()))
    streams = dict(reversed(workload.streams.items()))
    other = workload.changed(host=host, tasks=tasks, streams=streams)
    assert ends(simulate(trial.node, other)) == pytest.approx(ends(trial.run), rel=REL)


@law()
def same_input_same_bytes(trial: Trial) -> None:
    """A second run in one process, which finds caches filled, gives the same JSON to the bit."""
    assert digest(simulate(trial.node, trial.workload, trace=True)) == digest(trial.run)


# A faster node -----------------------------------------------------------------------------------


@law(lambda case: len(case.workload.tasks) == 1)
def more_bandwidth_or_less_latency_never_makes_the_only_task_slower(trial: Trial) -> None:
    """From an eighth of a number to eight times it, by steps. Placement and clock fixed. (A faster
    memory costs power, and at the power limit that slows the clock.) A few numbers of each case,
    from half to twice; all where the table names an exception, or every case is tried.
    """
    case = trial.case
    every = EVERY or (
        "more_bandwidth_or_less_latency_never_makes_the_only_task_slower" in known(case)
    )
    tried = [path for path in improvements(case.node_name) if every or _has_turn(case, path)]
    steps = STEPS if every else STEPS[1::2]
    assert [path for path in tried if _slower_with_more(case, path, steps)] == []


#: Whether all numbers have their turn (``--every-case``).
EVERY = False
#: Steps of a number: so many times the bandwidth, or one so many times shorter.
STEPS = (1 / 8, 1 / 2, 1 / 1.25, 1.0, 1.25, 2.0, 8.0)
TURNS = 20  # of so many numbers one is tried in a sample


def _slower_with_more(case: Case, path: str, steps: Sequence[float]) -> bool:
    """True if *case* takes longer at any of *steps* up of the number at *path*."""
    if path not in end_and_reads(case)[1]:
        return False
    ends = [end_with(case, path, step) for step in steps]
    return any(more > less * (1 + REL) for less, more in pairwise(ends))


def _has_turn(case: Case, path: str) -> bool:
    """True if *case* is tried with the number at *path*: one of TURNS cases and nodes in a row."""
    number = zlib.crc32(f"{case.name} {path}".encode()) + list(NODES).index(case.node_name)
    return number % TURNS == 0


@cache
def improvements(name: str) -> dict[str, int]:
    """Bandwidths and latencies of node *name* that can be better: 1 where more is, else -1. Not
    those that a library takes the GPU to have when it selects a tile.
    """
    node = _without_power_limit(name)
    found: dict[str, str] = {}
    scaled(node, lambda path, unit: found.setdefault(path, unit) and 1.0)
    found = {path: unit for path, unit in found.items() if ".selection." not in path}
    better = {path: {"B/s": 1, "B/cycle": 1, "s": -1}.get(unit, 0) for path, unit in found.items()}
    # a latency of zero cannot improve
    return {path: how for path, how in better.items() if how and value_of(node, path)}


@cache
def _without_power_limit(name: str) -> Node:
    return without_power_limit(NODES[name])


@cache
def _with(name: str, path: str, factor: float) -> Node:
    """Node *name* without a power limit, the number at *path* times *factor*, by hand: its
    libraries pick the tiles that they did.
    """
    node = _without_power_limit(name)
    return still_tuned(node, scaled(node, lambda here, _unit: factor if here == path else 1.0))


@cache
def end_and_reads(case: Case) -> tuple[float, set[str]]:
    """When *case* ends without a power limit, its choices written down, and which numbers of the
    node that run reads.
    """
    node = _without_power_limit(case.node_name)
    workload = _pinned(case.workload, node)
    return numbers_read(node, lambda watched: simulate(watched, workload).end)


@cache
def end_with(case: Case, path: str, step: float) -> float:
    """The same with the number at *path* so many times better; one that is not read cannot move
    the end.
    """
    end, read = end_and_reads(case)
    if path not in read or step == 1.0:
        return end
    workload = _pinned(case.workload, _without_power_limit(case.node_name))
    node = _with(case.node_name, path, step ** improvements(case.node_name)[path])
    return simulate(node, workload).end


def _pinned(workload: Workload, node: Node) -> Workload:
    """The same with the library's present algorithms written down (the library does not know what
    a network does behind its leaf switches, nor that a call is cold).
    """
    tasks = {}
    for name, task in workload.tasks.items():
        if isinstance(task, Collective) and task.backend == "dma" and node.nodes > 1:
            task = task.changed(pipeline=parts_of(node, task))
        elif isinstance(task, Collective) and task.backend != "dma":
            plan = plan_collective(node, task)
            chosen = {"algorithm": plan.algorithm, "protocol": plan.protocol}
            parts = {"pipeline": plan.parts} if plan.hierarchical else {}
            task = task.changed(**(chosen | parts))
        tasks[name] = task
    return workload.changed(tasks=tasks)

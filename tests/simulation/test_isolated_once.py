"""Isolated times of equal tasks come from one simulation, and so do runs on nodes that differ only
in what they do not read."""

from __future__ import annotations

from typing import Any

import pydantic_core
import pytest
from law_nodes import scaled
from made_workload import workload_of
from shapes import TEACHING

import c3sim
from c3sim.evaluation.strategies.table import best_workload, candidates_of
from c3sim.experiments.points import node_with
from c3sim.machine.settling import Settled
from c3sim.simulation import runs
from c3sim.simulation.reads import Reads, watched
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import NO_WORKLOAD, paths_of, set_si


def _kept() -> int:
    return sum(len(known.runs) for known in runs._runs.values())


def _same(reads: Reads, one: Node, other: Node) -> bool:
    """True if all that was read is the same on both."""
    shape = reads.shape()
    return shape.values(one) == shape.values(other)


def test_a_task_is_simulated_once_whatever_its_name() -> None:
    """Three layers of the same two tasks, in one stream, waiting for each other: two runs."""
    tasks: dict[str, object] = {}
    for i in range(3):
        tasks[f"gemm{i}"] = {"kind": "gemm", "stream": "s", "m": 256, "n": 256, "k": 256}
        tasks[f"copy{i}"] = {
            "kind": "stream",
            "stream": "s",
            "bytes": "1 MiB",
            "after": [f"gemm{i}"],
        }
    node = load_node("teaching-4")
    workload = workload_of(tasks, node="teaching-4")
    runs.forget()
    ends = [runs.isolated(node, workload, name).end for name in workload.tasks]
    assert _kept() == 2
    assert ends[0] == ends[2] == ends[4] and ends[1] == ends[3] == ends[5]


def test_tasks_that_differ_in_their_waits_alone_are_looked_up_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind others or not: the same time; another stream, size or task: another one."""
    one: dict[str, object] = {"kind": "gemm", "stream": "s", "m": 4096, "n": 4096, "k": 512}
    tasks: dict[str, object] = {
        "first": one,
        "behind": {**one, "after": ["first"]},
        "masked": {**one, "stream": "narrow"},
        "longer": {**one, "k": 1024},
        "copy": {"kind": "stream", "stream": "s", "bytes": "1 MiB", "after": ["first"]},
    }
    streams = {"narrow": {"compute_units": "0-1"}}
    node, workload = (
        load_node("teaching-4"),
        workload_of(tasks, node="teaching-4", streams=streams),
    )
    one_by_one = {name: runs.isolated(node, workload, name) for name in tasks}
    asked, run_alone = [], runs.run_alone

    def counted(node: Node, workload: Any, name: str) -> Any:
        asked.append(name)
        return run_alone(node, workload, name)

    monkeypatch.setattr(runs, "run_alone", counted)
    assert runs.each_isolated(node, workload) == one_by_one
    assert asked == ["first", "masked", "longer", "copy"]
    assert len({run.end for run in one_by_one.values()}) == 4
    assert runs.each_isolated(node, workload, ["behind"]) == {"behind": one_by_one["first"]}


def test_a_run_is_found_on_nodes_in_turns() -> None:
    """What was read of the node that was asked for last is remembered, of that one alone."""
    workload = workload_of(PAIR, node="teaching-4")
    node = load_node("teaching-4")
    slow = scaled(node, lambda path, _: 0.5 if path == "links.bandwidth" else 1.0)
    runs.forget()
    first, other = (runs.isolated(each, workload, "gather").end for each in (node, slow))
    assert other > first
    for _ in range(2):
        assert runs.isolated(node, workload, "gather").end == first
        assert runs.isolated(slow, workload, "gather").end == other
    assert _kept() == 2


PAIR: dict[str, object] = {
    "gemm": {"kind": "gemm", "m": 512, "n": 512, "k": 512},
    "gather": {"kind": "collective", "op": "all_gather", "size": "16 MiB"},
}


def test_a_gemm_alone_is_not_simulated_again_where_only_links_differ() -> None:
    """A loop over bandwidths of links: the GEMM once, the collective each time."""
    workload = workload_of(PAIR, node="teaching-4")
    node = load_node("teaching-4")
    runs.forget()
    for factor in (1.0, 0.9, 0.8):
        other = scaled(node, lambda path, _, by=factor: by if path == "links.bandwidth" else 1.0)
        for name in PAIR:
            runs.isolated(other, workload, name)
    assert _kept() == 1 + 3


def test_an_iteration_asked_for_again_is_not_simulated_but_what_was_drawn_before_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workload = workload_of(PAIR, node="mi300x-8")
    node = load_node("mi300x-8")
    runs.forget()
    first = c3sim.run("bert-large-one-gpu")
    cold, warm = (runs.run_once(node, workload, settled=Settled(watts)) for watts in (200.0, 700.0))
    assert cold is not warm and _kept() == 4
    monkeypatch.setattr(runs, "simulate", None)
    assert c3sim.run("bert-large-one-gpu").to_dict() == first.to_dict()
    assert runs.run_once(node, workload, settled=Settled(200.0)) is cold


@pytest.mark.turns(5)
@pytest.mark.parametrize("strategy", ["base", "conccl"])
@pytest.mark.parametrize("node", ["teaching-4", "h200-4"])
def test_a_number_that_is_not_read_has_no_say(node: str, strategy: str) -> None:
    """Every number of a node is changed by itself: where a run did not read it, it stays the same
    to the last digit. A rate of DMA engines is read by who uses them alone.
    """
    on = load_node(node)
    workload = best_workload(strategy, workload_of(PAIR, node=node), on)
    seen, reads = watched(on)
    run = simulate(seen, workload, energy=True)
    assert run == simulate(on, workload, energy=True)
    unread, shape = set(), reads.shape()
    for path in paths_of(on, NO_WORKLOAD):
        other = scaled(on, lambda each, _, path=path: 0.9 if each == path else 1.0)
        if other != on and shape.values(on) == shape.values(other):
            unread.add(path)
            assert simulate(other, workload, energy=True) == run, path
    assert ("gpu.dma_engines.bandwidth" in unread) == (strategy == "base")
    assert "links.bandwidth" not in unread and "gpu.clock.maximum" not in unread


def test_what_is_expected_counts_as_read_and_more_is_noted() -> None:
    """The same run of a node with other links reads what it read before; who reads more has that
    and what was expected.
    """
    node = load_node("teaching-4")
    quick, late = (
        scaled(node, lambda each, _, path=path: 0.9 if each == path else 1.0)
        for path in ("links.bandwidth", "links.latency")
    )
    seen, reads = watched(node)
    assert seen.links.bandwidth and seen.gpu.compute_unit_count
    shape = reads.shape()
    seen, reads = watched(quick, shape)
    assert seen.links.bandwidth == quick.links.bandwidth and reads.shape() is shape
    assert shape.values(node) != shape.values(quick) and shape.values(node) == shape.values(late)
    assert seen.links.latency == quick.links.latency
    assert not _same(reads, node, late) and not _same(reads, node, quick)


def test_runs_share_what_is_watched_until_one_reads_more() -> None:
    """Two nodes with one GPU: it is watched once. What a run reads beyond counts for all that have
    it by then, and who comes later has another one, of which no more is read than was expected.
    """
    node = load_node("teaching-4")
    slow = node.changed(links__latency=2 * node.links.latency)
    seen, reads = watched(node)
    assert seen.links.bandwidth and seen.gpu.hbm.bandwidth
    shape = reads.shape()
    (one, of_one), (other, of_other) = watched(node, shape), watched(slow, shape)
    assert one.gpu is other.gpu and one.links is not other.links
    assert one.gpu.hbm.bandwidth == node.gpu.hbm.bandwidth and of_one.shape() is shape
    assert one.gpu.hbm.latency == node.gpu.hbm.latency
    assert of_one.shape() is of_other.shape() is not shape
    late, of_late = watched(slow, shape)
    assert late.gpu is not one.gpu and of_late.shape() is shape


def test_what_is_asked_of_a_whole_model_is_all_read() -> None:
    """A text, a copy or a comparison of the links: links of another latency are others."""
    node = load_node("teaching-4")
    other = scaled(node, lambda path, _: 0.9 if path == "links.latency" else 1.0)
    for asks in (
        lambda links: links.model_dump(),
        lambda links: links.model_copy(),
        lambda links: links == node.links,
        hash,
        repr,
        list,
    ):
        seen, reads = watched(node)
        assert seen.links.bandwidth == node.links.bandwidth
        assert _same(reads, node, other)
        asks(seen.links)
        assert not _same(reads, node, other)


def test_keys_of_a_mapping_are_read_one_by_one() -> None:
    """A library that nobody looks up may be another; which libraries there are is read by who goes
    through them.
    """
    node = load_node("mi300x-8")
    libraries = node.gpu.gemm_libraries
    fewer = {name: libraries[name] for name in ("hipblaslt",)}
    other = node.changed(gpu__gemm_libraries=fewer)
    seen, reads = watched(node)
    assert seen.gpu.gemm_libraries["hipblaslt"].tiles and "none" not in seen.gpu.gemm_libraries
    assert _same(reads, node, other)
    assert len(seen.gpu.gemm_libraries) == len(libraries)
    assert not _same(reads, node, other)


@pytest.mark.parametrize("node", ["mi300x-8", "h200-4", "teaching-4"])
def test_launch_order_has_no_say_on_units_of_their_own(node: str) -> None:
    """``rp`` gives GEMM and collective units of their own, ``sp_rp`` launches them in the other
    order as well: the same run, which is simulated once. On shared units order decides.
    """
    workload = workload_of(PAIR, node=node)
    target = load_node(node)
    apart = [candidates_of(name, workload, target)[0].workload for name in ("rp", "sp_rp")]
    assert apart[0].host.order != apart[1].host.order
    first, second = (simulate(target, each) for each in apart)
    assert {key: run.end for key, run in first.times.items()} == pytest.approx(
        {key: run.end for key, run in second.times.items()}, rel=1e-12
    )
    assert runs.run_once(target, apart[0]) is runs.run_once(target, apart[1])
    shared = [candidates_of(name, workload, target)[0].workload for name in ("base", "sp")]
    assert runs.run_once(target, shared[0]) is not runs.run_once(target, shared[1])


def test_runs_of_one_node_are_known_by_it_and_forgotten() -> None:
    """Twice on one node is one simulation; on another node with the same numbers it is one more.
    Outside, nothing is known of them.
    """
    workload = workload_of(PAIR, node="teaching-4")
    node = load_node("teaching-4")
    runs.forget()
    with runs.of_one_node():
        first = runs.run_once(node, workload)
        assert runs.run_once(node, workload) is first
        assert runs.run_once(node.model_copy(), workload) is not first
    assert not _kept()
    assert runs.run_once(node, workload) == first


def test_a_gpu_as_tuned_is_not_written_out_for_each_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nodes with a number set by hand hold the GPU as its libraries know it, which has mappings."""
    workload = workload_of(PAIR, node="mi300x-8")
    node = load_node("mi300x-8")
    runs.forget()
    runs.run_once(node, workload)
    values = [1e12 * number for number in (3, 4, 5)]
    others = [node_with(node, workload, (("gpu.hbm.bandwidth", v),)) for v in values]
    assert all(other.gpu.tuned_on is node.gpu for other in others)
    written: list[object] = []

    def to_json(part: object, **options: Any) -> bytes:
        written.append(part)
        return bytes(pydantic_core.to_json(part, **options))

    monkeypatch.setattr(runs, "to_json", to_json)
    ends = [runs.run_once(other, workload).end for other in (*others, *others)]
    assert ends[:3] == ends[3:] and len(set(ends)) > 1
    assert node.gpu in written and len(written) == len({id(part) for part in written}) <= 2


MOVED = {"kind": "collective", "size": "48 MiB", "backend": "dma"}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"variant": "pcpy", "engines": 2},
        {"variant": "b2b", "ways": 2},
        {"direction": "pull"},
        {"out_of_place": True},
        {"chunks": 3},
    ],
)
@pytest.mark.parametrize("threads", ["per_gpu", "single"])
@pytest.mark.parametrize("node", ["mi300x-8", "mi355x-8", "h200-4"])
def test_by_copies_an_exchange_is_what_a_gathering_is(
    node: str, threads: str, fields: dict[str, object]
) -> None:
    """Same times, energies and lines of caches, alone and beside a GEMM."""
    read = {
        op: workload_of(
            {"gemm": PAIR["gemm"], "moved": {**MOVED, **fields, "op": op}},
            host={"threads": threads},
        )
        for op in ("all_gather", "all_to_all")
    }
    on = load_node(node)
    one, other = (simulate(on, workload, energy=True) for workload in read.values())
    assert one == other
    first, second = (runs.run_once(on, workload) for workload in read.values())
    assert first is second and first == one


@pytest.mark.parametrize(
    ("node", "fields"),
    [("mi300x-8", {"backend": "rccl"}), ("mi300x-8", {"variant": "swap"}), ("h100-cluster", {})],
)
def test_no_other_exchange_is(node: str, fields: dict[str, object]) -> None:
    task = {**MOVED, **fields, "op": "all_to_all"}
    workload = workload_of({"moved": task}, node=node)
    assert runs._as_run(load_node(node), workload) is workload


def test_the_turn_that_says_what_was_drawn_before_is_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a node with another rate of what it does not use, no turn is simulated for its average."""
    gemm = {"kind": "gemm", "stream": "s", "m": 2048, "n": 2048, "k": 2048}
    loop = {"host": {"loop": {"iterations": 50}}, "tasks": {"gemm": gemm}}
    workload = workload_of(node="h200-8", **loop)
    turns, first = list[Node](), runs.first_turn
    monkeypatch.setattr(runs, "first_turn", lambda on, work: turns.append(on) or first(on, work))
    node = load_node("h200-8")
    other, _ = set_si(node, NO_WORKLOAD, "links.bandwidth", node.links.bandwidth / 2)
    runs.forget()
    settled = runs.settled_before(node, workload)
    assert settled.average > node.gpu.clock.idle_power
    assert runs.settled_before(other, workload) == settled
    assert len(turns) == 1


def _looped(launch: str, **fields: object) -> Any:
    task = {"kind": "gemm", "stream": "s", "m": 4096, "n": 4096, "k": 4096, **fields}
    host = {"launch": launch, "loop": {"iterations": 50}}
    return workload_of({"gemm": task}, node="mi300x-8", host=host)


def test_the_turn_of_a_loop_is_known_behind_the_clocks_that_it_leaves() -> None:
    """With its energy it answers for one without; where a kind is private the clock of all tasks
    moves with it, so there it is run.
    """
    workload, node = _looped("graph"), load_node("mi300x-8")
    runs.forget()
    found = runs.run_once(node, workload)
    again = simulate(node, workload, clocks=found.clocks)
    assert found.clocks and again.times == found.times and again.events == found.events
    assert runs.run_once(node, workload, energy=False, clocks=found.clocks) is found
    assert _kept() == 1
    other = {key: memory._replace(factor=0.5) for key, memory in found.clocks.items()}
    assert runs.run_once(node, workload, clocks=other) is not found
    private = frozenset({"clock"})
    with_energy = runs.run_once(node, workload, private)
    assert runs.run_once(node, workload, private, energy=False) is not with_energy


@pytest.mark.parametrize("launch", ["graph", "eager"])
def test_the_time_of_a_call_has_a_say_where_hosts_call_alone(launch: str) -> None:
    """Of a task, and of the host that says it for those without."""
    node = load_node("mi300x-8")
    slow, _ = set_si(node, NO_WORKLOAD, "host.launch_time", 1e-3)
    runs.forget()
    first = runs.run_once(node, _looped(launch))
    said = runs.run_once(node, _looped(launch, launch_time="1 ms"))
    assert runs.run_once(slow, _looped(launch)).times == said.times
    assert (said is first) == (launch == "graph")
    assert _kept() == (1 if launch == "graph" else 3)


def test_prelaunched_commands_have_a_say_where_there_are_commands_alone() -> None:
    """A GEMM runs as it does beside a host that has queued nothing; behind a copy it does not."""
    gemm = {"kind": "gemm", "m": 4096, "n": 4096, "k": 512}
    copy = {"kind": "copy", "bytes": "1 MiB", "peer": 1}

    def kept(**tasks: object) -> int:
        runs.forget()
        for prelaunched in (True, False):
            host = {"prelaunched": prelaunched}
            runs.run_once(TEACHING, workload_of(tasks, host=host))
        return _kept()

    assert kept(gemm=gemm) == 1
    assert kept(gemm=gemm, copy=copy) == 2

"""Programs for DMA engines, command by command.

Teaching node with a link to every peer: an engine and a link move 10 GB/s, 100 kB in 10 us; 2.5 us
from doorbell to fetched and 2.5 us from the last byte to a signal; a poll is answered in 1 us;
changing the queue takes 3 us. A program that writes the rings itself pays 0.25 us per packet,
0.5 us per doorbell and 0.25 us per signal it sees.
"""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of, workload_of
from shapes import TEACHING

from c3sim.models.dma import engine_work
from c3sim.processes.dma.commands import engine_numbers
from c3sim.processes.dma.copies import engine_for, host_engine_for
from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.task import Command
from c3sim.spec.workload import Collective
from c3sim.tasks.engine_collective import _copies, collective_program

US = 1e-6
MESH = TEACHING.changed(links__topology="full_mesh")
MI300X = load_node("mi300x-8")


def with_engines(node: Node = MESH, **update: object) -> Node:
    engines = node.gpu.dma_engines.changed(**update)
    return node.changed(gpu__dma_engines=engines)


def copy(peer: int | str = 1, **fields: Any) -> dict[str, Any]:
    return {"op": "copy", "bytes": "100 kB", "peer": peer, **fields}


def run(*program: dict[str, Any], node: Node = MESH, fold: bool | None = None, **host: Any) -> Run:
    task = {"kind": "commands", "program": list(program)}
    return run_of({"t": task}, node, host={"submission": "direct", **host}, trace=True, fold=fold)


def stamps(outcome: Run) -> dict[str, float]:
    return {name: time / US for name, time in outcome.task("t").detail["timestamps_s"].items()}


def test_a_program_that_ends_with_an_atomic_needs_no_signal_of_its_own() -> None:
    """A copy and its atomic are two packets, as a copy and the signal that is added to it: 1 + 2.5
    + 10 + 2.5 + 0.25 us.
    """
    expected = pytest.approx(16.25 * US)
    assert run(copy()).end == expected
    assert run(copy(), {"op": "atomic", "on": "done"}).end == expected


def test_timestamps_around_a_copy() -> None:
    """Four packets and a doorbell, 1.5 us; fetched 2.5 us later; 10 us of copying. The atomic is
    seen 2.5 us after that.
    """
    outcome = run(
        {"op": "timestamp", "on": "begin"},
        copy(),
        {"op": "timestamp", "on": "end"},
        {"op": "atomic", "on": "done"},
    )
    assert stamps(outcome) == pytest.approx({"begin": 4.0, "end": 14.0})
    assert outcome.end == pytest.approx((14 + 2.5 + 0.25) * US)


def test_a_timestamp_waits_for_bytes_on_their_way() -> None:
    """Copies overlap with the 3 us that bytes take to land, timestamps do not: 4 + 10 + 10 and 3 us
    later.
    """
    program = [copy(), copy(), {"op": "timestamp", "on": "end"}, {"op": "atomic", "on": "done"}]
    assert stamps(run(*program, node=with_engines(copy_latency=3e-6))) == pytest.approx(
        {"end": 27.0}
    )


def test_a_poll_holds_its_queue_until_a_peer_has_told() -> None:
    """Engine 0 copies to peer 1 and tells it, 1.5 us of packets and doorbell more than the 1 of
    engine 1's ring, which is written second. 1.25 + 2.5 + 10 + 2.5: the word; 1 us for the poll;
    then 10 us for the copy and 2.5 + 0.25 us for its end.
    """
    outcome = run(
        copy(1, engine=0),
        {"op": "atomic", "on": "ready", "peer": 1, "engine": 0},
        {"op": "poll", "on": "ready", "engine": 1},
        copy(2, engine=1),
    )
    assert outcome.end == pytest.approx((1 + 2.5 + 10 + 2.5 + 1 + 10 + 2.5 + 0.25) * US)


def test_folded_and_unfolded_programs_agree() -> None:
    program = [
        copy(1, engine=0),
        {"op": "atomic", "on": "a", "peer": 1, "engine": 0},
        {"op": "poll", "on": "a", "engine": 1},
        copy(2, engine=1),
        {"op": "broadcast", "bytes": "100 kB", "peers": [1, 3], "engine": 1},
    ]
    assert run(*program, fold=False).end == pytest.approx(run(*program, fold=True).end)


def test_queues_of_an_engine_take_turns() -> None:
    """Two copies in each of two queues of one engine: 3 us for each of the three changes between
    them, 40 us of copying. Behind a poll all start at 1 us; the last signal comes 2.5 us after the
    last byte and is seen 0.25 us later.
    """
    program = [copy(peer, engine=0, queue=queue) for queue in (0, 1) for peer in (1, 2)]
    outcome = run(*program, prelaunched=True)
    spans = sorted(
        (s for s in outcome.timeline.spans if s.track == "gpu0.dma[0]"), key=lambda span: span.start
    )
    assert [round(span.start / US, 3) for span in spans] == [1, 14, 27, 40]
    assert outcome.end == pytest.approx((40 + 10 + 2.75) * US)


def test_a_poll_does_not_hold_the_other_queue() -> None:
    """The first queue waits for what the second one tells; with one queue both would wait for ever
    (test_program_checks).
    """
    outcome = run(
        {"op": "poll", "on": "go", "engine": 0},
        copy(1, engine=0),
        copy(2, engine=0, queue=1),
        {"op": "atomic", "on": "go", "engine": 0, "queue": 1},
    )
    assert [s.detail["bytes"] for s in outcome.timeline.spans if s.track == "gpu0.dma[0]"] == [
        100_000,
        100_000,
    ]


def test_who_finds_the_ring_full_waits_for_room() -> None:
    """Room for two packets of 28 B. The first two are rung for at 1 us; at 3.5 us the first begins
    and leaves its room, and the third is there long before the engine is free for it: 3.5 + 40 +
    2.5 + 0.25 us.
    """
    copies = [copy(1, engine=0) for _ in range(4)]
    assert run(*copies, node=with_engines(ring_bytes=56)).end == pytest.approx(46.25 * US)


def test_a_ring_of_one_packet_starves_the_engine() -> None:
    """Copies of 0.1 us. In one ring: 5 packets and a doorbell, 1.75 us, and 2.5 + 0.4 + 2.75 us.
    One at a time, each is written (0.75 us, the last one with the signal 1 us) when the one before
    begins, and fetched 2.5 us later: 3 x 3.25 + 3.5 us, then 0.1 + 2.75 us.
    """
    copies = [{**copy(1, engine=0), "bytes": "1 kB"} for _ in range(4)]
    assert run(*copies).end == pytest.approx(7.4 * US)
    assert run(*copies, node=with_engines(ring_bytes=28)).end == pytest.approx(16.1 * US)


def test_a_full_ring_stops_the_thread() -> None:
    """The thread writes the ring of peer 2 only when all of peer 1's has room: the last of four
    copies enters when the third begins.
    """
    node = with_engines(ring_bytes=28, count=3)
    outcome = run(*[copy(1) for _ in range(4)], copy(2), node=node)
    spans = {
        name: [s for s in outcome.timeline.spans if s.track == f"gpu0.dma[{name}]"]
        for name in (0, 1)
    }
    assert len(spans[0]) == 4 and len(spans[1]) == 1
    assert spans[1][0].start > spans[0][2].start


def test_a_swap_and_a_reduction_need_their_rates() -> None:
    """An engine of 10 GB/s that adds 5 GB/s takes 20 us for 100 kB; without a rate it cannot (see
    test_checks).
    """
    adding = with_engines(reduce_bandwidth=5e9)
    assert run({"op": "reduce", "bytes": "100 kB", "peer": 1}, node=adding).end == pytest.approx(
        26.25 * US
    )
    with pytest.raises(ValueError, match="cannot reduce"):
        engine_work(MESH.gpu.dma_engines, "reduce")


def test_a_broadcast_to_three_where_engines_can() -> None:
    """Three destinations at 10 GB/s written in all: 30 us; links carry a third of what they can."""
    node = with_engines(broadcast_destinations=3)
    outcome = run({"op": "broadcast", "bytes": "100 kB", "peers": [1, 2, 3]}, node=node)
    assert outcome.end == pytest.approx((1 + 2.5 + 30 + 2.75) * US)


def test_copies_to_and_from_the_host_have_engines_of_their_own() -> None:
    """On MI300X engine 1 reads from the host and engine 0 writes to it; peers begin at engine 2."""
    assert host_engine_for(MI300X, 0, out=True) == (0, 0) and host_engine_for(
        MI300X, 0, out=False
    ) == (1, 0)
    outcome = run(copy("host"), copy("host", direction="pull"), copy(1), node=MI300X)
    assert {span.track for span in outcome.timeline.spans if "gpu0.dma" in span.track} == {
        "gpu0.dma[0]",
        "gpu0.dma[1]",
        "gpu0.dma[14]",
    }


def test_the_map_says_which_engine_serves_a_peer() -> None:
    """Published for one node: GPU 0 reaches GPU 1 by engine 14 and GPU 7 by engine 4, GPU 3 reaches
    GPU 0 by engine 12.
    """
    assert [engine_for(MI300X, 0, offset)[0] for offset in (1, 7)] == [14, 4]
    assert engine_for(MI300X, 3, 5)[0] == 12
    assert engine_for(MI300X, 0, 1, part=1, parts=2)[0] == 15  # the other engine of the pair
    gathered = collective_program(
        MI300X, 0, Collective(kind="collective", op="all_gather", size=8e6, backend="dma")
    )
    assert engine_numbers(MI300X, 0, gathered) == [14, 2, 10, 6, 12, 8, 4]


def test_another_peers_engine_costs_waiting_in_its_line_and_nothing_else() -> None:
    """Two copies to peers 1 and 2: on their own engines side by side, on one engine after each
    other: 10 us more. The published rows at 1 GiB, where one engine serves seven peers at 1.05
    times a link's rate, leave no room for another cost.
    """
    own, one = (
        run(copy(1, engine=0), copy(2, engine=engine), prelaunched=True).end for engine in (1, 0)
    )
    assert one - own == pytest.approx(10 * US - 0.25 * US)


def test_commands_without_a_peer_follow_the_one_before() -> None:
    program = [
        Command(op="poll", on="a"),
        Command(op="copy", bytes=1, peer=3),
        Command(op="atomic", on="a", peer=1),
        Command(op="copy", bytes=1, peer=7),
        Command(op="timestamp", on="t"),
    ]
    assert engine_numbers(MI300X, 0, program) == [10, 10, 10, 4, 4]


def test_back_to_back_over_engines_and_ways() -> None:
    """Seven peers over two engines, and two queues of each: peers 1, 3, 5, 7 and 2, 4, 6, every
    second one in the other queue.
    """
    task = Collective(
        kind="collective",
        op="all_gather",
        size=8e6,
        backend="dma",
        variant="b2b",
        engines=2,
        ways=2,
    )
    places = [(c.peer, c.engine, c.queue) for c in collective_program(MI300X, 0, task)]
    assert places == [
        (1, 14, 0),
        (2, 2, 0),
        (3, 14, 1),
        (4, 2, 1),
        (5, 14, 0),
        (6, 2, 0),
        (7, 14, 1),
    ]


@pytest.mark.parametrize("op", ["reduce_scatter", "all_reduce"])
def test_collectives_of_engines_that_reduce(op: str) -> None:
    """Four GPUs, 100 kB to each of three peers, engines enough and all at 10 GB/s. Reduce-scatter:
    three rings of 1 us each, then 2.5 + 10 + 2.5 + 0.25 us. All-reduce: rings of 5 packets, 1.75 us
    each; told 2.5 us after the bytes of the last ring have landed; 1 us for the polls; the copies
    and their ends as above.
    """
    node = with_engines(reduce_bandwidth=10e9, count=3)
    task = {"kind": "collective", "op": op, "size": "400 kB", "backend": "dma"}
    workload = workload_of({"t": task}, host={"submission": "direct"})
    expected = {
        "reduce_scatter": 3 * 1.0 + 2.5 + 10 + 2.5 + 0.25,
        "all_reduce": 3 * 1.75 + 2.5 + 10 + 2.5 + 1 + 10 + 2.5 + 3 * 0.25,
    }
    for fold in (True, False):
        assert simulate(node, workload, fold=fold).end == pytest.approx(expected[op] * US, rel=1e-6)


def test_commands_that_differ_in_their_places_alone_are_checked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seven copies of a GPU: one is validated, the others are it elsewhere."""
    checked = []
    begin = Command.__init__

    def noted(self: Command, **fields: object) -> None:
        checked.append(fields)
        begin(self, **fields)

    monkeypatch.setattr(Command, "__init__", noted)
    _copies.cache_clear()  # of other tests
    node = load_node("mi300x-8")
    gather = Collective(kind="collective", op="all_gather", size=2.0**20, backend="dma")
    program = collective_program(node, 0, gather)
    assert [command.peer for command in program] == [1, 2, 3, 4, 5, 6, 7]
    assert len({command.engine for command in program}) == 7 and len(checked) == 1
    assert all(Command.model_validate(command.model_dump()) == command for command in program)

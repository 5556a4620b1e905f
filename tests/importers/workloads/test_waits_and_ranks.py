"""Waits of kernels, the part that is an iteration, the rank that came last to a collective."""

from __future__ import annotations

import pytest
from kineto_case import MadeTrace

from c3sim.errors import InputError
from c3sim.importers.workloads.build import build
from c3sim.importers.workloads.trace import Trace, choose, exposed, in_order, iterations, read_trace
from c3sim.importers.workloads.waits import Waits, find_waits
from c3sim.simulation.runs import isolated
from c3sim.spec.reading.hardware import load_node
from c3sim.spec.workload import Workload

NODE = load_node("h200-2")


def read(made: MadeTrace) -> Trace:
    return read_trace(made.text(), "made.json")


def waits(made: MadeTrace) -> Waits:
    trace = read(made)
    return find_waits(trace, in_order(trace.works))


def test_record_wait_launch_is_a_dependency() -> None:
    """As a collective library is called: the event of the compute stream, then its own kernel."""
    made = MadeTrace()
    made.kernel("a", 1000, 100, called=10)
    made.call("cudaEventRecord", 20)
    made.call("cudaStreamWaitEvent", 22)
    made.kernel("b", 1500, 100, called=30, stream=9)
    found = waits(made)
    assert (found.after, found.by_order) == ({1: {0}}, 1)


def test_a_wait_is_not_for_work_that_ended_later() -> None:
    """The last launch before the record still ran when the waiting kernel began; the record before
    it is behind one that had ended.
    """
    made = MadeTrace()
    made.kernel("first", 1000, 100, called=10, stream=9)
    made.call("cudaEventRecord", 15)
    made.kernel("second", 1100, 900, called=20, stream=9)
    made.call("cudaEventRecord", 25)
    made.call("cudaStreamWaitEvent", 27)
    made.kernel("waits", 1200, 10, called=30)
    assert waits(made).after == {2: {0}}


def test_a_trace_that_says_its_events_is_believed() -> None:
    """Though a later record would fit as well."""
    made = MadeTrace()
    made.kernel("meant", 1000, 10, called=10, stream=9)
    event = made.call("cudaEventRecord", 15)
    made.kernel("other", 1000, 10, called=20, stream=8)
    made.call("cudaEventRecord", 25)
    made.call(
        *("cudaStreamWaitEvent", 27),
        stream=7,
        wait_on_stream=9,
        wait_on_cuda_event_record_corr_id=event,
    )
    made.kernel("waits", 2000, 10, called=30)
    found = waits(made)
    assert (found.after, found.told, found.by_order) == ({2: {0}}, 1, 0)


def test_a_late_kernel_waited_for_what_had_just_ended() -> None:
    """It was launched at 30 and its stream was free; a kernel of another stream ended 6 us before
    it began. Of one that ended 300 us before nothing is concluded.
    """
    made = MadeTrace()
    made.kernel("long before", 1000, 700, called=10, stream=8)
    made.kernel("just before", 1000, 994, called=20, stream=9)
    made.kernel("late", 2000, 10, called=30)
    found = waits(made)
    assert (found.after, found.by_time) == ({2: {1}}, 1)


def two_steps() -> MadeTrace:
    made = MadeTrace()
    for number, begin in ((4, 0), (5, 5000)):
        made.mark(number, begin, 1000)
        made.kernel("a", begin + 2000, 100, called=begin + 10)
        made.kernel("b", begin + 2100 + number, 100, called=begin + 20)
    return made


def test_an_iteration_is_what_its_mark_launched() -> None:
    """Though it ran behind the mark."""
    trace = read(two_steps())
    chosen, all_of_them = choose(trace, 4)
    assert [work.start for work in chosen.works] == [2000, 2104] and len(all_of_them) == 2
    assert choose(trace, None)[0].name == "ProfilerStep#5"
    with pytest.raises(InputError, match="got 3; iterations marked: 4, 5"):
        choose(trace, 3)


def test_without_marks_an_iteration_is_what_repeats() -> None:
    made = MadeTrace()
    for turn in range(3):
        for place, name in enumerate("abac"):
            made.kernel(name, 1000 * turn + 100 * place, 90, called=1000 * turn + 100 * place)
    trace = read(made)
    assert [each.start for each in iterations(trace).values()] == [0, 1000, 2000]
    assert choose(trace, 2)[0].start == 1000
    assert len(choose(trace, None)[0].works) == 12  # all of it, where none is asked for


def test_exposed_communication_is_what_nothing_hides() -> None:
    """A collective from 100 to 400, kernels from 0 to 150 and from 300 to 350: 150 + 50 us."""
    made = MadeTrace()
    made.kernel("a", 0, 150)
    made.kernel("b", 300, 50)
    made.gather(100, 300, mib=64, ranks=2)
    assert exposed(read(made).works) == 200


def rank(number: int, start: float, *, beside: bool = False, clock: float = 0) -> Trace:
    """One of two ranks, whose all-gather begins at *start* and ends at 2000, by its own *clock*."""
    made = MadeTrace(rank=number, ranks=2)
    made.kernel("a", 500 + clock, 100, called=10 + clock)
    made.gather(start + clock, 2000 - start, mib=64, ranks=2, called=20 + clock)
    if beside:
        made.kernel("b", 1500 + clock, 700, called=30 + clock)
    return read(made)


def test_a_collective_takes_what_it_took_from_its_last_arrival() -> None:
    """Rank 1 comes 600 us later, and waits least: 400 us from then on, with nothing beside it."""
    found = build([rank(0, 1000), rank(1, 1600)], NODE, None)
    gather = found.workload["tasks"]["all_gather_2"]
    assert "rank 1" in found.workload["source"] and "peers_late" not in gather
    run = isolated(NODE, Workload.model_validate(found.workload), "all_gather_2")
    assert run.end - run.start == pytest.approx(400e-6, rel=0.05)


def test_who_waits_in_one_collective_and_not_in_others_has_late_peers() -> None:
    """Rank 0 waits 600 us in one, rank 1 1000 us in another: rank 0 is simulated."""
    traces = []
    for number, starts in ((0, (1000, 5000)), (1, (1600, 4000))):
        made = MadeTrace(rank=number, ranks=2)
        for start, end in zip(starts, (2000, 6000), strict=True):
            made.gather(start, end - start, mib=64, ranks=2, called=start - 500)
        traces.append(read(made))
    found = build(traces, NODE, None)
    first, second = found.workload["tasks"].values()
    assert "rank 0" in found.workload["source"]
    assert first["peers_late"] == pytest.approx(600e-6) and "peers_late" not in second


def test_beside_others_a_collective_takes_the_models_time() -> None:
    found = build([rank(0, 1000, beside=True), rank(1, 1600, beside=True)], NODE, None)
    assert "speed" not in found.workload["tasks"]["all_gather_2"]
    assert any("take the model's time" in guess for guess in found.guesses)


def test_clocks_of_ranks_are_put_right_by_the_ends_of_collectives() -> None:
    found = build([rank(0, 1000, clock=7000), rank(1, 1600)], NODE, None)
    assert "rank 1" in found.workload["source"]
    assert any("put right by 7000 us" in guess for guess in found.guesses)

"""What binds: found by moving numbers, on times that a reader can work out."""

import iteration_case
import pytest
from rich.console import Console

import c3sim
from c3sim.api import prepare
from c3sim.evaluation.limiter import MOST, STEP, better, candidates, limits
from c3sim.iterations.described import described
from c3sim.iterations.limits import limit_line, limit_of_run, limits_of, results_behind
from c3sim.output.tables.limits import limits_table
from c3sim.simulation import runs
from c3sim.spec.reading.loading import load_node

pytestmark = pytest.mark.turns(5)

PAIR = "gemm-beside-all-gather"
FAST_LINKS = {"links.bandwidth": "97 GB/s"}
IN_FLIGHT = "gpu.dma_engines.bytes_in_flight"


def test_progress_knows_how_many_simulations_are_ahead_at_most(node):
    """Those of all groups of numbers and of all numbers; a time that follows none ends sooner."""
    told = []
    limits(lambda on: {"still": 1.0}, node, (), lambda *each: told.append(each), chief=True)
    (first, *_, last) = [(done, total) for _, done, total in told]
    assert first == (1, 1)
    assert last[0] < last[1] <= 1 + 2 * len(candidates(node, chief=True))


@pytest.fixture(scope="module")
def node():
    return prepare(PAIR, None)[1]


def test_a_time_that_is_the_slower_of_two_is_bound_by_it_until_the_other_is(node):
    """Of links and memory, 1 s / links against 0.5 s / memory, each in times of the file's: links
    bind until they are twice as good, found within STEP and the bisection's 9 %.
    """

    def times(on):
        by_links = node.links.bandwidth / on.links.bandwidth
        by_memory = 0.5 * node.gpu.hbm.bandwidth / on.gpu.hbm.bandwidth
        return {"slower": max(by_links, by_memory)}

    found = limits(times, node, {"slower"})["slower"]
    assert (found.path, found.then) == ("links.bandwidth", "gpu.hbm.bandwidth")
    assert found.part == pytest.approx(1.0)
    assert 2 / STEP < found.factor < 2 * STEP


def test_of_few_numbers_those_of_a_small_group_are_moved_one_by_one_at_once():
    """An H200's clock has a maximum, a limit of power and a peak; a step follows the first two, so
    all of them together say nothing that each alone does not.
    """
    node, asked = load_node("h200-8"), []

    def times(on):
        asked.append(on.gpu.clock)
        rate = on.gpu.clock.maximum * on.gpu.clock.power_limit
        return {"one": 1e12 / rate, "other": 2e12 / rate}

    assert limits(times, node, (), chief=True)["one"].part == pytest.approx(1.0)
    moved = [clock for clock in asked if clock != node.gpu.clock]
    assert len(moved) == 3


def test_a_time_that_follows_two_numbers_has_the_part_of_each(node):
    """3 s by the clock and 1 s by a latency: 0.75 of it follows the clock, to first order."""

    def times(on):
        by_clock = 3 * node.gpu.clock.maximum / on.gpu.clock.maximum
        return {"sum": by_clock + on.links.latency / node.links.latency}

    found = limits(times, node, {"sum"})["sum"]
    assert found.path == "gpu.clock.maximum" and found.part == pytest.approx(0.75, abs=0.02)
    assert found.then == "links.latency"


def test_what_binds_for_ever_has_no_next(node):
    found = limits(lambda on: {"time": 1 / on.links.bandwidth}, node, {"time"})["time"]
    assert (found.path, found.then, found.factor) == ("links.bandwidth", "", MOST)
    assert str(found).endswith("up to 16 times as good")


def test_a_time_that_no_number_moves_is_bound_by_none(node):
    found = limits(lambda _: {"time": 1.0}, node, {"time"})["time"]
    assert (found.path, str(found)) == ("", "bound by no single number of the node")


def test_of_a_whole_number_there_is_one_more(node):
    """A time that goes by engines, 14 of them: 15 take 14 / 15 of it, ln(15 / 14) over itself is
    all of it. Without the whole number nothing would follow.
    """
    engines = "gpu.dma_engines.count"
    found = limits(lambda on: {"time": 1 / on.gpu.dma_engines.count}, node, set())["time"]
    assert (found.path, found.part) == (engines, pytest.approx(1.0))
    assert better(node, [engines], STEP).gpu.dma_engines.count == 15
    assert better(node, [engines], 2.0).gpu.dma_engines.count == 28
    channels = better(node, ["collective_libraries.rccl.channels.default.all_gather"], STEP)
    assert channels.collective_libraries["rccl"].channels.maximum == 62  # 56 at most before


def test_of_one_time_groups_that_cannot_bind_are_not_searched(node):
    """All of the links give it half, so no number of a group that gives a tenth binds."""
    asked = []

    def times(on):
        asked.append(on)
        return {"time": (node.links.bandwidth / on.links.bandwidth) + on.gpu.hbm.latency * 1e5}

    assert limits(times, node, set())["time"].path == "links.bandwidth"
    single = [n for n in asked if n.gpu.hbm.latency < node.gpu.hbm.latency]
    assert all(n.gpu.hbm.bandwidth > node.gpu.hbm.bandwidth for n in single)


def test_every_bandwidth_and_latency_is_a_candidate_once(node):
    paths = candidates(node)
    assert len(paths) == len(set(paths))
    assert {"links.bandwidth", "links.latency", "gpu.hbm.latency", IN_FLIGHT} <= set(paths)
    assert "links.raw_bandwidth" not in paths  # nothing uses it
    faster = better(node, ["links.latency", IN_FLIGHT], 2.0)
    assert faster.links.latency == node.links.latency / 2
    assert faster.gpu.dma_engines.bytes_in_flight == 2 * node.gpu.dma_engines.bytes_in_flight


def test_doubled_engines_change_nothing_where_bytes_in_flight_bind():
    """Links of 97 GB/s: 100 kB in flight over a loaded round trip of more than 1.9 us are less than
    the 50.8 GB/s of an engine's data path, so twice that path changes nothing (2.47 ms); the run
    says what binds.
    """
    doubled = {**FAST_LINKS, "gpu.dma_engines.bandwidth": "101.6 GB/s"}
    one, two = (c3sim.run(PAIR, strategy="conccl", set=each) for each in (FAST_LINKS, doubled))
    assert one.wall_s == pytest.approx(2.47e-3, rel=0.005)
    assert two.wall_s == pytest.approx(one.wall_s, rel=0.005)
    for given, result in ((FAST_LINKS, one), (doubled, two)):
        workload, node = prepare(PAIR, None, given)
        said = limit_line(limit_of_run(workload, node, "conccl", result.wall_s))
        assert said.startswith(f"wall bound by {IN_FLIGHT} ("), said


def test_isolated_times_are_named_too():
    """An all-gather on compute units over links of 48.5 GB/s is bound by them alone, a GEMM of
    8192 by the power limit.
    """
    workload, node = prepare(PAIR, None)
    found = limits_of(workload, node, "as_written")
    assert found["gather alone"].path == "links.bandwidth"
    assert found["gemm alone"].path == "gpu.clock.power_limit"
    assert {"wall", "exposed", "task gemm", "task gather", "communication"} <= found.keys()


def test_of_a_step_what_binds_next_is_looked_for_on_demand():
    """Either way the same number binds each time; a table without a next one has no column."""
    loaded = iteration_case.described(layers=2, tokens=2048, phase="forward")
    node = load_node("h200-4")
    step = described(loaded, node)
    found, full = (limits_of(step, node, "as_written", full=each) for each in (False, True))
    assert full["wall"].path and full["wall"].factor is not None
    assert all(each.factor is None for each in found.values())
    assert {name: each.path for name, each in found.items()} == {n: e.path for n, e in full.items()}
    console = Console(width=80)
    with console.capture() as short:
        console.print(limits_table(found))
    with console.capture() as long:
        console.print(limits_table(full))
    assert "and next" in long.get() and "and next" not in short.get() and "--full" in short.get()


def test_an_explanation_is_estimated_by_the_tasks_whose_limits_it_finds(monkeypatch):
    """Each task is moved alone and among the others: four have four times as many simulations as
    one at least, the more the fewer share what binds them.
    """
    counts, simulate = [], runs.simulate

    def counting(*given, **how):
        counts.append(1)
        return simulate(*given, **how)

    monkeypatch.setattr(runs, "simulate", counting)
    simulated, estimated = [], []
    for count in (1, 4):
        tasks = {
            f"t{at}": {"kind": "stream", "bytes": (at + 1) * 2.0**20, "workgroups": 4 + at}
            for at in range(count)
        }
        workload, node = prepare({"tasks": tasks}, "teaching-4")
        runs.forget()
        counts.clear()
        limits_of(workload, node, "as_written")
        simulated.append(len(counts))
        estimated.append(results_behind(workload))
    assert 0.5 < (simulated[1] / simulated[0]) / (estimated[1] / estimated[0]) < 3, simulated

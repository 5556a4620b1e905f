"""Switches of a GPU's caches (gpu.cache_policies) in runs: what each takes away, and its count."""

import pytest
from pydantic import ValidationError

import c3sim
from c3sim.simulation.simulate import simulate
from c3sim.spec.cache_policy import CachePolicy, TransferPolicy
from c3sim.spec.reading.loading import load_node, load_workload
from c3sim.spec.reading.paths import set_si
from c3sim.spec.task import Access, Kernel, Served
from c3sim.spec.workload import HostThreads, StreamKernel, Workload

H200, MI300X = load_node("h200-2"), load_node("mi300x-8")
PAIR = load_workload("c3-pair")
GIB = 2.0**30
#: 15 of 16 lines of a row miss that would hit in order.
SCATTERED = {"row_lines": 16, "evicted_together": 1.0}


def switched(node, **fields):
    for name, value in fields.items():
        node, _ = set_si(node, PAIR, f"gpu.cache_policies.{name}", value)
    return node


def stream(*, set_aside=False, **more):
    task = StreamKernel(kind="stream", **{"pattern": "copy", "bytes": GIB, **more})
    host = HostThreads(set_aside=set_aside)
    return Workload(schema=1, name="s", node="h200-2", tasks={"s": task}, host=host)


def run(node, workload):
    return simulate(node, workload, energy=True)


def test_misses_wait_where_lines_set_aside_leave_two_ways_of_sixteen():
    """66 units ask for 3.5 of 4.6 TB/s, so what waits is not hidden behind a memory that is full.
    By hand: 3.4 TB/s x 0.74 us / 128 B = 20e3 lines in 30.7e3 sets; of a Poisson number of mean
    0.64 the part from 2 on is 1 - e^-0.64 (1 + 0.64) = 0.14.
    """
    reads = {"pattern": "read", "workgroups": 66}
    free, aside = run(H200, stream(**reads)), run(H200, stream(set_aside=True, **reads))
    waited = aside.lines["s"].stalls
    assert 0.07 < waited < 0.2
    assert free.lines == {}
    assert aside.end / free.end == pytest.approx(1.0 / (1.0 - waited), rel=0.03)
    bypassing = run(switched(H200, allocation_bypass=True), stream(set_aside=True, **reads))
    assert bypassing.lines["s"].stalls == 0.0
    assert bypassing.end == pytest.approx(free.end)


def test_who_bypasses_waits_for_no_line():
    reads = {"pattern": "read", "workgroups": 66, "set_aside": True}
    past = run(H200, stream(cache=CachePolicy(l2="bypass"), **reads))
    assert past.end < 0.95 * run(H200, stream(**reads)).end


def test_rinsed_lines_leave_with_their_row():
    plain, aside = run(H200, stream()), run(H200, stream(set_aside=True))
    rinsed = run(switched(H200, rinsing=True, allocation_bypass=True), stream(set_aside=True))
    assert (aside.lines["s"].row_hits, aside.lines["s"].write_backs) == (0.0, "line by line")
    assert (rinsed.lines["s"].row_hits, rinsed.lines["s"].write_backs) == (1.0, "row by row")
    assert aside.end > 2.0 * plain.end
    assert rinsed.end == pytest.approx(plain.end)


def test_eviction_order_costs_cached_stores_alone():
    node = switched(H200, **SCATTERED)
    cached, past = run(node, stream()), run(node, stream(cache=CachePolicy(stores="uncached")))
    assert cached.lines["s"].write_backs == "in eviction order"
    assert cached.lines["s"].row_hits == 0.0
    assert past.lines["s"].write_backs == "past the cache"
    assert past.lines["s"].row_hits == 1.0
    assert cached.end > 2.0 * past.end
    for switch in ("rinsing", "reuse_predictor", "adaptive"):
        assert run(switched(node, **{switch: True}), stream()).end == pytest.approx(past.end)


def test_a_reader_in_l2_keeps_its_lines_beside_a_stream_that_is_not_used_again():
    """44 of 60 MiB over and over on 40 units: a copy on 90 leaves them less than that."""
    reader = StreamKernel(
        kind="stream", pattern="read", bytes=44 * 2.0**20, passes=60, workgroups=40
    )
    copy = StreamKernel(kind="stream", pattern="copy", bytes=GIB, workgroups=90)
    both = Workload(schema=1, name="b", node="h200-2", tasks={"copy": copy, "reader": reader})
    predicting = run(switched(H200, reuse_predictor=True), both)
    assert predicting.lines["copy"].inserted_bytes == 0.0
    assert predicting.lines["reader"].inserted_bytes > 0.0
    assert predicting.task("reader").end < 0.9 * run(H200, both).task("reader").end


def test_a_collective_is_not_used_again_and_a_gemm_keeps_its_operands_only():
    lines = run(switched(MI300X, reuse_predictor=True), PAIR).lines
    usual = run(switched(MI300X, allocation_bypass=True), PAIR).lines
    assert lines["gather"].inserted_bytes == 0.0 < usual["gather"].inserted_bytes
    gemm = PAIR.tasks["gemm"]
    results = usual["gemm"].inserted_bytes - lines["gemm"].inserted_bytes
    assert results == pytest.approx(gemm.m * gemm.n * 2, rel=0.02)  # tiles overhang


@pytest.mark.parametrize("workload", [PAIR, stream(set_aside=False)])
def test_adaptive_is_all_three(workload):
    node = switched(MI300X, **SCATTERED)
    three = switched(node, allocation_bypass=True, rinsing=True, reuse_predictor=True)
    assert run(switched(node, adaptive=True), workload).end == run(three, workload).end


def test_a_bypass_at_the_last_cache_is_counted():
    gather = PAIR.tasks["gather"].changed(cache=TransferPolicy(memory_side="bypass"))
    lines = run(MI300X, PAIR.changed(tasks={**PAIR.tasks, "gather": gather})).lines
    assert lines["gather"].inserted_bytes == 0.0
    assert lines["gather"].write_backs == "past the cache"


def test_counts_stand_in_the_result_where_somebody_names_a_policy():
    result = c3sim.run(PAIR, node=switched(MI300X, rinsing=True))
    assert result.to_dict()["tasks"]["gemm"]["detail"]["cache"]["write_backs"] == "row by row"
    assert "cache" not in c3sim.run(PAIR, node=MI300X).tasks["gemm"].detail


def test_explain_tells_what_is_counted():
    node = switched(H200, **SCATTERED)
    reasons = c3sim.explain(PAIR, node=node).tasks["gemm"].reasons
    assert any("100 % of the bytes it writes miss their DRAM row" in each for each in reasons)


def kernel(cache, *accesses, **more):
    task = Kernel(kind="kernel", accesses=accesses, cache=cache, workgroups=1000, **more)
    return Workload(schema=1, name="k", node="h200-2", tasks={"k": task})


def test_accesses_of_a_kernel_are_served_where_they_are_found():
    """1 GB twice: the second time from L2, or from memory."""
    load = CachePolicy(l1="allocate")
    times = [run(H200, kernel(load, Access(bytes=1e9, again=1, far=far))).end for far in (2e7, 1e9)]
    assert times[1] > 1.2 * times[0]


def test_stores_that_are_found_again_are_written_once():
    store = Access(bytes=1e6, again=9, far=1e6, stores=True)
    for stores, factor in (("cached", 1), ("uncached", 10)):
        lines = run(switched(H200, rinsing=True), kernel(CachePolicy(stores=stores), store)).lines
        assert lines["k"].written_bytes == pytest.approx(factor * 1e6)


def test_a_release_writes_back_what_the_l2s_hold():
    store = Access(bytes=1e6, stores=True)
    released = run(H200, kernel(CachePolicy(stores="released"), store))
    assert released.lines["k"].released_bytes == 1e6
    assert released.lines["k"].written_bytes == pytest.approx(2e6)
    through = run(H200, kernel(CachePolicy(stores="write_through"), store))
    assert through.lines["k"].released_bytes == 0.0
    assert released.end > through.end


def served(**more):
    """A kernel of which caches serve so much, however much of them it has."""
    task = Kernel(
        kind="kernel", served=(Served(held=1e6, source="a test", **more),), workgroups=1000
    )
    return Workload(schema=1, name="k", node="h200-2", tasks={"k": task})


def test_what_lines_cost_memory():
    """A read without a row hit goes at scattered_writes = 0.3 of the peak, 3.3 times as long; a
    memory idle for half of the time takes twice as long. Units ask for twice what memory gives, so
    the time alone follows a little less than that.
    """
    usual = run(H200, served(read=4.8e9)).end
    assert 2.8 < run(H200, served(read=4.8e9, row_misses=1.0)).end / usual < 3.4
    assert 1.7 < run(H200, served(read=4.8e9, stalls=0.5)).end / usual < 2.05


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"read": 1e6}, "served stands instead of read"),
        ({"served": [{"held": held, "source": "a test"} for held in (2e6, 1e6)]}, "the least held"),
    ],
)
def test_caches_have_one_account(more, words):
    counts = {"served": [{"held": 1e6, "source": "a test"}]}
    with pytest.raises(ValidationError, match=words):
        Kernel.model_validate({"kind": "kernel", **counts, **more}, context={"style": "si"})


def test_what_first_level_caches_serve_is_quicker():
    memory = run(H200, served(read=1e9)).end
    assert run(H200, served(read=1e8, l1=9e8)).end < 0.4 * memory

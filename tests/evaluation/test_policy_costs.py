"""Costs of kernels under policies: each counter moves with what it counts."""

from dataclasses import replace

import pytest

from c3sim.evaluation.policy_costs import POLICIES, Access, CacheMachine, Launch, cost_of

MACHINE = CacheMachine(
    compute_units=10,
    flops=1e12,
    l1=16e3,
    l1_ways=4,
    l2=1e6,
    ways=16,
    line=100.0,
    l2_bandwidth=1e12,
    memory=1e11,
    scattered=1e10,
    latency=0.0,
    asked=1.0,
    together=1.0,
    row_lines=16.0,
)


def cost(policy, *accesses, machine=MACHINE, flops=0.0):
    return cost_of([Launch(accesses, flops, 1000.0)], machine, POLICIES[policy])


def test_stores_in_eviction_order_miss_rows_and_rinsed_ones_do_not():
    store = Access(1e6, stores=True)
    # 15 of 16 lines miss which would hit in order: all of the bytes at a tenth of the rate
    assert cost("cache_rw", store).time == pytest.approx(1e-4)
    assert cost("cache_rw", store).row_hits == 0.0
    for policy in ("uncached", "cache_r", "rinsing", "reuse_predictor", "adaptive"):
        assert cost(policy, store).time == pytest.approx(1e-5)
        assert cost(policy, store).row_hits == 1.0


def test_stores_that_are_found_again_combine():
    store = Access(1e5, again=9.0, far=5e5, stores=True)
    assert cost("uncached", store).write_backs == pytest.approx(1e6)
    assert cost("rinsing", store).write_backs == pytest.approx(1e5)
    assert cost("reuse_predictor", store).row_hits == 0.0  # it has reuse, so it stays cached


def test_loads_are_found_again_in_l1_in_l2_or_not_at_all():
    """Each 1e6 B loaded twice; 8 workgroups a unit: 2e3 B fit in L1 of each, 80 in L2 together."""
    for near, read in ((1.9e3, 1e6), (1.2e4, 1e6), (1.3e4, 2e6)):
        got = cost("cache_r", Access(1e6, again=1.0, near=near)).time
        assert got == pytest.approx(read / MACHINE.memory)
        assert cost("uncached", Access(1e6, again=1.0, near=near)).time == pytest.approx(2e-5)


def test_many_requests_in_flight_stall_where_loads_allocate():
    slow = replace(MACHINE, latency=1e-6, asked=2.0, l1=1000.0, l1_ways=1.0)
    load = Access(1e9)
    assert cost("uncached", load, machine=slow).stalls == 0.0
    assert cost("cache_r", load, machine=slow).stalls > 0.9
    assert cost("cache_r", load, machine=slow).bound == "requests in flight"
    for policy in ("allocation_bypass", "reuse_predictor", "adaptive"):
        assert cost(policy, load, machine=slow).stalls == 0.0


def test_arithmetic_is_the_same_under_every_policy():
    times = {cost(policy, Access(1e3), flops=1e9).time for policy in POLICIES}
    assert times == {1e-3}

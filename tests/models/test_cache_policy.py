"""Rooms, what is found again, stalls and row hits, each against a case reckoned by hand."""

import math
from math import exp

import pytest

from c3sim.models.cache_lines import (
    allocation_stall,
    insertion_parts,
    pending_lines,
    released_of,
    row_hits,
    stalled,
)
from c3sim.models.cache_policy import (
    Insertion,
    evicted_between,
    found_again,
    moved_by,
    operand_misses,
    room,
)
from c3sim.models.caches import Again, cache_share
from c3sim.models.memory import lost_on_lines, memory_given
from c3sim.spec.cache_policy import CachePolicies, CachePolicy, OperandPolicy, TransferPolicy
from c3sim.spec.hardware import Gpu
from c3sim.spec.reading.loading import load_node
from c3sim.spec.task import Access, Kernel, Served
from c3sim.spec.workload import Collective, Gemm, StreamKernel, Task
from c3sim.tasks.plan import kind_of

H200 = load_node("h200-2").gpu
POLICIES = CachePolicies(
    l1_capacity=32e3,
    l1_bandwidth=64.0,
    line=128.0,
    ways=16,
    streaming_share=0.25,
    protected_share=0.75,
    scattered_writes=0.2,
)


@pytest.mark.parametrize(
    ("usual", "streaming", "policy", "set_aside", "expected"),
    [
        (0.0, 0.0, "allocate", False, 100.0),  # alone: all of it
        (30.0, 0.0, "allocate", False, 25.0),  # 10 of 40 B/s
        (0.0, 30.0, "allocate", False, 75.0),  # streaming lines hold a quarter at most
        (0.0, 2.5, "allocate", False, 80.0),  # or what they insert of all: 2.5 of 12.5
        (30.0, 0.0, "bypass", False, 0.0),
        (30.0, 0.0, "stream", False, 25.0),  # its own share of the cache, whoever else there is
        (0.0, 30.0, "stream", False, 6.25),  # shared with 30 of 40 B/s that stream
        (30.0, 0.0, "keep", False, 100.0),  # leaves last
        (30.0, 0.0, "keep", True, 75.0),
        (30.0, 0.0, "allocate", True, 6.25),  # a quarter of what is not set aside
    ],
)
def test_room_by_policy(usual, streaming, policy, set_aside, expected):
    held = room(100.0, 10.0, policy, Insertion(usual, streaming), POLICIES, set_aside)
    assert held == pytest.approx(expected)


@pytest.mark.parametrize("others", [0.0, 1.0, 1e12])
def test_without_a_policy_the_room_is_the_share_of_what_is_inserted(others):
    for policies in (None, POLICIES):
        held = room(256.0, 3.0, "allocate", Insertion(others, 0.0), policies)
        assert held == cache_share(256.0, 3.0, 3.0 + others)


def test_a_sweep_finds_all_or_nothing_and_lines_of_a_policy_a_part():
    assert found_again(60.0, 60.0, "allocate") == 1.0
    assert found_again(61.0, 60.0, "allocate") == 0.0
    assert found_again(60.0, 60.0, "bypass") == found_again(60.0, 0.0, "keep") == 0.0
    # twice the room: m = 0.7968 solves 1 - m = e^(-2 m)
    assert found_again(60.0, 30.0, "stream") == pytest.approx(0.2032, abs=1e-4)
    assert found_again(60.0, 59.99, "keep") == pytest.approx(1.0, abs=1e-3)
    assert found_again(60e6, 30.0, "keep") == pytest.approx(0.0)


def test_requests_wait_where_all_ways_of_a_set_are_pending():
    assert pending_lines(1e9, 1e-6, 100.0) == 10.0  # 1000 B in flight
    # one line pending per set, two ways: P(2 or more) of a Poisson number = 1 - 2 / e
    assert stalled(8.0, 8.0, 2.0) == pytest.approx(1.0 - 2.0 / math.e)
    assert stalled(8.0, 8.0, 16.0) < 1e-13
    assert stalled(1e6, 10.0, 4.0) == 1.0


def test_lines_set_aside_leave_fewer_ways_so_more_requests_wait():
    rate = 10 * H200.hbm.bandwidth  # far more than memory gives, so that the count shows
    free = allocation_stall(H200, POLICIES, rate, set_aside=False)
    assert allocation_stall(H200, POLICIES, rate, set_aside=True) > 10 * free


def test_row_hits_are_all_but_the_first_of_the_lines_that_leave_together():
    assert row_hits(16, 1) == 0.0
    assert row_hits(16, 4) == 0.75
    assert row_hits(16, 100) == row_hits(16, 16) == 15 / 16


def test_a_write_that_misses_its_row_closes_that_of_another_access():
    """A quarter written: as many reads miss with them, half of all at the scattered rate; from a
    half on, all.
    """
    usual = memory_given(H200, 0.25)
    scattered = H200.hbm.bandwidth * H200.cache_policies.scattered_writes
    expected = 1.0 / (0.5 / usual + 0.5 / scattered)
    assert memory_given(H200, 0.25, 1.0) == pytest.approx(expected)
    assert memory_given(H200, 0.5, 0.5) == pytest.approx(
        1.0 / (0.5 / memory_given(H200, 0.5) + 0.5 / scattered)
    )
    for written in (0.5, 1.0):
        assert memory_given(H200, written, 1.0) == pytest.approx(scattered)
    assert memory_given(H200, 0.0, 1.0) == memory_given(H200, 0.0)


def parts(gpu: Gpu, task: Task) -> Insertion:
    return insertion_parts(gpu, kind_of(task).use(task, gpu))


def test_stores_are_inserted_by_their_own_policy():
    copy = StreamKernel(kind="stream", pattern="copy", bytes=1e6)
    policy = CachePolicy(l2="stream", stores="uncached")
    assert parts(H200, copy.changed(cache=policy)) == (0.0, 0.5)
    stored = copy.changed(cache=CachePolicy(stores="write_through"))
    assert parts(H200, stored) == (1.0, 0.0)


def test_a_policy_counts_at_the_last_cache():
    gather = Collective(
        kind="collective", op="all_gather", size=1e6, cache=TransferPolicy(memory_side="bypass")
    )
    assert parts(H200, gather) == (1.0, 0.0)  # its last cache is L2
    assert parts(load_node("mi300x-8").gpu, gather) == (0.0, 0.0)


def test_released_stores_are_written_back_as_far_as_the_l2s_hold_them():
    def released(size, stores):
        policy = CachePolicy(stores=stores)
        task = StreamKernel(kind="stream", pattern="write", bytes=size, cache=policy)
        return released_of(H200, kind_of(task).use(task, H200))

    assert released(1e6, "released") == 1e6
    assert released(1e12, "released") == H200.l2.capacity
    assert released(1e6, "cached") == 0.0


def test_an_operand_that_is_kept_hits_and_one_that_bypasses_does_not():
    mib = 2.0**20
    again = Again(10.0, 80 * mib, 20.0, 90 * mib, swept_b=True)
    sizes = (32 * mib, 32 * mib)

    def missing(a, b, set_aside=False):
        how = OperandPolicy(a=a, b=b).operands()
        return operand_misses(again, 40 * mib, sizes, how, H200, set_aside)

    assert missing(None, None) == again.missing(40 * mib) == 10.0 * 0.5 + 20.0
    # B in lines of its own: all hits; A then needs 80 - 32 MiB of 40
    assert missing(None, "keep") == pytest.approx(10.0 * (1 - 40 / 48))
    assert missing("bypass", "bypass") == 30.0


def test_gemm_takes_operands():
    gemm = Gemm(kind="gemm", m=1, n=1, k=1, dtype="fp64", cache=OperandPolicy(a="keep"))
    assert gemm.cache.operands() == ("keep", None)


@pytest.mark.parametrize(
    ("held", "read", "l2"), [(5.0, 80.0, 20.0), (30.0, 40.0, 60.0), (90.0, 0.0, 100.0)]
)
def test_what_is_served_lies_between_two_counts(held, read, l2):
    """Counted with 10 and 50 bytes of the cache: 80 and 0 bytes from memory. With 30, half way."""
    counts = (
        Served(held=10.0, l2=20.0, read=80.0, source="a test"),
        Served(held=50.0, l2=100.0, read=0.0, source="a test"),
    )
    moved = moved_by(H200, Kernel(kind="kernel", served=counts), held)
    assert (moved.read, moved.past_l2, moved.l2) == pytest.approx((read, read, l2))


def test_what_a_byte_without_row_or_line_costs_memory():
    """Every row missed: 1 / 0.3 of the time. Idle for half of the time: twice."""
    assert lost_on_lines(H200, 0.0, 0.0, 0.0) == 0.0
    scattered = H200.cache_policies.scattered_writes / H200.hbm.read_efficiency
    assert lost_on_lines(H200, 0.0, 1.0, 0.0) == pytest.approx(1.0 / scattered - 1.0)
    assert lost_on_lines(H200, 0.0, 0.0, 0.5) == pytest.approx(1.0)


def test_lines_leave_sets_that_happen_to_get_many_others():
    """Sets of 2 ways, as many lines pass as the cache holds: 2 in the mean of a set, none or one
    with e^-2 (1 + 2) = 0.406. A cache of nothing keeps nothing.
    """
    assert evicted_between(1e6, 1e6, 2) == pytest.approx(1 - 3 * exp(-2))
    assert evicted_between(0.0, 1e6, 2) == 0.0
    assert evicted_between(1.0, 0.0, 2) == evicted_between(9e6, 1e6, 2) == 1.0


def test_rows_of_a_unit_are_found_near_it():
    """Half of what L1 holds lies between two uses: 8 of 16 lines of a set, P(N >= 16) = 0.8 %."""
    near = H200.cache_policies.l1_capacity / 2
    row = Access(bytes=100.0, again=2, near=near, far=1e12)
    moved = moved_by(H200, Kernel(kind="kernel", accesses=(row,)), H200.l2.capacity)
    left = evicted_between(8, 16, 16)
    assert left == pytest.approx(0.0082, abs=1e-4)
    assert moved.l1 == pytest.approx(200 * (1 - left))
    assert moved.read == pytest.approx(100 + 200 * left)

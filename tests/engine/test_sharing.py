"""Weighted max-min sharing: cases solved by hand. The laws are in test_sharing_laws.py."""

from __future__ import annotations

import math

import pytest

from c3sim.engine import oracle as sharing_oracle
from c3sim.engine.sharing import Demand, solve

INF = math.inf
REL = 1e-9  # the only tolerance, always relative


def flow(*capacities: int, weight: float = 1.0, cap: float = INF, amount: float = 1.0) -> Demand:
    """A flow that draws *amount* on each of *capacities*."""
    return Demand(weight, cap, tuple((c, amount) for c in capacities))


def test_nothing_runs() -> None:
    assert solve([1.0], []) == []
    assert solve([], []) == []


def test_flow_alone_gets_the_whole_link() -> None:
    assert solve([8.0], [flow(0)]) == [8.0]


def test_two_equal_flows_halve_a_link() -> None:
    assert solve([8.0], [flow(0), flow(0)]) == [4.0, 4.0]


def test_weight_is_the_share_at_a_bottleneck() -> None:
    # level * (1 + 3) = 8, so level = 2.
    assert solve([8.0], [flow(0, weight=1.0), flow(0, weight=3.0)]) == [2.0, 6.0]


def test_what_a_cap_leaves_goes_to_the_others() -> None:
    # A stops at 1. The others share 8 - 1 = 7.
    assert solve([8.0], [flow(0, cap=1.0), flow(0), flow(0)]) == [1.0, 3.5, 3.5]


def test_cap_above_the_fair_share_changes_nothing() -> None:
    assert solve([8.0], [flow(0, cap=5.0), flow(0)]) == [4.0, 4.0]


@pytest.mark.parametrize("room", [2.0 - 1e-8, 2.0, 2.0 + 1e-10, 2.0 + 1e-8])
def test_caps_that_just_fit_and_just_do_not(room: float) -> None:
    """Two caps of 1 in *room*, beside a capacity that has something left and so no say."""
    assert (
        solve([room, 9.0], [flow(0, 1, cap=1.0), flow(0, 1, cap=1.0)]) == [min(1.0, room / 2)] * 2
    )


def test_caps_are_met_in_order_of_level_not_of_rate() -> None:
    # A: weight 4, cap 4, meets it at level 1. B: weight 1, cap 2, at level 2. C has the rest: 12 -
    # 4 - 2 = 6.
    assert solve([12.0], [flow(0, weight=4.0, cap=4.0), flow(0, cap=2.0), flow(0)]) == [
        4.0,
        2.0,
        6.0,
    ]


def test_cap_is_returned_to_the_last_bit() -> None:
    # 3 * (0.9 / 3) is not 0.9 in floating point; a flow at its cap is at exactly its cap.
    assert solve([8.0], [flow(0, weight=3.0, cap=0.9)]) == [0.9]


def test_flow_that_uses_nothing_gets_its_cap() -> None:
    assert solve([], [flow(cap=7.0)]) == [7.0]


def test_amount_is_drawn_per_unit_of_rate() -> None:
    # Equal rates x: 1 * x + 3 * x = 8, so x = 2; the second draws 6 of the 8.
    assert solve([8.0], [flow(0, amount=1.0), flow(0, amount=3.0)]) == [2.0, 2.0]


def test_coupled_demand_is_as_fast_as_its_narrowest_capacity() -> None:
    # A copy draws 1 on a link of 5 and 2 (a read, a write) on a memory of 12: min(5 / 1, 12 / 2) =
    # 5.
    # With a kernel of weight 3 beside it on the memory: 2 * level + 3 * level = 12, level = 2.4,
    # the link is not full.
    copy = Demand(1.0, INF, ((0, 1.0), (1, 2.0)))
    assert solve([5.0, 12.0], [copy]) == [5.0]
    assert solve([5.0, 12.0], [copy, flow(1, weight=3.0)]) == pytest.approx([2.4, 7.2], rel=REL)


def test_a_capacity_drawn_on_twice_counts_twice() -> None:
    # The same copy with its read and its write listed apart: 2 * x = 12.
    assert solve([12.0], [Demand(1.0, INF, ((0, 1.0), (0, 1.0)))]) == [6.0]


def test_no_capacity_no_rate() -> None:
    # Whoever needs capacity 0 stands still and takes nothing of capacity 1.
    assert solve([0.0, 6.0], [flow(0, 1), flow(0), flow(1)]) == [0.0, 0.0, 6.0]


def test_cap_of_zero_is_a_flow_that_waits() -> None:
    assert solve([6.0], [flow(0, cap=0.0), flow(0)]) == [0.0, 6.0]


def test_infinite_capacity_limits_nobody() -> None:
    assert solve([INF, 6.0], [flow(0, 1), flow(0, cap=2.0)]) == [6.0, 2.0]


def test_parking_lot() -> None:
    # The long flow crosses links 0, 1, 2 of 1, 2, 3; a short one sits on each. Level 0.5: link 0 is
    # full, so the long
    # flow and its first neighbour have 0.5. What remains of the others goes to their short flow:
    # 1.5 and 2.5.
    demands = [flow(0, 1, 2), flow(0), flow(1), flow(2)]
    assert solve([1.0, 2.0, 3.0], demands) == pytest.approx([0.5, 0.5, 1.5, 2.5], rel=REL)


def test_lesson_a_bystander_can_speed_somebody_up() -> None:
    """'An added bystander never speeds anybody up' is tempting and false."""
    a, b, c = flow(0, 1), flow(0), flow(1)
    # Links of 1 and 0.6, A on both, B on the first. Link 0 is full at level 0.5; A's 0.5 leaves
    # link 1 room.
    assert solve([1.0, 0.6], [a, b]) == [0.5, 0.5]
    # Add C on the second. Link 1 is full at level 0.3: A = C = 0.3. B takes what A no longer does:
    # 1 - 0.3 = 0.7.
    assert solve([1.0, 0.6], [a, b, c]) == pytest.approx([0.3, 0.7, 0.3], rel=REL)


def test_a_light_flow_keeps_its_digits_beside_heavy_ones() -> None:
    # Weights 1e15 apart. The heavy flow stops at its cap of 0.5 and leaves 0.5. A running sum of
    # the weights would
    # have lost the light one (1e15 + 0.3 - 1e15 = 0.25) and given it 0.6.
    assert solve([1.0], [flow(0, weight=1e15, cap=0.5), flow(0, weight=0.3)]) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("capacities", "bad", "message"),
    [
        ([1.0], flow(), r"^flow 1: nothing limits it"),
        ([INF], flow(0), r"^flow 1: nothing limits it"),
        ([1.0], flow(0, weight=0.0), r"^flow 1: weight 0\.0"),
        ([1.0], flow(0, weight=INF), r"^flow 1: weight inf"),
        ([1.0], flow(0, weight=math.nan), r"^flow 1: weight nan"),
        ([1.0], flow(0, cap=-1.0), r"^flow 1: .*cap -1\.0"),
        ([1.0], flow(0, cap=math.nan), r"^flow 1: .*cap nan"),
        ([1.0], flow(0, amount=0.0), r"^flow 1: amount 0\.0 of capacity 0"),
        ([1.0], flow(0, amount=math.nan), r"^flow 1: amount nan of capacity 0"),
        ([1.0], flow(1), r"^flow 1: no capacity 1; there are 1"),
        ([1.0], flow(-1), r"^flow 1: no capacity -1"),
        ([1.0, -2.0], flow(1), r"^capacity 1 is -2\.0"),
        ([1.0, math.nan], flow(1), r"^capacity 1 is nan"),
    ],
)
def test_bad_number_is_named(capacities: list[float], bad: Demand, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve(capacities, [flow(cap=1.0), bad])


def test_oracle_names_the_unlimited_flow() -> None:
    with pytest.raises(ValueError, match=r"^flow 1: nothing limits it"):
        sharing_oracle.solve([1.0], [flow(0), flow()], float)

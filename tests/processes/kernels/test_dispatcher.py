"""The dispatcher: who gets a compute unit. Counts are derived by hand; time, where it matters, is a
round of tiles.
"""

from __future__ import annotations

import pytest
from shapes import gpu_of

from c3sim.processes.kernels.dispatcher import Batch, Dispatcher, Grid
from c3sim.processes.kernels.residency import Claim, GridShape
from c3sim.spec.hardware import Gpu

KIB = 1024.0
WHOLE = Claim(lds=64 * KIB, registers=256, waves=4)  # all of a unit's LDS: one workgroup per unit
CHANNEL = Claim(lds=32 * KIB, registers=256, waves=4)
MI300X_LIKE = (8, (10, 10, 9, 9))


class Bench:
    """A dispatcher and what it has placed. A tile takes one round; ``tick`` ends all that runs."""

    def __init__(self, gpu: Gpu, *shapes: GridShape):
        self.dispatcher = Dispatcher(gpu, shapes, lambda call: call())
        self.running: list[tuple[Grid, Batch]] = []
        self.placed: dict[str, int] = {}
        self.cuts: list[str] = []

    def launch(
        self,
        name: str,
        shape: GridShape,
        claim: Claim = WHOLE,
        *,
        priority: int = 0,
        foldable: bool = False,
    ) -> Grid:
        def on_placed(batch: Batch) -> None:
            self.running.append((grid, batch))
            self.placed[name] = self.placed.get(name, 0) + sum(batch.sizes)

        grid = Grid(name, shape, claim, priority, foldable, on_placed, lambda: self.cut(name))
        self.dispatcher.launch(grid)
        return grid

    def cut(self, name: str, rounds: int = 1) -> None:
        """What *name* has ahead of so many rounds goes back."""
        self.cuts.append(name)
        for grid, batch in self.running:
            if grid.name == name and batch.rounds > rounds:
                self.placed[name] -= sum(batch.sizes[rounds:])
                self.dispatcher.cut_back(grid, batch, rounds)

    def end(self, *names: str) -> None:
        """All running workgroups of those grids end."""
        ending = [(grid, batch) for grid, batch in self.running if grid.name in names]
        self.running = [item for item in self.running if item not in ending]
        for grid, batch in ending:
            self.dispatcher.release(grid, batch.parts)

    def rounds(self, name: str) -> int:
        count = 0
        while any(grid.name == name for grid, _ in self.running):
            self.end(name)
            count += 1
        return count


# Places of workgroups
# ----------------------------------------------------------------------------------------


def test_one_round_fills_engines_of_unequal_size_exactly() -> None:
    """304 workgroups on 8 dies: 38 per die. The rotation of engines of 10, 10, 9, 9 is nine times 0
    1 2 3, then 0 1 (see tests/models/test_dispatch.py), so 38 places are 10, 10, 9 and 9: one per
    unit, nobody waits.
    """
    shape = GridShape(304, None)
    bench = Bench(gpu_of(*MI300X_LIKE), shape)
    grid = bench.launch("g", shape)
    [(_, batch)] = bench.running
    # engines alike are one group: 16 engines of 10 units with 10 workgroups each, 16 of 9 with 9
    by_size: dict[int, int] = {}
    for group, count in batch.parts:
        by_size[count] = by_size.get(count, 0) + group.multiplicity
    assert by_size == {10: 16, 9: 16}
    assert not bench.dispatcher.waits(grid)


def test_a_grid_that_is_no_multiple_of_the_dies_fits_the_units_of_its_mask() -> None:
    """303 workgroups: 38 on dies 0 to 6 and 37 on die 7, whose last unit (bit 303) is masked out.
    Its engine of that unit has all its nine, and holds up nobody.
    """
    shape = GridShape(303, tuple(range(303)))
    bench = Bench(gpu_of(*MI300X_LIKE), shape)
    assert not bench.dispatcher.waits(bench.launch("g", shape))


@pytest.mark.parametrize(
    ("rule", "alone", "beside"), [("weighted_rotation", 4, 5), ("work_conserving", 4, 4)]
)
def test_rounds_of_1184_tiles_alone_and_beside_four_channels(
    rule: str, alone: int, beside: int
) -> None:
    """8192^3 in tiles of 256x224 is 1184 tiles, 148 per die.

    Alone: 38 per round and die, 148 / 38 = 3.9: 4 rounds under either rule. Four channels go to
    dies 0 to 3, the first engine each; there 37 units are left. work_conserving: any unit will do,
    148 / 37 = 4 rounds. weighted_rotation: the first engine's part of 148 is 39 (three periods of
    38 give 30, the 34 places left 9 more), and 9 of its units are free: 39 / 9 = 4.3, so 5 rounds.
    """
    shape, channels = GridShape(1184, None), GridShape(4, None)
    bench = Bench(gpu_of(*MI300X_LIKE, rule), shape)
    bench.launch("g", shape)
    assert bench.rounds("g") == alone
    bench = Bench(gpu_of(*MI300X_LIKE, rule), channels, shape)
    bench.launch("c", channels, CHANNEL)
    bench.launch("g", shape)
    assert bench.rounds("g") == beside
    assert bench.placed == {"c": 4, "g": 1184}


# One die, two engines of 4 units. Mask bits go over the engines in turn, so bits 0, 2, 4 are units
# of the
# first engine and bit 1 is one of the second.
UNEVEN = (0, 1, 2, 4)


@pytest.mark.parametrize(
    ("rule", "resident"),
    [
        ("weighted_rotation", 3),
        ("strict_rotation", 3),
        ("engine_queues", 3),
        ("work_conserving", 4),
    ],
)
def test_persistent_grid_under_an_uneven_mask_does_not_fill_it(rule: str, resident: int) -> None:
    """Four workgroups, four units, but turns alternate: 0 to the first engine, 1 to the second, 2
    to the first, and 3 to the second, which is full while the first has a unit free. It waits until
    workgroup 1 ends: with workgroups that stay, for the whole kernel. (engine_queues holds up only
    the full engine's own; here that is the only one left.)
    """
    shape = GridShape(4, UNEVEN)
    bench = Bench(gpu_of(1, (4, 4), rule), shape)
    grid = bench.launch("g", shape)
    assert bench.placed["g"] == resident
    assert bench.dispatcher.waits(grid) == (resident < 4)


def test_stall_holds_up_what_is_behind_it_on_other_engines_too() -> None:
    """Eight workgroups want the uneven mask. In order, 0 1 2 are resident and 3 stalls 4, though 4
    would fit on the first engine's third unit. With a queue per engine, 4 does not wait for 3.
    """
    shape = GridShape(8, UNEVEN)
    for rule, resident in (("weighted_rotation", 3), ("engine_queues", 4)):
        bench = Bench(gpu_of(1, (4, 4), rule), shape)
        bench.launch("g", shape)
        assert bench.placed["g"] == resident, rule


def test_stall_ends_when_the_full_engine_has_room() -> None:
    shape = GridShape(5, UNEVEN)
    bench = Bench(gpu_of(1, (4, 4)), shape)
    bench.launch("g", shape)
    # round 1: 0 1 2; round 2: 3 (second engine) and 4 (first): together, all five in two rounds
    assert bench.placed["g"] == 3
    bench.end("g")
    assert bench.placed["g"] == 5
    assert bench.rounds("g") == 1


def test_disjoint_masks_share_nothing() -> None:
    """Bits 0 to 3 are units of the engines in turn, 4 to 7 the others: each grid fills its four and
    waits for its own.
    """
    first, second = GridShape(6, (0, 1, 2, 3)), GridShape(6, (4, 5, 6, 7))
    bench = Bench(gpu_of(1, (4, 4)), first, second)
    one, two = bench.launch("one", first), bench.launch("two", second)
    assert bench.placed == {"one": 4, "two": 4}
    bench.end("one")  # its units take its own two; the other's two still wait
    assert bench.placed == {"one": 6, "two": 4}
    assert (bench.dispatcher.waits(one), bench.dispatcher.waits(two)) == (False, True)


def test_overlapping_masks_share_what_both_include() -> None:
    """Bits 2 and 3 belong to both. The first grid has them, the second gets its other two."""
    first, second = GridShape(4, (0, 1, 2, 3)), GridShape(4, (2, 3, 4, 5))
    bench = Bench(gpu_of(1, (4, 4)), first, second)
    bench.launch("one", first)
    bench.launch("two", second)
    assert bench.placed == {"one": 4, "two": 2}
    bench.end("one")
    assert bench.placed["two"] == 4


# Room on a unit
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "fitting"),
    [
        (Claim(lds=20 * KIB, registers=1, waves=1), 3),  # 64 / 20 = 3.2
        (Claim(lds=1.0, registers=700, waves=1), 2),  # 2048 / 700 = 2.9
        (Claim(lds=1.0, registers=1, waves=10), 3),  # 32 / 10 = 3.2
        (Claim(lds=20 * KIB, registers=700, waves=10), 2),  # the scarcest decides
    ],
)
def test_residents_are_limited_by_the_scarcest_of_lds_registers_and_waves(
    claim: Claim, fitting: int
) -> None:
    shape = GridShape(100, None)
    bench = Bench(gpu_of(1, (4,)), shape)
    bench.launch("g", shape, claim)
    assert bench.placed["g"] == 4 * fitting


def test_different_grids_share_a_unit_as_far_as_both_fit() -> None:
    """A channel leaves 32 of 64 KiB: room for one workgroup of 20 KiB (not 3), and for none of 64
    KiB.
    """
    channel, small, large = GridShape(4, None), GridShape(99, None), GridShape(98, None)
    bench = Bench(gpu_of(1, (4,)), channel, small, large)
    bench.launch("channel", channel, CHANNEL)
    bench.launch("large", large, WHOLE)
    bench.launch("small", small, Claim(lds=20 * KIB, registers=1, waves=1))
    assert bench.placed == {"channel": 4, "small": 4}


def test_workgroups_go_to_the_emptiest_unit() -> None:
    """Two channels of half a unit each, one after the other, take two of four units, not one: two
    are whole.
    """
    first, second, whole = GridShape(1, None), GridShape(1, None), GridShape(9, None)
    bench = Bench(gpu_of(1, (4,)), first, second, whole)
    bench.launch("first", first, CHANNEL)
    bench.launch("second", second, CHANNEL)
    bench.launch("whole", whole, WHOLE)
    assert bench.placed == {"first": 1, "second": 1, "whole": 2}


# Who is next
# ------------------------------------------------------------------------------------------------


def test_priority_decides_who_gets_free_units_not_who_keeps_them() -> None:
    """Nothing is pre-empted: the high one waits for a round to end. Then it is served before a
    longer waiting one.
    """
    shapes = [GridShape(count, None) for count in (8, 6, 4)]
    bench = Bench(gpu_of(1, (4, 4)), *shapes)
    bench.launch("running", shapes[0])
    bench.launch("low", shapes[1])
    bench.launch("high", shapes[2], priority=1)
    assert bench.placed == {"running": 8}
    bench.end("running")  # 8 units: all 4 of high, then 4 of low
    assert bench.placed == {"running": 8, "high": 4, "low": 4}
    bench.end("high")
    assert bench.placed["low"] == 6


def test_equal_priority_is_served_in_order_of_launch() -> None:
    shapes = [GridShape(count, None) for count in (8, 6, 7)]
    bench = Bench(gpu_of(1, (4, 4)), *shapes)
    for name, shape in zip(("running", "first", "second"), shapes, strict=True):
        bench.launch(name, shape)
    bench.end("running")
    assert bench.placed == {"running": 8, "first": 6, "second": 2}


# Rounds ahead
# ------------------------------------------------------------------------------------------------


def test_who_is_served_later_leaves_rounds_ahead_as_they_are() -> None:
    """80 workgroups on 8 units: ten rounds in one batch. One of the same priority gets nothing
    before they end; one of high priority cuts them back, takes the next round's units, and the
    other rounds go on behind.
    """
    shape, other = GridShape(80, None), GridShape(8, None)
    bench = Bench(gpu_of(1, (4, 4), "work_conserving"), shape, other)
    grid = bench.launch("long", shape, foldable=True)
    bench.launch("same", other)
    assert [batch.rounds for _, batch in bench.running] == [10]
    assert not bench.cuts
    bench.launch("high", other, priority=1)
    bench.end("long")
    assert (bench.cuts, bench.placed) == (["long"], {"long": 8, "high": 8})
    bench.end("high")
    assert [(placed, batch.rounds) for placed, batch in bench.running] == [(grid, 9)]


def test_rounds_that_differ_by_a_turn_are_one_batch() -> None:
    """A channel holds a unit of the first engine of each of 8 dies, which has room for 36 where its
    part is 40. So along the rotation a round has 136 or 138 places on a die, as turns fall: they
    are ahead in one batch that knows their sizes, and cut back nothing is lost.
    """
    shape, channels = GridShape(304 * 256, None), GridShape(8, None)
    bench = Bench(gpu_of(*MI300X_LIKE), channels, shape)
    bench.launch("c", channels)
    grid = bench.launch("g", shape, Claim(lds=16 * KIB, registers=512, waves=8), foldable=True)
    [batch] = [batch for each, batch in bench.running if each is grid]
    assert set(batch.sizes) == {8 * 136, 8 * 138}
    assert len(batch.sizes) == batch.rounds == 71
    bench.cut("g", 3)
    assert bench.placed["g"] == batch.tiles(3) == sum(batch.sizes)
    bench.rounds("g")
    assert bench.placed["g"] == shape.workgroups

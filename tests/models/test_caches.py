"""Traffic past each cache level, by hand on small grids, and against counters of a real GEMM."""

from __future__ import annotations

import json

import pytest

from c3sim.models.caches import Again, cache_share, gemm_traffic, resident_fraction
from c3sim.spec.reading import library

COUNTERS = json.loads(
    (
        library.find("gpu", "mi300x").parent.parent
        / "validation/data/published/mi300x/cache_counters.json"
    ).read_text()
)
MEASURED = COUNTERS["derived"]["gemm_torch_alone"]
TILES = 1184  # 8192^3 in tiles of 256x224: 32 x 37


def _mi300x_8192() -> dict[str, float]:
    """All tiles of the GEMM that was counted, 304 in flight on 8 dies, bytes."""
    per_tile = gemm_traffic(8192, 8192, 8192, 1, (256, 224), 1, (2, 2), 8, 304)
    return {
        "requested": per_tile.l2 * TILES,
        "written": per_tile.written * TILES,
        "read past L2": (per_tile.past_l2 - per_tile.written) * TILES,
        "first touch": per_tile.first_touch * TILES,
    }


def test_requests_to_l2_are_those_counted() -> None:
    """74.5 million requests of 128 B = 9.54 GB; the model's 1184 x (256 + 224) x 8192 x 2 B, and C,
    within 2 %.
    """
    assert _mi300x_8192()["requested"] == pytest.approx(MEASURED["l2_request_bytes"], rel=0.02)


def test_writes_past_l2_are_c() -> None:
    """Counted: exactly C, 8192^2 x 2 B. The model writes whole tiles; the last column tile is
    padded: 37 x 224 = 8288 columns, 1.2 % more.
    """
    assert _mi300x_8192()["written"] == pytest.approx(
        MEASURED["bytes_written_past_l2"] * 8288 / 8192, rel=1e-9
    )


def test_reads_past_l2_are_those_counted() -> None:
    """1.78 GB, within 15 %. Each tile needs 4.19 MB of A and 3.67 MB of B; 38 tiles of a die that
    share nothing would read 9.3 GB in all, 38 in a square of 6 x 6.3 1.5 GB.
    """
    assert _mi300x_8192()["read past L2"] == pytest.approx(MEASURED["bytes_read_past_l2"], rel=0.15)


def test_operands_are_touched_once() -> None:
    """A and B, 2 x 8192^2 x 2 B, whatever the tile."""
    assert _mi300x_8192()["first touch"] == pytest.approx(2 * 8192 * 8192 * 2)


def test_one_tile_shares_with_nobody() -> None:
    """100 x 100 in one tile of 128 x 128, K = 10, 2 B: rows and columns that exist, 2000 B each; C
    is 20000 B.
    """
    traffic = gemm_traffic(100, 100, 10, 1, (128, 128), 1, (2, 2), 4, 99)
    assert (traffic.l2, traffic.past_l2, traffic.written) == (24000.0, 24000.0, 20000.0)
    assert (traffic.first_touch, traffic.reread) == (4000.0, 0.0)


def test_results_of_another_type_are_wider() -> None:
    """The same of fp8 with results of 4 B: half of the 4000 B, twice the 20000 B."""
    traffic = gemm_traffic(100, 100, 10, 1, (128, 128), 1, (1, 4), 4, 99)
    assert (traffic.first_touch, traffic.written) == (2000.0, 40000.0)


def test_all_tiles_at_once_on_one_die_read_the_operands_once() -> None:
    """2 x 2 tiles of 64, K = 32, 2 B, one die: each asks for 2 x 4096 B, together the operands are
    16384 B, 4096 each.
    """
    traffic = gemm_traffic(128, 128, 32, 1, (64, 64), 1, (2, 2), 1, 4)
    assert traffic.l2 - traffic.written == 8192.0
    assert traffic.past_l2 - traffic.written == 4096.0
    assert (traffic.first_touch, traffic.reread) == (4096.0, 0.0)


def test_one_tile_at_a_time_reads_again() -> None:
    """The same tiles one after another: each reads its row and its column, 8192 B, of which 4096 B
    are first touches (the operands once, in all 16384 B) and 4096 B somebody has read before.
    """
    traffic = gemm_traffic(128, 128, 32, 1, (64, 64), 1, (2, 2), 1, 1)
    assert traffic.past_l2 - traffic.written == 8192.0
    assert (traffic.first_touch, traffic.reread) == (4096.0, 4096.0)


def test_more_tiles_in_flight_never_read_more() -> None:
    reads = [
        gemm_traffic(8192, 8192, 8192, 1, (256, 256), 1, (2, 2), 8, n).reread
        for n in (1, 8, 38, 76, 152, 304)
    ]
    assert reads == sorted(reads, reverse=True)
    assert reads[0] > 2 * reads[-1]


def test_parts_of_a_split_gemm_write_sums_in_fp32() -> None:
    whole = gemm_traffic(128, 128, 64, 1, (64, 64), 1, (2, 2), 1, 8)
    split = gemm_traffic(128, 128, 64, 1, (64, 64), 2, (2, 2), 1, 8)
    assert (whole.written, split.written) == (64 * 64 * 2, 64 * 64 * 4)
    assert split.l2 - split.written == (whole.l2 - whole.written) / 2  # half of K


@pytest.mark.parametrize(
    ("own", "everybody", "share"),
    [(5.0, 5.0, 256.0), (0.0, 0.0, 256.0), (1.0, 4.0, 64.0), (3.0, 4.0, 192.0)],
)
def test_cache_is_shared_by_what_each_inserts(own: float, everybody: float, share: float) -> None:
    assert cache_share(256.0, own, everybody) == share


def test_what_fits_stays() -> None:
    assert resident_fraction(100.0, 256.0) == 1.0
    assert resident_fraction(512.0, 256.0) == 0.5


def test_tiles_of_a_die_share_as_far_as_its_l2_holds_their_slices() -> None:
    """One die, 2 x 2 tiles of 64 x 64 in flight: two slices of 128 B of 2 x 64 rows and 2 x 64
    columns are 64 KiB. An L2 that holds them lets each tile read half of what it asks for (2 rows
    and 2 columns for 4 tiles); one that holds half of them lets half of that sharing happen; one
    that holds nothing, none.
    """

    def past_l2(capacity: float) -> float:
        traffic = gemm_traffic(128, 128, 32, 1, (64, 64), 1, (2, 2), 1, 4, capacity / 256)
        return traffic.past_l2 - traffic.written

    asked = (64 + 64) * 32 * 2
    assert past_l2(64 * 1024) == pytest.approx(asked / 2)
    assert past_l2(32 * 1024) == pytest.approx(asked * 3 / 4)
    assert past_l2(1) == pytest.approx(asked, rel=1e-3)


def test_tiles_of_a_cluster_read_what_they_share_once() -> None:
    """Tiles of 128x256, K = 1024, 2 B: rows are 256 KiB and columns 512 KiB. Two tiles below each
    other share columns: each asks L2 for 256 + 256 KiB instead of 768, and writes its 128 x 256 x 2
    B = 64 KiB as before.
    """
    shape = (2048, 2048, 1024, 1, (128, 256), 1, (2, 2), 1, 64)
    alone, down = gemm_traffic(*shape), gemm_traffic(*shape, cluster=(2, 1))
    assert alone.l2 == (256 + 512 + 64) * 1024
    assert down.l2 == (256 + 256 + 64) * 1024
    assert gemm_traffic(*shape, cluster=(1, 2)).l2 == (128 + 512 + 64) * 1024
    assert down.past_l2 <= alone.past_l2


def test_down_groups_of_rows_b_is_swept_again_and_by_column_a() -> None:
    """12288^3 in tiles of 256 x 256 (48 x 48, 6.3 MB a row or column of tiles), 304 in flight on 8
    dies.

    By column: 48 rows and 304 / 48 = 6.33 columns run together. A is read 48 / 6.33 = 7.58 times,
    so 6.58 times again, each a sweep over A and the columns in flight: (48 + 6.33) x 6.3 MB.
    Down groups of 32 rows: 9.5 columns; A is read 48 / 9.5 times, B 48 / 32 times. A's next use is
    as far as the rows and columns in flight, (32 + 9.5) x 6.3 MB, B's as far as the group and B.
    """
    shape, side = (12288, 12288, 12288, 1, (256, 256), 1, (2, 2), 8, 304), 256 * 12288 * 2
    operand, tiles = 48 * side, 48 * 48
    by_column = gemm_traffic(*shape).again
    assert by_column.near == 0.0
    assert by_column.swept * tiles == pytest.approx(operand * (48 * 48 / 304 - 1))
    assert by_column.swept_footprint == pytest.approx((48 + 304 / 48) * side)
    in_groups = gemm_traffic(*shape, memory=(256 * 2.0**20, 2.4)).again
    assert in_groups.near * tiles == pytest.approx(operand * (48 / 9.5 - 1))
    assert in_groups.near_footprint == pytest.approx((32 + 9.5) * side)
    assert in_groups.swept * tiles == pytest.approx(operand * (48 / 32 - 1))
    assert in_groups.swept_footprint == pytest.approx((32 + 48) * side)


def test_a_queue_that_hands_tiles_out_along_the_rows() -> None:
    """12288^3, 8 workgroups, 48 x 48 tiles with sides of 6.3 MB. A queue has 8 tiles of one row
    together: a tile brings 1/8 of its row, 1/48 for the first time, and reads the column again that
    48 tiles before it brought, all of B (302 MB) ago. Static lists have 8 rows together, which
    their next columns read again, and of B a tile brings 1/8 of a column.
    On 304 units 6.33 rows of 48 columns run together; a die has every eighth column.
    """
    of_12288, side = (12288, 12288, 12288, 1, (256, 256), 1, (2, 2), 8), 256 * 12288 * 2
    queue = gemm_traffic(*of_12288, 8, order="rows").again
    assert (queue.near, queue.swept) == pytest.approx((side / 8 - side / 48, side - side / 48))
    assert queue.swept_footprint == pytest.approx(side * (1 + 48))
    lists = gemm_traffic(*of_12288, 8, order="lists").again
    assert (lists.near, lists.swept) == pytest.approx((side - side / 48, side / 8 - side / 48))
    assert lists.near_footprint == pytest.approx(side * (8 + 1))
    full = gemm_traffic(*of_12288, 304, order="rows")
    assert full.past_l2 - full.written == pytest.approx(side * (304 / 48 + 48 / 8) / 38)


def test_a_sweep_over_more_than_fits_finds_nothing() -> None:
    """Lines that the next tiles read again are there as far as it fits; a sweep evicts itself."""
    again = Again(near=8.0, near_footprint=100.0, swept=4.0, swept_footprint=200.0)
    assert again.missing(200.0) == 0.0
    assert again.missing(199.0) == 4.0
    assert again.missing(50.0) == 8.0 / 2 + 4.0


def test_an_order_that_knows_the_cache_takes_the_order_that_knows_l2_where_all_fits() -> None:
    """8192^3: A and the columns in flight are 166 MiB, so nothing is read again from memory."""
    shape = (8192, 8192, 8192, 1, (256, 256), 1, (2, 2), 8, 304)
    assert gemm_traffic(*shape) == gemm_traffic(*shape, memory=(256 * 2.0**20, 2.4))


def test_tiles_beyond_an_edge_read_and_write_nothing() -> None:
    """Three of four tiles have operands: in the mean three quarters of the bytes, of a footprint
    that is the same.
    """
    whole = gemm_traffic(384, 512, 2048, 1, (128, 256), 1, (2, 2), 1, 132)
    mean = whole.in_the_mean(0.75)
    assert mean.l2 == 0.75 * whole.l2 and mean.written == 0.75 * whole.written
    assert mean.again.near == 0.75 * whole.again.near
    assert mean.again.near_footprint == whole.again.near_footprint

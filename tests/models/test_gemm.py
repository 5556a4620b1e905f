"""The macro-tile that a library picks, and the cost and claims of a tile."""

from __future__ import annotations

import pytest

from c3sim.models.gemm import plan_gemm
from c3sim.models.gemm_sums import matrix_rate
from c3sim.spec.hardware import Gpu
from c3sim.spec.reading import library
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import NO_WORKLOAD, set_value, tuned
from c3sim.spec.reading.records import load_records
from c3sim.spec.workload import Gemm

GPU = load_node("mi300x-8").gpu
TEACHING = load_node("teaching-4").gpu
H200 = load_node("h200-2").gpu
PUBLISHED = (
    library.find("gpu", "mi300x").parent.parent / "validation" / "data" / "published" / "mi300x"
)


def gemm(m: int, n: int, k: int, **more: object) -> Gemm:
    return Gemm(kind="gemm", m=m, n=n, k=k, **more)


# Tiles of hipBLASLt on MI300X in bf16, from kernel names and counts of workgroups:
# github.com/ROCm/tritonBLAS docs/overlap-analysis.md (commit 70f7484), records c3_shapes
TILES = [
    (
        4096,
        4096,
        4096,
        (256, 224),
        304,
    ),  # 16 x ceil(4096 / 224) = 16 x 19: exactly one per compute unit
    (8192, 8192, 8192, (256, 224), 1184),  # 32 x ceil(8192 / 224) = 32 x 37
    (3840, 3840, 4096, (256, 192), 300),  # 15 x 20
]


@pytest.mark.parametrize(("m", "n", "k", "tile", "tiles"), TILES)
def test_macro_tile_of_the_library(
    m: int, n: int, k: int, tile: tuple[int, int], tiles: int
) -> None:
    plan = plan_gemm(GPU, gemm(m, n, k))
    assert (plan.tile, plan.tiles, plan.split_k) == (tile, tiles, 1)


def test_every_recorded_tile_of_the_library_is_chosen() -> None:
    """Records name the tile that ran. Left to choose, the model takes the same."""
    found = 0
    for record in load_records(PUBLISHED / "c3_shapes.jsonl"):
        for task in record.workload.tasks.values():
            if isinstance(task, Gemm) and task.library == "hipblaslt" and task.macro_tile:
                assert plan_gemm(GPU, task.changed(macro_tile=None)).tile == task.macro_tile
                found += 1
    assert found >= 4


def test_tile_time_by_hand() -> None:
    """Teaching GPU: 1000 FLOP per cycle at 1 GHz, operands at 60 GB/s, prologue 1 us. A tile of
    128x128 with K = 512: 2 x 128 x 128 x 512 / 1000 = 16777 cycles of issue; (128 + 128) x 512 x 2
    B / 60 GB/s = 4.369 us of operands. The two overlap, but not fully: the root of their squares.
    """
    plan = plan_gemm(TEACHING, gemm(128, 128, 512, macro_tile=(128, 128)))
    assert plan.issue == pytest.approx(16.777e-6, rel=1e-4)
    assert plan.feed == pytest.approx(4.369e-6, rel=1e-4)
    assert plan.body == pytest.approx((16.777**2 + 4.369**2) ** 0.5 * 1e-6, rel=1e-4)
    assert plan.prologue == 1e-6
    assert plan.flops_per_tile == 2 * 128 * 128 * 512


@pytest.mark.parametrize(
    ("tile", "us", "alternate"),
    [((256, 128), 1.655, False), ((192, 128), 1.241, False), ((128, 176), 1.138, True)],
)
def test_results_of_a_tile_by_hand(tile: tuple[int, int], us: float, alternate: bool) -> None:
    """Results of 2 B at 20 B per cycle of 1980 MHz; a unit has two of up to 22,528 by turns."""
    plan = plan_gemm(H200, gemm(4096, 8192, 512, macro_tile=tile))
    assert plan.alternate == alternate
    assert plan.epilogue == pytest.approx(us * 1e-6, rel=1e-3)
    wide = plan_gemm(H200, gemm(4096, 8192, 512, macro_tile=tile, out_dtype="fp32"))
    assert wide.epilogue == pytest.approx(2 * plan.epilogue)
    for other in (GPU, load_node("b200-8").gpu):  # in the prologue of each tile
        assert plan_gemm(other, gemm(4096, 4096, 512)).epilogue == 0.0


@pytest.mark.parametrize(
    ("m", "n", "k", "share"),
    [
        (4096, 4096, 4096, ""),
        (4096, 4100, 4096, "unaligned"),  # 8200 B of a row of C
        (4096, 4096, 4100, "unaligned"),
        (4096, 4097, 4096, "odd_rows"),  # 8194 B, no whole number of 4
        (4096, 4096, 4097, "odd_rows"),
        (4101, 4096, 4096, ""),  # rows of A and C, however many
    ],
)
def test_rows_of_no_whole_16_or_4_bytes_are_multiplied_slower(
    m: int, n: int, k: int, share: str
) -> None:
    """K goes by whole slices, 64 numbers of 2 bytes: 4097 and 4100 are 4160."""
    tile = plan_gemm(H200, gemm(m, n, k, macro_tile=(128, 128), library="cublas"))
    part = getattr(H200.gemm_library("cublas"), share) if share else 1.0
    units, clock = H200.compute_units, H200.clock.maximum
    alone = 2 * 128 * 128 * (4160 if k > 4096 else k) / units.flops_per_cycle["bf16"] / clock
    assert tile.issue == pytest.approx(alone / part)


def test_element_size_counts_in_the_feed_and_the_rate() -> None:
    """fp8: 2000 FLOP per cycle, one byte per element: both halve. fp32: 100 FLOP per cycle, four
    bytes.
    """
    fp8 = plan_gemm(TEACHING, gemm(128, 128, 512, macro_tile=(128, 128), dtype="fp8"))
    fp32 = plan_gemm(TEACHING, gemm(128, 128, 512, macro_tile=(128, 128), dtype="fp32"))
    assert (fp8.issue, fp8.feed) == pytest.approx((8.3886e-6, 2.1845e-6), rel=1e-4)
    assert (fp32.issue, fp32.feed) == pytest.approx((167.77e-6, 8.738e-6), rel=1e-4)


def test_partial_sums_of_fp8_take_turns_with_the_matrix_units() -> None:
    """8192 FLOP a cycle on Hopper; each 128 of K, 256 FLOP, a number of C is added by one of 128
    lanes: 256 / 8192 + 1 / 128 cycles, a quarter more. B200's library has no such interval.
    """
    rates, b200 = H200.compute_units.flops_per_cycle, load_node("b200-8").gpu
    assert matrix_rate(H200, gemm(128, 128, 512, dtype="fp8")) == pytest.approx(8192 / 1.25)
    assert matrix_rate(H200, gemm(128, 128, 512)) == rates["bf16"]
    fp8 = b200.compute_units.flops_per_cycle["fp8"]
    assert matrix_rate(b200, gemm(128, 128, 512, dtype="fp8")) == fp8


def test_padding_is_computed_too() -> None:
    """129 rows need two row tiles of 128."""
    assert plan_gemm(TEACHING, gemm(129, 128, 512, macro_tile=(128, 128))).tiles == 2
    assert plan_gemm(TEACHING, gemm(129, 128, 512, macro_tile=(128, 128), batch=3)).tiles == 6


@pytest.mark.parametrize(
    ("tile", "residents"),
    [
        # LDS: (rows + columns) x 128 B of 64 KiB; registers: 4 waves x (tile / 256 + (rows +
        # columns) / 4 +
        # 64) of 2048
        ((256, 256), 1),  # 64 KiB of LDS; 4 x min(512, 256 + 128 + 64) = 1792 registers
        ((128, 128), 2),  # 32 KiB: 2; registers 4 x (64 + 64 + 64) = 768: 2
        ((64, 64), 4),  # 16 KiB: 4; registers 4 x (16 + 32 + 64) = 448: 4
        ((16, 16), 7),  # 4 KiB: 16; registers 4 x (1 + 8 + 64) = 292: 7; waves 32 / 4 = 8
    ],
)
def test_residents_per_unit(tile: tuple[int, int], residents: int) -> None:
    plan = plan_gemm(TEACHING, gemm(4096, 4096, 512, macro_tile=tile))
    assert plan.lds == sum(tile) * 128
    assert plan.residents == residents


def test_few_rows_are_split_along_k() -> None:
    """16 rows of C make too few tiles for 304 units; the library splits K rather than leave most
    idle. Sixteen tiles' worth of work is not split on a GPU whose library cannot.
    """
    plan = plan_gemm(GPU, gemm(16, 2048, 16384))
    assert plan.split_k > 1
    assert plan.tiles >= 2 * -(-2048 // plan.tile[1])
    assert plan_gemm(TEACHING, gemm(16, 128, 16384)).split_k == 1


def test_stream_k_divides_k_itself() -> None:
    """Its workgroups have equal shares of the work, so tiles are not split beforehand; schedules
    that take whole tiles split them as one workgroup per tile does.
    """
    assert plan_gemm(GPU, gemm(16, 2048, 16384, schedule="stream_k")).split_k == 1
    for schedule in ("persistent", "work_stealing", "dynamic_persistent"):
        assert plan_gemm(GPU, gemm(16, 2048, 16384, schedule=schedule)).split_k > 1


def test_a_narrow_tile_is_not_chosen_where_l2_cannot_feed_it() -> None:
    """2049 x 5120 on 132 units: 64 x 448 makes 33 x 12 = 396 tiles, 128 x 256 makes 17 x 20 = 340.
    Both are three rounds, and the narrow tile has an eighth less to compute. But its tiles read
    396 x (64 + 448) = 203,000 rows and columns of K from L2, the others 340 x (128 + 256) =
    131,000 (a cluster of two reads one side once, which leaves more of the narrow one).
    """
    tiles = ((64, 448), (128, 256))
    library = H200.gemm_libraries["cublas"].changed(tiles=tiles, operand_feed=1e13)
    gpu = H200.changed(gemm_libraries={"cublas": library})
    fed = gpu.changed(
        l2__bandwidth=100 * gpu.l2.bandwidth,
        compute_units__l2_bandwidth=100 * gpu.compute_units.l2_bandwidth,  # of a unit's port
    )
    task = gemm(2049, 5120, 8192)
    assert plan_gemm(gpu, task).tile == (128, 256)
    assert plan_gemm(fed, task).tile == (64, 448)


def test_few_tiles_are_split_where_a_kernel_adds_the_parts() -> None:
    """512 x 1024 x 12288 on 132 units makes 16 tiles of 128 x 256: the library splits K. The parts
    cost a kernel more and 2 x 512 x 1024 x 4 B each: with little depth it does not.
    """
    assert plan_gemm(H200, gemm(512, 1024, 12288)).split_k > 1
    assert plan_gemm(H200, gemm(512, 1024, 1024)).split_k == 1


def test_the_task_overrides_the_library() -> None:
    plan = plan_gemm(GPU, gemm(8192, 8192, 8192, macro_tile=(128, 96), schedule="persistent"))
    assert (plan.tile, plan.schedule) == ((128, 96), "persistent")
    assert plan_gemm(GPU, gemm(8192, 8192, 8192, library="triton")).tile == (256, 256)


def test_numbers_set_by_hand_leave_the_tile_of_the_gpu() -> None:
    """cuBLAS chooses by device, and cannot see that its memory was made faster: another tile is
    that of another GPU, which has a file.
    """
    task, node = gemm(72, 7000, 8192), load_node("h200-1")
    packaged = plan_gemm(node.gpu, task)
    fast, _ = set_value(node, NO_WORKLOAD, "gpu.hbm.bandwidth", "10 TB/s")
    again, _ = set_value(fast, NO_WORKLOAD, "gpu.hbm.latency", "300 ns")
    assert plan_gemm(fast.gpu, task) == plan_gemm(again.gpu, task) == packaged
    other = plan_gemm(tuned(fast, None).gpu, task)  # a file with these numbers
    assert other.tile != packaged.tile


@pytest.mark.parametrize(("share", "longer"), [(0.0, 1.0), (1.0, 2.0), (0.25, 1.25)])
def test_operands_wait_longer_by_the_share_that_follows_the_clock(
    share: float, longer: float
) -> None:
    """At half the clock: c / (1/2) + 1 - c."""
    node = load_node("mi300x-8")
    path = "gpu.gemm_libraries.hipblaslt.operand_clocked"
    node, _ = set_value(node, NO_WORKLOAD, path, share)
    half, _ = set_value(node, NO_WORKLOAD, "gpu.clock.maximum", "1050 MHz")
    full, slow = (plan_gemm(each.gpu, gemm(8192, 8192, 8192)) for each in (node, half))
    assert slow.feed / full.feed == pytest.approx(longer)
    assert slow.issue == pytest.approx(2 * full.issue)


def test_the_choice_weighs_rounds_against_tile_size() -> None:
    """Why 256x224 and not the larger 256x256 for 4096^3: 16 x 16 = 256 tiles of the large one leave
    48 of 304 units idle in their only round; 304 of the smaller use all, each shorter.
    """
    large = plan_gemm(GPU, gemm(4096, 4096, 4096, macro_tile=(256, 256)))
    chosen = plan_gemm(GPU, gemm(4096, 4096, 4096))
    assert (large.tiles, chosen.tiles) == (256, 304)
    assert chosen.body < large.body


# Clusters: the library's kernels start so many workgroups together
# ---------------------------------------------------


def clusters_of(size: int) -> Gpu:
    return TEACHING.changed(gemm_libraries__hipblaslt__cluster=size)


@pytest.mark.parametrize(
    ("m", "n", "cluster", "tiles"),
    [
        (6 * 128, 128, (2, 1), 6),  # down: no tile more
        (3 * 128, 2 * 128, (1, 2), 6),  # down would be 4 x 2
        (3 * 128, 3 * 128, (2, 1), 12),  # 4 x 3 or 3 x 4
        (128, 128, (1, 1), 1),  # one tile is no cluster
    ],
)
def test_a_grid_is_whole_clusters(m: int, n: int, cluster: tuple[int, int], tiles: int) -> None:
    plan = plan_gemm(clusters_of(2), gemm(m, n, 512, macro_tile=(128, 128)))
    assert (plan.cluster, plan.tiles) == (cluster, tiles)
    assert plan.cluster_size == cluster[0] * cluster[1]


def test_a_library_whose_clusters_are_rows_pads_a_product_of_few_rows() -> None:
    """Rows of tiles go in twos: 12 rows of an expert make as many tiles as 256, 384 as 512."""
    tiles = {
        m: plan_gemm(H200, gemm(m, 2048, 1408, batch=64, library="grouped")).tiles
        for m in (12, 256, 384, 512)
    }
    assert tiles == {12: 64 * 2 * 8, 256: 64 * 2 * 8, 384: 64 * 4 * 8, 512: 64 * 4 * 8}


def test_a_tile_of_another_product_begins_later() -> None:
    """132 units go through 16 tiles a product: every tile is of another product than the one
    before. Through 3584: 132 of 3584. A single product has no other.
    """
    library = H200.gemm_library("grouped")
    for n, batch, turns in ((2048, 8, 1.0), (7 * 256 * 256, 8, 132 / 3584), (2048, 1, 0.0)):
        plan = plan_gemm(H200, gemm(256, n, 64, batch=batch, library="grouped"))
        assert plan.prologue == pytest.approx(library.prologue + turns * library.next_product)


def test_stages_claim_lds() -> None:
    """A slice of a 64x64 tile is (64 + 64) x 128 B = 16 KiB; three fit on a unit of 64 KiB in one
    stage each as far as registers go, one in four stages.
    """
    task = gemm(512, 512, 512, macro_tile=(64, 64))
    staged = TEACHING.changed(gemm_libraries__hipblaslt__stages=4)
    assert plan_gemm(TEACHING, task).lds == 16 * 1024
    assert (plan_gemm(staged, task).lds, plan_gemm(staged, task).residents) == (64 * 1024, 1)


def changed_library(gpu: Gpu, name: str, **more: object) -> Gpu:
    library = gpu.gemm_libraries[name].changed(**more)
    return gpu.changed(gemm_libraries={name: library})


def test_parts_of_a_split_are_not_thinner_than_the_library_makes_them() -> None:
    """16 x 2048 x 16384 is split; in parts of at least 8192 it is split in two, or not at all."""
    task = gemm(16, 2048, 16384, library="hipblaslt")
    assert plan_gemm(GPU, task).split_k > 2
    assert plan_gemm(changed_library(GPU, "hipblaslt", split_depth=8192), task).split_k <= 2
    assert plan_gemm(changed_library(GPU, "hipblaslt", split_depth=None), task).split_k == 1


def test_registers_follow_from_threads_and_slices() -> None:
    """A tile of 128 x 128 on 4 waves of 64 lanes: 64 accumulators a lane, two slices of 256 rows
    and columns x 128 B over 4 B x 256 threads, 32 each, and 64 others: 192. With slices of 256 B
    64 each: 256. A wave has at most 100 in the last case.
    """
    task = gemm(512, 512, 512, macro_tile=(128, 128))
    assert plan_gemm(TEACHING, task).registers == 4 * 192
    wide = changed_library(TEACHING, "hipblaslt", slice_bytes=256.0)
    assert plan_gemm(wide, task).registers == 4 * 256
    small = TEACHING.changed(compute_units__wave_registers=100)
    assert plan_gemm(small, task).registers == 4 * 100

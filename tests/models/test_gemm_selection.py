"""The tile and the parts of K that hipBLASLt takes on MI355X, as Origami says them.

Expected seconds were printed by release 0.0.3 of it (compute_total_latency of gfx950 at
2.4 GHz, with the rates of the hardware file); tiles and parts by its select_config.
"""

from math import ceil

import pytest

import c3sim
from c3sim.models.gemm import plan_gemm
from c3sim.models.gemm_selection import Tiling, ranked
from c3sim.spec.hardware import Gpu
from c3sim.spec.workload import Gemm

GPU = c3sim.load_hardware("mi355x-8").node.gpu


def tiling(m: int, n: int, k: int, batch: int, tall: int, wide: int, residents: int) -> Tiling:
    return Tiling(
        sides=(m, n, k),
        tile=(tall, wide),
        grid=(ceil(m / tall), ceil(n / wide)),
        batch=batch,
        elements=(2, 2),
        slices=ceil(k / 64),
        depth=64,
        units=256,
        dies=8,
        residents=residents,
    )


def chosen(m: int, n: int, k: int, gpu: Gpu = GPU, **said: object) -> tuple[tuple[int, int], int]:
    task = {"kind": "gemm", "m": m, "n": n, "k": k, "library": "hipblaslt", **said}
    plan = plan_gemm(gpu, Gemm.model_validate(task))
    return plan.tile, plan.split_k


@pytest.mark.parametrize(
    ("shape", "microseconds"),
    [
        ((512, 2048, 7168, 1, 128, 256, 1), 32.199558),
        ((1024, 2048, 7168, 1, 256, 256, 1), 49.735457),
        ((2048, 2048, 2048, 1, 128, 128, 2), 25.520512),
        ((8192, 8192, 8192, 1, 256, 256, 1), 661.790606),
        ((16, 4096, 16384, 1, 32, 16, 2), 112.829960),
        ((1024, 1000, 1000, 4, 128, 128, 2), 20.576532),
        ((4096, 3072, 512, 1, 128, 64, 3), 35.441440),
    ],
)
def test_a_tile_is_reckoned_as_the_library_reckons_it(shape, microseconds):
    rates = GPU.gemm_library("hipblaslt").selection
    assert rates is not None
    found = ranked(tiling(*shape), rates, 4096.0, 2.4e9) * 1e6
    assert found == pytest.approx(microseconds, rel=1e-3)


@pytest.mark.parametrize(
    ("sides", "choice"),
    [
        ((512, 2048, 7168), ((128, 256), 8)),
        ((1024, 2048, 7168), ((128, 256), 4)),
        ((2048, 2048, 7168), ((256, 256), 4)),
        ((4096, 2048, 7168), ((256, 256), 2)),
        ((1024, 1024, 1024), ((64, 64), 1)),
        ((2048, 2048, 2048), ((128, 128), 1)),
        ((8192, 8192, 8192), ((256, 256), 1)),
    ],
)
def test_few_tiles_of_deep_k_are_split_and_large_ones_taken(sides, choice):
    assert chosen(*sides) == choice


def test_parts_are_added_at_once_where_few_tiles_are_deep_else_in_steps():
    """40 tiles of 112 slices take 6 parts; 72 tiles 3; 100 slices of 4 tiles no more than 12."""
    assert tiling(1024, 2048, 7168, 1, 256, 208, 1).parts == 6
    assert tiling(1024, 4608, 90112, 1, 256, 256, 1).parts == 3
    assert tiling(512, 512, 6400, 1, 256, 256, 1).parts == 12
    assert tiling(512, 512, 4032, 1, 256, 256, 1).parts == 6  # 63 slices: 7 is no number in turn


def test_a_workload_s_own_tile_is_split_as_the_library_splits():
    assert chosen(2048, 2048, 7168, macro_tile=(256, 128)) == ((256, 128), 2)


def test_a_gpu_with_tables_of_tuned_sizes_ranks_by_rounds():
    mi300x = c3sim.load_hardware("mi300x-8").node.gpu
    assert mi300x.gemm_library("hipblaslt").selection is None
    assert chosen(2048, 2048, 7168, mi300x) != chosen(2048, 2048, 7168)

"""Tiles that a library was seen to choose."""

import csv
from importlib.resources import files

import pytest

import c3sim
from c3sim.models.gemm import plan_gemm
from c3sim.models.gemm_choices import choices
from c3sim.spec.workload import Gemm


def gemm(**said: object) -> Gemm:
    return Gemm.model_validate({"kind": "gemm", "m": 8, "n": 28672, "k": 8192, **said})


def test_a_shape_that_was_seen_has_the_tile_of_the_kernel_s_name():
    """``nvjet_sm90_tst_128x8_64x12_2x1_v_bz``: 128 columns, 8 rows, clusters of 2 across, 12 stages
    of 64. The profiler shows 225,492 bytes of shared memory.
    """
    plan = plan_gemm(c3sim.load_hardware("h200-1").node.gpu, gemm())
    assert (plan.tile, plan.split_k, plan.cluster) == ((8, 128), 1, (1, 2))
    assert plan.tiles == 28672 // 128
    assert plan.stages == 12
    assert plan.lds == pytest.approx(225492, abs=300)


def test_two_cards_differ_in_what_the_library_chooses():
    """128 x 28672 x 8192: tiles of 112 columns on H100, of 448 on H200."""
    wide = gemm(m=128)
    tiles = [plan_gemm(c3sim.load_hardware(f"{n}-1").node.gpu, wide).tile for n in ("h100", "h200")]
    assert tiles == [(128, 112), (64, 448)]


@pytest.mark.parametrize("said", [{"macro_tile": (128, 256)}, {"schedule": "one_per_tile"}])
def test_what_a_workload_says_goes_before_the_table(said):
    plan = plan_gemm(c3sim.load_hardware("h200-1").node.gpu, gemm(**said))
    assert plan.tile != (8, 128)


def test_a_gpu_of_other_units_takes_no_tile_of_the_table():
    """B200 has 148 units and is `like: h200`: it inherits the table, none of whose rows is its."""
    gpu = c3sim.load_hardware("b200-8").node.gpu
    assert gpu.gemm_library("cublas").choices == "h200-cublas"
    assert gpu.compute_unit_count not in {key[0] for key in choices("h200-cublas")}


@pytest.mark.parametrize("table", ["h100-cublas", "h200-cublas"])
def test_k_is_split_in_deep_parts_and_a_pool_of_tiles_needs_a_counter(table):
    """No part of less than 1365 of K; no more workgroups than units; a memset in front of exactly
    the products with more than two tiles for each unit, which are what a workgroup owns.
    """
    text = (files("c3sim.hwmodels") / f"{table}.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        n = {name: int(v) for name, v in row.items() if name not in ("dtype", *TIMES)}
        down, across = -(-n["m"] // n["rows"]), -(-n["n"] // n["columns"])
        room = (232448 - 16836) // ((n["rows"] + n["columns"]) * 128)  # slices of 64 of K, 16 bit
        assert n["stages"] == min(16, room)
        assert n["split"] == 1 or n["k"] // n["split"] >= 1365
        assert n["workgroups"] <= n["units"]
        assert bool(n["memset"]) == (down * across * n["split"] > 2 * n["units"])


TIMES = ("kernel_us", "reduction_us")


def test_an_unknown_table_is_a_mistake_with_its_path(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "schema: 2\nlike: h200-1\nname: mine\ngpu:\n  gemm_libraries:\n    cublas:\n"
        "      choices: {value: nobodys, source: mine}\n"
    )
    with pytest.raises(c3sim.InputErrors, match="no table of choices 'nobodys' in hwmodels"):
        c3sim.load_hardware(file)

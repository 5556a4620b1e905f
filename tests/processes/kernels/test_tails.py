"""The last round of a GEMM, in which few workgroups still have a tile."""

from __future__ import annotations

import pytest
from made_workload import run_of

OVERHEAD = 3e-6  # teaching GPU: 2 us to dispatch a kernel, 1 us until its end is seen


def time_of(tiles: int, schedule: str) -> float:
    """Seconds of a GEMM of so many tiles, each of which takes all LDS of a unit."""
    gemm = {"kind": "gemm", "m": tiles * 256, "n": 256, "k": 4096, "macro_tile": [256, 256]}
    tasks = {"g": {**gemm, "schedule": schedule}}
    return run_of(tasks).end - OVERHEAD


@pytest.mark.parametrize(
    "schedule", ["one_per_tile", "persistent", "work_stealing", "dynamic_persistent"]
)
def test_one_tile_more_than_units_is_a_round_more(schedule: str) -> None:
    """14 units: 14 tiles are one round, 15 are two, though 13 units rest in the second, whose tile
    takes a little less, as nobody else loads memory: hence the 10 %.
    """
    assert time_of(15, schedule) == pytest.approx(2 * time_of(14, schedule), rel=0.1)


def test_stream_k_has_no_tail() -> None:
    """Every workgroup gets the same share of the work: 15 tiles take 15/14 of what 14 do."""
    assert time_of(15, "stream_k") == pytest.approx(15 / 14 * time_of(14, "stream_k"), rel=0.05)

"""More bandwidth or less time of anything never slows a GEMM by itself.

What a tile stores it does not feel itself (decision 118): before, a shorter prologue loaded memory
more and made GEMMs of small K up to 17 % slower.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from law_nodes import scaled, without_power_limit
from laws_of_times import STEPS

import c3sim
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import still_tuned

pytestmark = pytest.mark.turns(5)

LIBRARY = "gpu.gemm_libraries.cublas."
TIMES = ("gpu.hbm.latency", f"{LIBRARY}prologue", f"{LIBRARY}slice_time")
RATES = (
    "gpu.hbm.bandwidth",
    "gpu.l2.bandwidth",
    "gpu.compute_units.l2_bandwidth",
    "gpu.compute_units.store_bandwidth",
    f"{LIBRARY}operand_feed",
    f"{LIBRARY}epilogue",
)


def time_of(node: Node, shape: tuple[int, int, int], path: str, step: float) -> float:
    """Seconds of a GEMM of this *shape* where the number at *path* is so many times better."""
    factor = 1 / step if path in TIMES else step
    better = scaled(node, lambda here, _unit: factor if here == path else 1.0)
    task = dict(zip("mnk", shape, strict=True), kind="gemm")
    return c3sim.run({"tasks": {"gemm": task}}, node=still_tuned(node, better)).wall_s


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("h200-1", (24, 10240, 8192)),
        ("h100-1", (144, 12288, 4096)),
        ("h200-1", (8192, 8192, 128)),
        ("h100-1", (16384, 16384, 64)),
    ],
)
def test_a_better_number_never_slows_a_gemm(name: str, shape: tuple[int, int, int]) -> None:
    """Of few rows, and of small K."""
    node = without_power_limit(load_node(name))
    for path in (*TIMES, *RATES):
        times = [time_of(node, shape, path, step) for step in STEPS]
        slower = [(a, b) for a, b in pairwise(times) if b > a * (1 + 1e-6)]
        assert slower == [], path

"""A GEMM that memory bounds spends what the power limit leaves."""

from __future__ import annotations

import pytest
from law_observer import most_drawn
from law_runs import observed
from made_workload import workload_of

from c3sim.spec.reading.loading import load_node


# Bound by memory, by operands, by a last round that most units leave free: 900, 845 and 776 W of
# 750 when the clock was found from rates that were taken to follow it.
@pytest.mark.parametrize(
    ("library", "m", "n", "k"),
    [("triton", 1024, 28672, 128), ("hipblaslt", 4096, 8192, 128), ("triton", 1024, 28672, 8192)],
)
def test_a_gemm_bound_by_memory_spends_the_limit_of_mi300x_and_no_more(
    library: str, m: int, n: int, k: int
) -> None:
    gemm = {"kind": "gemm", "m": m, "n": n, "k": k, "library": library}
    workload = workload_of({"gemm": gemm})
    node = load_node("mi300x-8")
    assert 0.99 <= most_drawn(node, observed(node, workload)[1]) <= 1 + 1e-6

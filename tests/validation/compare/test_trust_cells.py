"""Cells of ``trust.json``: by mix of tasks, held-out rows alone, ends of conditions."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from made_workload import workload_of

from c3sim.spec.reading.loading import load_node
from c3sim.validation.compare.trust import derive

NODES = {"mi300x-8": load_node("mi300x-8")}


def figure(error: float, metric: str = "wall", held_out: bool = True, **tasks: object):
    workload = workload_of(tasks)
    record = SimpleNamespace(node="mi300x-8", workload=workload)
    return SimpleNamespace(record=record, suite="s", metric=metric, error=error, held_out=held_out)


def gemm(m: int) -> dict[str, object]:
    return {"kind": "gemm", "m": m, "n": 1024, "k": 1024}


REDUCE = {"kind": "collective", "op": "all_reduce", "size": 2**20}


def test_a_cell_has_errors_and_ends():
    """Errors of -10, 20 and 30 %: 20 in the median, 28 at the 90th percentile."""
    figures = [
        figure(-0.1, gemm=gemm(1024), r=REDUCE),
        figure(0.2, gemm=gemm(4096), r=REDUCE),
        figure(0.3, gemm=gemm(2048), r=REDUCE),
    ]
    (cell,) = derive(figures, NODES)
    assert (cell.count, cell.median, cell.p90) == (3, 0.2, pytest.approx(0.28))
    assert cell.work["bf16 GEMM"]["m"] == (1024, 4096) and set(cell.work) == {
        "bf16 GEMM",
        "all_reduce",
    }


def test_rows_that_fits_use_and_parts_of_runs_do_not_count():
    pair = {"gemm": gemm(1024), "r": REDUCE}
    figures = [
        figure(0.1, held_out=False, **pair),
        figure(0.1, "gemm_slowdown", **pair),
        figure(0.1, "isolated_gemm", **pair),  # beside a figure of the whole run
    ]
    assert derive(figures, NODES) == []
    assert len(derive([figure(0.1, "isolated_gemm", gemm=gemm(1024))], NODES)) == 1

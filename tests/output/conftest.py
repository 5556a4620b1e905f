"""A hand-made run of a GEMM beside an all-gather, and an explanation: numbers chosen to be easy to
recognise.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from iteration_case import described, run_described
from shared import shared

from c3sim.iterations.result import IterationResult
from c3sim.models.capacity import Capacity
from c3sim.result import (
    Counter,
    OverlapResult,
    PowerResult,
    RankResult,
    Result,
    Span,
    TaskResult,
    Timeline,
)
from c3sim.spec.reading.loading import load_node

MS = 1e-3
# Until 1 ms the collective holds 32 of 304 compute units and the GEMM the others; then the GEMM has
# all until 3 ms.
TIMES = [0.0, 0.5 * MS, 2.0 * MS, 3.0 * MS]


def counter(
    kind: str, unit: str, maximum: float | None, index: int | None = None, **by_task: list[float]
) -> Counter:
    values = [sum(column) for column in zip(*by_task.values(), strict=True)]
    place = Capacity("gpu", 0, kind, index, None if index is None else "out")
    return Counter(
        place=place, unit=unit, times=TIMES, values=values, maximum=maximum, by_task=by_task
    )


def span(row: str, name: str, task: str, start: float, end: float, **detail: int) -> Span:
    """Something that a queue or an engine of the first GPU did."""
    return Span(owner="gpu0", row=row, name=name, task=task, start=start, end=end, detail=detail)


def make_timeline() -> Timeline:
    links = [
        counter("link", "B/s", 48e9, i, gather=[0.0, 40e9 + i * 1e9, 0.0, 0.0]) for i in range(3)
    ]
    return Timeline(
        spans=[
            span("stream.compute", "gemm", "gemm", 0.0, 3 * MS, tiles=1184),
            span("stream.comm", "all_gather", "gather", 0.5 * MS, 2 * MS),
            span("dma[0]", "copy", "gather", 0.5 * MS, 1.5 * MS, peer=1),
            span("dma[0]", "copy", "other", 1.0 * MS, 2.0 * MS, peer=2),
            Span(owner="host", row="", name="launch", task="gemm", start=0.0, end=5e-6),
        ],
        counters=[
            counter("compute_units", "1", 304, gemm=[304, 272, 304, 0], gather=[0, 32, 0, 0]),
            counter("hbm", "B/s", 5.3e12, gemm=[1.5e12, 1e12, 1.5e12, 0], gather=[0, 0.9e12, 0, 0]),
            *links,
            Counter(
                place=Capacity("gpu", 0, "clock"),
                unit="Hz",
                times=TIMES,
                values=[2.1e9, 1.8e9, 2.0e9, 2.1e9],
                maximum=2.1e9,
            ),
            Counter(
                place=Capacity("gpu", 0, "power"),
                unit="W",
                times=TIMES,
                values=[650.0, 750.0, 700.0, 140.0],
                maximum=750.0,
            ),
        ],
        end=3 * MS,
    )


def make_task(kind: str, isolated: float, start: float, end: float) -> TaskResult:
    return TaskResult(
        isolated_s=isolated,
        start_s=start,
        end_s=end,
        time_s=end,
        slowdown=end / isolated,
        kind=kind,
        energy_j=1.5,
    )


def make_result(strategy: str = "base", wall: float = 3 * MS, timeline: bool = True) -> Result:
    """Isolated 2.5 and 1.25 ms: serial 3.75 ms, ideal 1.5x; wall 3 ms: 1.25x, half of ideal."""
    return Result(
        workload="gemm_all_gather",
        node="mi300x-8",
        strategy=strategy,
        wall_s=wall,
        serial_s=3.75 * MS,
        ideal_speedup=1.5,
        speedup=3.75 * MS / wall,
        fraction_of_ideal=(3.75 * MS / wall - 1) / 0.5,
        energy_j=2.25,
        tasks={
            "gemm": make_task("gemm", 2.5 * MS, 0.0, wall),
            "gather": make_task("collective", 1.25 * MS, 0.5 * MS, 2 * MS),
        },
        overlap=OverlapResult(own_fraction=0.625, stretched_s=0.25 * MS),
        power=PowerResult(average_w=750.0),
        ranks=RankResult(folded=True, events=42),
        notes=("power is not validated on this node [no data]",),
        trace=make_timeline() if timeline else None,
    )


EXPLANATION: dict[str, Any] = {
    "workload": "gemm_all_gather",
    "node": "mi300x-8",
    "strategy": "base",
    "tasks": {
        "gemm": {
            "isolated_s": 2.5 * MS,
            "time_s": 3.0 * MS,
            "slowdown": 1.2,
            "causes": {"fewer compute units": 0.15, "HBM bandwidth": 0.04},
            "left_over": 0.01,
        },
        "gather": {
            "isolated_s": 1.25 * MS,
            "time_s": 2.0 * MS,
            "slowdown": 1.6,
            "causes": {"waiting for compute units [queue]": 0.4, "HBM bandwidth": 0.25},
            "left_over": -0.05,
        },
    },
}


@pytest.fixture
def result() -> Result:
    return make_result()


@pytest.fixture
def timeline() -> Timeline:
    return make_timeline()


@pytest.fixture
def explanation() -> dict[str, Any]:
    return deepcopy(EXPLANATION)


@pytest.fixture(scope="session")
def step(tmp_path_factory: pytest.TempPathFactory) -> IterationResult:
    """24 layers in two stages, twelve each, of which four are drawn; made once for all workers."""
    parallel = {"pp": 2, "cp": 2, "tp": 2, "dp_shard": 1}
    loaded = described(node="h200-8", layers=24, batch=4, tokens=512, parallel=parallel)
    node = load_node("h200-8")
    return shared(
        tmp_path_factory, "step", lambda: run_described(loaded, node, settings={}, trace=True)
    )

"""Copies within a GPU by a call of the runtime: kernels, where the GPU's file says so."""

from __future__ import annotations

from typing import Any

import pytest
from shapes import TEACHING

from c3sim.input.loading import parse_workload
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node

US = 1e-6
HOLD = {"kind": "hold", "workgroups": 14, "time": "100 us"}  # all units of the teaching GPU
COPY = {"kind": "copy", "bytes": "1 MiB", "destination": "gpu"}


def with_local_copies(by: str) -> Node:
    engines = TEACHING.gpu.dma_engines.model_copy(update={"local_copies": by})
    gpu = TEACHING.gpu.model_copy(update={"dma_engines": engines})
    return TEACHING.model_copy(update={"gpu": gpu})


def start_of_copy(node: Node, host: dict[str, Any] | None = None) -> float:
    data = {"schema": 1, "name": "w", "tasks": {"hold": HOLD, "copy": COPY}, "host": host or {}}
    return simulate(node, parse_workload(data)).task("copy").start


def test_an_engine_needs_no_compute_unit() -> None:
    assert start_of_copy(with_local_copies("engines")) < 10 * US


def test_a_kernel_waits_for_one() -> None:
    """Dispatched at 2 us, the hold keeps all units until 102 us."""
    assert start_of_copy(with_local_copies("kernels")) == pytest.approx(102 * US)


def test_a_batch_is_for_the_engines() -> None:
    assert start_of_copy(with_local_copies("kernels"), {"submission": "batch"}) < 20 * US

"""Kernels that the host launches from the release on: when they can start."""

from __future__ import annotations

from typing import Any

import pytest
from shapes import TEACHING

from c3sim.input.loading import parse_workload
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node

US = 1e-6
GEMM = {"kind": "gemm", "m": 256, "n": 256, "k": 256}


def with_enqueue_time(seconds: float | None) -> Node:
    """The teaching node, the first GEMM library of which costs the host *seconds* per call."""
    libraries = dict(TEACHING.gpu.gemm_libraries)
    name = next(iter(libraries))
    libraries[name] = libraries[name].model_copy(update={"enqueue_time": seconds})
    return TEACHING.model_copy(
        update={"gpu": TEACHING.gpu.model_copy(update={"gemm_libraries": libraries})}
    )


def end(node: Node, launch: str) -> float:
    workload: dict[str, Any] = {"schema": 1, "name": "w", "tasks": {"g": GEMM}}
    return simulate(node, parse_workload({**workload, "host": {"launch": launch}})).end


@pytest.mark.parametrize(("seconds", "host"), [(44 * US, 44 * US), (0.0, 0.0), (None, None)])
def test_an_eager_gemm_waits_for_the_call_of_its_library(
    seconds: float | None, host: float | None
) -> None:
    """Nothing else runs: the GEMM ends later by the call, one launch where the library gives none.
    In a queue that is full before the release the call costs nothing.
    """
    node = with_enqueue_time(seconds)
    call = node.host.launch_time if host is None else host
    assert end(node, "eager") - end(node, "queued") == pytest.approx(call, abs=1e-12)
    assert end(node, "queued") == end(TEACHING, "queued")

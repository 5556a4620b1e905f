"""A sampler that runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from c3sim.experiments.bands import Sampler
from c3sim.experiments.jobs import Workers
from c3sim.experiments.points import PointRunner
from c3sim.experiments.setup import Setup
from c3sim.spec.reading.loading import load_node, load_workload


def sampler_of(monkeypatch: pytest.MonkeyPatch, row: Callable[..., dict[str, Any]]) -> Sampler:
    """Of a pair on MI300X, the output of which is ``y`` of *row* (runner, scenario, strategy,
    settings), in this process.
    """
    monkeypatch.setattr(PointRunner, "row", row)
    monkeypatch.setattr("c3sim.experiments.points._runners", {})
    workloads = {"w": load_workload("gemm-beside-all-gather")}
    setup = Setup(
        node=load_node("mi300x-8"), workloads=workloads, settings={"w": {}}, outputs=("y",)
    )
    return Sampler(setup=setup, strategy="base", workers=Workers(jobs=1))

"""Descriptions of iterations for tests."""

from __future__ import annotations

from typing import Any

import pytest

from c3sim.iterations.build import Built, Plan, build, plan
from c3sim.iterations.described import described_on, evaluate
from c3sim.iterations.measure import result_of
from c3sim.iterations.measured import measure
from c3sim.iterations.result import IterationResult
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Iteration
from c3sim.spec.reading.loading import LoadedIteration, load_node, with_model

EIGHT_B = {"model": "llama-3-8b", "tokens": 4096, "node": "h200-4"}


def described(**fields: Any) -> LoadedIteration:
    """Llama 3 8B with 4096 tokens on four H200, but for *fields*."""
    whole = {"schema": 1, "kind": "iteration", "name": "test", **EIGHT_B, **fields}
    return with_model(Iteration.model_validate(whole))


def planned(**fields: Any) -> Plan:
    loaded = described(**fields)
    return plan(loaded.iteration, loaded.model, load_node(loaded.iteration.node))


def built(layers: int, **fields: Any) -> Built:
    return build(planned(**fields), layers)


def result(all_layers: bool = False, **fields: Any) -> IterationResult:
    loaded = described(**fields)
    node = load_node(loaded.iteration.node)
    measured = measure(loaded.iteration, loaded.model, node, all_layers=all_layers)
    return result_of(measured, "as_written")


def run_described(
    loaded: LoadedIteration, node: Node, *, settings: dict[str, Any], trace: bool = False
) -> IterationResult:
    """*loaded* on *node* with *settings* of any kind."""
    node, workload = described_on(loaded, node, settings)
    return evaluate(workload, node, "as_written", trace=trace)


def check_figures(found: IterationResult) -> None:
    """The wall is computation alone, what contention adds to it, and exposed communication."""
    assert found.wall_s > 0 and 0 < found.mfu < 0.9  # most in fp32, which vector units do
    parts = found.compute_s + found.overlap.stretched_s + found.overlap.exposed_s
    if not found.host_bound:
        assert found.wall_s == pytest.approx(parts, rel=0.05)

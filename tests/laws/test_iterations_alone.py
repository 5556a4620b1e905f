"""More bandwidth or less latency never slows an iteration by itself, nor one that its host binds.

Steps from half of a number to twice it, with ``--every-case`` from an eighth to eight times it, as
laws of the only task have them. Where kernels of two streams run beside each other, one that ends
earlier may meet another one: the anomaly of list scheduling (Graham, Bounds on multiprocessing
timing anomalies, 1969).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from iteration_case import described
from law_nodes import scaled, without_power_limit
from laws_of_times import STEPS

from c3sim.iterations.measured import measure
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import still_tuned

pytestmark = pytest.mark.turns(5)

DECODING: dict[str, Any] = {"layers": 2, "phase": "decode", "tokens": 1}
MANY: dict[str, Any] = {**DECODING, "batch": 64, "context": 2047}
SPLIT: dict[str, Any] = {**DECODING, "batch": 32, "parallel": {"kind": "tensor"}}
TRAINING: dict[str, Any] = {"layers": 2, "batch": 1, "tokens": 2048}
GRAPH: dict[str, Any] = {"launch": "graph"}

#: Numbers that have their turn: all of a node take minutes (docs/decisions).
MEMORY = ("gpu.hbm.bandwidth", "gpu.hbm.latency", "gpu.l2.bandwidth")
LINKS = ("links.bandwidth", "links.latency")
FEED = ("gpu.compute_units.read_bandwidth", "gpu.kernels.dispatch_latency")


def wall(node: Node, fields: dict[str, Any]) -> float:
    loaded = described(**fields)
    return measure(loaded.iteration, loaded.model, node).numbers.wall


def better(node: Node, path: str, step: float) -> Node:
    """*node* with the number at *path* so many times better, by hand."""
    factor = 1 / step if path.endswith("latency") else step
    return still_tuned(node, scaled(node, lambda here, _unit: factor if here == path else 1.0))


@pytest.mark.parametrize(
    ("name", "fields", "paths"),
    [
        ("h200-1", MANY, MEMORY[:1]),
        ("h200-1", {**MANY, **GRAPH}, (*MEMORY, *FEED)),
        pytest.param("h100-1", {**TRAINING, **GRAPH}, MEMORY, marks=pytest.mark.long),
        pytest.param("h200-4", {**SPLIT, **GRAPH}, LINKS, marks=pytest.mark.long),
    ],
)
def test_a_better_number_never_slows_an_iteration(
    name: str, fields: dict[str, Any], paths: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    steps = STEPS if request.config.getoption("--every-case") else STEPS[1::2]
    node = without_power_limit(load_node(name))
    for path in paths:
        walls = [wall(better(node, path, step), {**fields, "node": name}) for step in steps]
        slower = [(a, b) for a, b in pairwise(walls) if b > a * (1 + 1e-9)]
        assert slower == [], path

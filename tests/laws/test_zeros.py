"""A latency of nothing is an answer, not an error."""

from __future__ import annotations

import pytest
from law_cases import NODES, parsed
from law_nodes import scaled

from c3sim.simulation.simulate import simulate

TASKS = {
    "gemm": {"kind": "gemm", "m": 2048, "n": 2048, "k": 512},
    "stream": {"kind": "stream", "pattern": "copy", "bytes": "32 MiB"},
    "gather": {"kind": "collective", "op": "all_gather", "size": "8 MiB"},
    "engines": {"kind": "collective", "op": "all_gather", "size": "8 MiB", "backend": "dma"},
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["teaching-4", "h200-8", "mi300x-8"])
def test_memory_and_links_without_a_latency(name: str, task: str) -> None:
    """Each alone and both at once: no slower than with them."""
    node, workload = NODES[name], parsed(task, {"it": TASKS[task]})
    usual = simulate(node, workload).end
    for zeros in ({"gpu.hbm.latency"}, {"links.latency"}, {"gpu.hbm.latency", "links.latency"}):
        ideal = scaled(node, lambda path, _unit, zeros=zeros: 0.0 if path in zeros else 1.0)
        assert 0.0 < simulate(ideal, workload).end <= usual * (1 + 1e-9), zeros

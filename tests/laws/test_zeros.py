"""A latency of nothing is an answer; a share of nothing, with which nothing ends, an error."""

from __future__ import annotations

import pytest
from law_cases import NODES, parsed
from law_nodes import scaled

from c3sim.errors import InputError
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import NO_WORKLOAD, set_value

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


SHARES = {
    "h200-8": (
        "gpu.hbm.read_efficiency",
        "gpu.hbm.mixed_efficiency",
        "gpu.gemm_libraries.cublas.memory_efficiency",
        "gpu.gemm_libraries.cublas.results_efficiency",
        "gpu.gemm_libraries.cublas.unaligned",
        "gpu.gemm_libraries.cublas.odd_rows",
        "collective_libraries.nccl.channels.link_efficiency",
        "collective_libraries.nccl.protocols.simple.efficiency",
    ),
    "h100-cluster": ("scale_out.efficiency",),
}


def test_no_share_of_a_rate_is_an_error() -> None:
    """With none of it nothing ends."""
    for name, path in ((name, path) for name, paths in SHARES.items() for path in paths):
        node = load_node(name)
        with pytest.raises(InputError, match=r"got 0; must be greater than 0$"):
            set_value(node, NO_WORKLOAD, path, "0")
        assert set_value(node, NO_WORKLOAD, path, "0.01")

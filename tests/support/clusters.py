"""Nodes without latencies and with plenty of everything but bandwidth between GPUs, so that times
can be reckoned by hand.
"""

from __future__ import annotations

from typing import Any

from made_workload import run_of, workload_of

from c3sim.simulation.run import Run
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import set_value

__all__ = ["MS", "NODE", "changed", "run"]

MS = 1e-3
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
PLENTY: dict[str, object] = {
    "gpu.hbm.bandwidth": "1e6 GB/s",
    "gpu.memory_side_cache": "null",
    "gpu.clock.power_limit": "1e9 W",
    "gpu.dma_engines.count": 3,
    "gpu.dma_engines.bytes_in_flight": "64 GiB",
    "gpu.dma_engines.remote_read_bytes_in_flight": "64 GiB",
    "gpu.dma_engines.link_efficiency.push": 1.0,
    "gpu.dma_engines.bandwidth": "100 GB/s",
    "collective_libraries.rccl.channels.bytes_per_cycle": "1000 B/cycle",
    "collective_libraries.rccl.channels.link_saturation_exponent": 50.0,
    "collective_libraries.rccl.channels.direct_link_saturation_exponent": 50.0,
    "collective_libraries.rccl.slice_bytes": "1 B",
    "links.topology": "full_mesh",
    "scale_out.nodes": 3,
    "scale_out.nics": 4,
    "scale_out.topology": "rails",
    "scale_out.nodes_per_leaf": 64,
    "scale_out.bandwidth": "10 GB/s",
    "scale_out.efficiency": 0.8,
    "scale_out.oversubscription": 1.0,
    "collective_libraries.rccl.channels.maximum": 12,
    **{f"collective_libraries.rccl.channels.default.{op}": 12 for op in OPERATIONS},
}
LATENCIES = (
    "gpu.dma_engines.latency",
    "gpu.dma_engines.copy_latency",
    "gpu.dma_engines.packet_time",
    "gpu.kernels.dispatch_latency",
    "gpu.kernels.completion_latency",
    "links.latency",
    "host.copy_time",
    "collective_libraries.rccl.launch_latency",
    "collective_libraries.rccl.protocols.simple.step_latency",
    "scale_out.latency",
    "scale_out.spine_latency",
    "scale_out.step_latency",
    "scale_out.post_time",
)
ANY = workload_of({"t": {"kind": "host", "time": "1 us"}})


def changed(node: Node, **settings: object) -> Node:
    """*node* with values set; a double underscore in a name is a dot of the path."""
    for path, value in settings.items():
        node, _ = set_value(node, ANY, path.replace("__", "."), value)
    return node


def _made() -> Node:
    node = load_node("teaching-cluster")
    for path, value in [*PLENTY.items(), *((path, "0 us") for path in LATENCIES)]:
        node, _ = set_value(node, ANY, path, value)
    return node


#: Three nodes of four GPUs. Links of 10 GB/s to each of 3 peers; a NIC of 10 x 0.8 = 8 GB/s for
#: each GPU.
NODE = _made()


def run(task: dict[str, Any], node: Node = NODE, fold: bool | None = None, **host: Any) -> Run:
    return run_of({"t": task}, node, host=host, trace=True, fold=fold)

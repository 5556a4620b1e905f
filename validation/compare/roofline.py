"""The time of a task alone from data sheets: the plain predictor of isolated runs.

``gemm``        the longer of FLOP / peak rate of its compute units, and operands and result once /
                peak bandwidth of the memory
``stream``      bytes / peak bandwidth of the memory; unknown with arithmetic beside
``collective``  bus bytes of a GPU / signalling rate of its links, all at once
``copy``        bytes / signalling rate of the link; within a GPU read and written at the peak of
                the memory

No launch, no latency, no efficiency: nothing here was fitted.
"""

from __future__ import annotations

from c3sim.models.memory import ARRAYS
from c3sim.specs.hardware import Node
from c3sim.specs.references import parse_cu_mask
from c3sim.specs.workload import DTYPE_BYTES, Collective, Copy, Gemm, StreamKernel, Workload


def roofline(node: Node, workload: Workload, name: str) -> float | None:
    """Seconds of task *name* alone; None for a kind that data sheets do not tell."""
    task = workload.tasks[name]
    if isinstance(task, Gemm):
        once = _gemm(node, workload, task)
    elif isinstance(task, StreamKernel) and not task.flops_per_byte:
        once = sum(ARRAYS[task.pattern]) * task.bytes * task.passes / node.gpu.hbm.bandwidth
    elif isinstance(task, Collective):
        once = _collective(node, task)
    elif isinstance(task, Copy) and task.executor != "nic":
        once = _copy(node, task)
    else:
        return None
    return once * task.repeat


def _gemm(node: Node, workload: Workload, task: Gemm) -> float:
    gpu = node.gpu
    stream = workload.streams.get(task.stream or "")
    cus = len(parse_cu_mask(stream.compute_units if stream else None, gpu.compute_unit_count))
    peak = cus * gpu.compute_units.flops_per_cycle[task.dtype] * gpu.clock.maximum
    flops = 2.0 * task.m * task.n * task.k * task.batch
    elements = task.m * task.k + task.k * task.n + task.m * task.n
    moved = elements * DTYPE_BYTES[task.dtype] * task.batch
    return max(flops / peak, moved / gpu.hbm.bandwidth)


def _link(node: Node) -> float:
    """B/s of all links of a GPU to one neighbour, or to the switch, one direction."""
    links = node.links
    return links.per_peer * (links.raw_bandwidth or links.bandwidth)


def _collective(node: Node, task: Collective) -> float:
    ways = {"full_mesh": node.gpus - 1, "ring": 2, "switch": 1}[node.links.topology]
    rounds = 2 if task.op == "all_reduce" else 1
    return rounds * task.size * (node.gpus - 1) / node.gpus / (ways * _link(node))


def _copy(node: Node, task: Copy) -> float:
    ends = {task.source, task.destination}
    if "host" in ends:
        return task.bytes / node.host.link_bandwidth
    if "peer" in ends:
        return task.bytes / _link(node)
    return 2 * task.bytes / node.gpu.hbm.bandwidth

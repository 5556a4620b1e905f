"""An iteration of one node, written for another: libraries, kernels and collectives mapped.

- A GEMM is of the first library of the other GPU, which chooses its tile; a collective of the first
  library of the other node, which chooses its channels. Both take what the models give there:
  how fast they were on the first node says nothing of other libraries.
- With b bytes and f FLOP of a kernel, B what memory gives and P the peak of its units, s = max(b /
  B, f / P) is what its work takes at least. A kernel of time t takes on the other node (')

      t s' / s  if s > t / 4,  else t,

  since kernels of which the work explains little are bound by latencies.
- A grid that fills the GPU once fills the other one; so many workgroups share a unit as before, as
  far as it has room.
- Collectives stay among as many GPUs. Shapes, order, host and waits are the trace's.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from c3sim.errors import InputError
from c3sim.importers.workloads.build import Built
from c3sim.models.memory import memory_given
from c3sim.spec.hardware import Gpu, Node

EXPLAINED = 0.25  # of a kernel's time: less of it, and the kernel is bound by something else


def translate(built: Built, node: Node, other: Node) -> None:
    """Write *built*, an iteration of *node*, for *other*; each guess is added to it. Raises
    InputError: groups that *other* cannot have.
    """
    tasks: dict[str, dict[str, Any]] = built.workload["tasks"]
    kept = 0
    for task in tasks.values():
        before = task.get("time")
        if task["kind"] == "gemm":
            _drop(task, "library", "macro_tile", "speed", "split_k")
        elif task["kind"] == "collective":
            _collective(task, node, other)
        elif task["kind"] == "kernel":
            _kernel(task, node.gpu, other.gpu)
            kept += before is not None and task["time"] == before
    _host(built.workload["host"], other)
    built.workload["node"] = other.name
    built.workload["source"] += f"; translated from {node.name} to {other.name}"
    for line in _lines(node, other, Counter(task["kind"] for task in tasks.values()), kept):
        built.add(line)


def _lines(node: Node, other: Node, counts: Counter[str], kept: int) -> list[str]:
    """The guesses in words."""
    gpu, scaled = other.gpu, counts["kernel"] - kept
    lines = [f"translated from {node.name} to {other.name}; there is no trace to compare with"]
    if counts["gemm"]:
        library = next(iter(gpu.gemm_libraries))
        lines.append(f"GEMMs are of {library}, its choice of tiles, the model's time")
    if counts["collective"]:
        library = next(iter(other.collective_libraries))
        lines.append(f"collectives are of {library}, its channels, among {node.ranks} GPUs")
    if scaled:
        lines.append(
            "kernels take as much more or less as the slower of their bytes and FLOP does"
            f" ({scaled})"
        )
    if kept:
        lines.append(f"kernels that latencies bind take what they took ({kept})")
    lines.append(
        f"the host is as fast as that of {node.name}, the power limit that of {gpu.name}'s file"
    )
    return lines


def _drop(task: dict[str, Any], *names: str) -> None:
    for name in names:
        task.pop(name, None)


def _collective(task: dict[str, Any], node: Node, other: Node) -> None:
    _drop(task, "backend", "channels", "algorithm", "protocol", "speed", "pipeline")
    group = task.get("group", node.ranks)
    if group > other.ranks or other.ranks % group:
        raise InputError(
            f"{other.name} has {other.ranks} GPUs, the trace's collectives are among {group};"
            " they must divide them",
            "--translate",
        )
    if group < other.ranks:
        task["group"] = group


def _kernel(task: dict[str, Any], gpu: Gpu, other: Gpu) -> None:
    units, others = gpu.compute_unit_count, other.compute_unit_count
    share = task.get("per_unit")
    if share is not None:
        task["per_unit"] = min(share, other.compute_units.waves)
    if "tiles" in task and task.get("workgroups") == (share or 1) * units:
        task["workgroups"] = min(task["tiles"], task.get("per_unit", 1) * others)
    if "time" not in task:
        return
    before, after = _least(task, gpu), _least(task, other)
    if before > EXPLAINED * task["time"]:
        task["time"] *= after / before


def _least(task: dict[str, Any], gpu: Gpu) -> float:
    """The time that the bytes and the FLOP of a kernel take at least [s]."""
    written: float = task.get("written", 0.0)
    both: float = task.get("read", 0.0) + written
    moving = both / memory_given(gpu, written / both) if both else 0.0
    flops: float = task.get("flops", 0.0)
    if not flops:
        return moving
    rates = gpu.compute_units.flops_per_cycle
    dtype = task.get("dtype", "bf16") if task.get("on") == "matrix" else "fp32"
    if dtype not in rates:
        raise InputError(f"{gpu.name} computes no {dtype}, which kernels of the trace do")
    return max(moving, flops / (rates[dtype] * gpu.compute_unit_count * gpu.clock.maximum))


def _host(host: dict[str, Any], other: Node) -> None:
    host.pop("power_share", None)
    if host.get("profile") not in other.host_profiles:
        host.pop("profile", None)

"""What a kernel waits for before its first workgroup and behind its last one."""

from __future__ import annotations

from typing import NamedTuple

from c3sim.specs.hardware import Kernels


class Latencies(NamedTuple):
    """s from its queue to a kernel's first workgroup, and from its last to the signal."""

    dispatch: float
    completion: float


def latencies_of(
    kernels: Kernels, *, first: bool, last: bool, over_memory: bool, gap: float | None = None
) -> Latencies:
    """Of a kernel that is the *first* or the *last* of a row of kernels back to back; *gap*: from
    the end of the kernel before it.
    """
    if gap is not None:
        return Latencies(max(0.0, gap - kernels.completion_latency), kernels.completion_latency)
    if kernels.back_to_back_latency is None:
        return Latencies(kernels.dispatch_latency, kernels.completion_latency)
    gap = kernels.back_to_back_latency + (kernels.memory_ramp if over_memory else 0.0)
    return Latencies(
        kernels.dispatch_latency if first else gap, kernels.completion_latency if last else 0.0
    )

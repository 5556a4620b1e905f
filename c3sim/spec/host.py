"""The processor that submits work: what its calls cost, the link to it, its memory."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from c3sim.spec.quantities import Bandwidth, Bytes, Positive, Time
from c3sim.spec.sourced import Hardware
from c3sim.spec.task import Operator


class Host(Hardware):
    """The processor that submits work, and the link to it."""

    launch_time: Time
    """host thread busy per kernel launch"""
    copy_time: Time
    """host thread busy per DMA command submitted one by one"""
    first_copy_time: Time = 0.0
    """host thread busy longer in its first call of the runtime for DMA commands, one or a batch:
    nothing of it is in its caches"""
    pull_time: Time = 0.0
    """host thread busy longer in a call of the runtime, for one copy or a batch, that reads from a
    peer"""
    batch_time: Time
    """host thread busy per batch of DMA commands, beside its commands"""
    batch_copy_time: Time
    """host thread busy per DMA packet of a batch"""
    packet_time: Time
    """host thread busy per DMA packet that a program writes itself"""
    doorbell_time: Time
    """host thread busy per doorbell of a DMA queue"""
    signal_time: Time
    """host thread busy to see one completion signal that it polls"""
    link_bandwidth: Bandwidth
    """usable host link rate, one direction, one GPU"""
    read_latency: Time
    """how long a DMA engine that copies from host memory waits for the first byte; it begins a copy
    from there when the reads of the one before have come back"""
    kernel_read_bandwidth: Bandwidth
    """what the compute units of one GPU read over the host link at most, all together"""
    memory_read_bandwidth: Bandwidth | None = None
    """what all GPUs of a node read from host memory at most, together; null: no limit"""
    memory_write_bandwidth: Bandwidth | None = None
    """the same for writing to it; both take from the same memory"""
    inline_bytes: Bytes | None = None
    """copies from host memory of no more than this, called for while their queue is idle, are
    written into the ring by the host thread; null: none"""
    inline_bandwidth: Bandwidth | None = None
    """how fast it writes them; null: at once"""


#: The calls of a framework's host. ``view``: no kernel (views, splits, transposes); ``copy``: parts
#: put side by side or in another order; ``bucket``: a gradient into its bucket and back; ``layer``:
#: a layer's own modules, between its operators.
HostCall = Literal[
    "linear",
    "attention",
    "normalisation",
    "elementwise",
    "dropout",
    "view",
    "copy",
    "embedding",
    "loss",
    "bucket",
    "layer",
]
OptimizerCall = Literal["adamw_foreach", "adamw_fused", "lamb_foreach", "lamb_fused"]


class CallTime(Hardware):
    """The time [s] for which a call keeps the host thread busy."""

    forward: Time
    """no gradients are wanted"""
    recorded: Time
    """forward, and the graph for gradients is built"""
    backward: Time = 0.0
    """its nodes of the backward pass, gradients of its parameters stored"""


class StepTime(Hardware):
    """The time [s] for which a step of an optimizer keeps the host thread busy."""

    step: Time
    """whatever its tensors"""
    tensor: Time
    """more per tensor"""


class HostProfile(Hardware):
    """Cost of calls on a host thread that runs a framework."""

    slowness: Positive = 1.0
    """how many times as long as here a host of unknown speed takes for each of these calls"""
    launch_time: Time
    """host thread busy per kernel launch, but for libraries that give a time of their own"""
    enqueue_time: Time
    """host thread busy per collective on compute units, of any library"""
    send_time: Time = 0.0
    """busy longer per peer of an all-to-all, which a framework's call makes of a send and a receive
    for each"""
    copy_time: Time = 0.0
    """busy longer than launch_time per copy, by a kernel or one by one by DMA engines: the
    framework's operator around it"""
    start_latency: Time
    """from the end of a call until an idle GPU takes up what it launched; the thread goes on"""
    collective_latency: Time = 0.0
    """longer than behind another kernel, from the end of what a collective's kernel waits for until
    it starts; of the framework's calls and not of the library's own loops"""
    event_times: dict[Operator, Time] = Field({})
    """in a loop of calls: busy behind the launches of a turn for what a script does around a kernel
    of that class, which nothing else waits for (events, streams to wait for); its end is not seen
    before; left out: nothing"""
    stream_time: Time = 0.0
    """in a loop of calls: busy longer before a launch in another stream than the one before it: the
    script's change of streams and its events around what it launched"""
    operator_times: dict[Operator, Time] = Field({})
    """busy per launch for an operator of that class in a model; left out: launch_time"""
    backward_time: Time = 0.0
    """busy longer per launch in a backward pass: the engine that runs it, hooks of gradients"""
    gather_time: Time = 0.0
    """busy longer around the all-gather of a layer's sharded weights: hooks, views, bookkeeping"""
    reduce_time: Time = 0.0
    """the same around the reduce-scatter of its gradients"""
    exchange_time: Time = 0.0
    """the same around a collective between operators of a layer that GPUs share: calls in between
    leave nothing of the collective's in the thread's caches"""
    call_times: dict[HostCall, CallTime] = Field({})
    """what calls of a model's operators cost; given: in place of operator_times and backward_time,
    launch_time for calls that it lacks"""
    optimizer_times: dict[OptimizerCall, StepTime] = Field({})
    """the same of a step of an optimizer"""

    def collective_call(self, op: str, ranks: int) -> float:
        """Seconds of the host thread for a call of collective *op* among *ranks*."""
        return self.enqueue_time + (ranks - 1) * self.send_time * (op == "all_to_all")

    def slowed(self, slowness: float | None = None) -> HostProfile:
        """The same calls on a host that takes *slowness* times as long for each; left out: the
        profile's own. How soon the GPU takes up what was launched does not depend on it.
        """
        by = self.slowness if slowness is None else slowness
        if by == 1:
            return self
        of_gpu = {"start_latency", "collective_latency"}
        times = self.model_dump(exclude={"slowness", *of_gpu})
        times = {name: _longer(each, by) for name, each in times.items()}
        return HostProfile(**times, **self.model_dump(include=of_gpu))


def _longer(times: Any, by: float) -> Any:
    """*times* [s], one or a mapping of them, times *by*."""
    if isinstance(times, dict):
        return {name: _longer(each, by) for name, each in times.items()}
    return by * times

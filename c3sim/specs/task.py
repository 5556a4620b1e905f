"""What every task of a workload may say, whatever its kind, and the types of numbers."""

from __future__ import annotations

from typing import Literal, Self

from c3sim.specs.base import Spec
from c3sim.specs.quantities import Pieces, Time

Dtype = Literal["bf16", "fp16", "fp8", "fp32", "fp64"]
DTYPE_BYTES: dict[str, int] = {"bf16": 2, "fp16": 2, "fp8": 1, "fp32": 4, "fp64": 8}

#: How a kernel posts packets: one lane all of them, or a lane for each queue its own.
Posting = Literal["serial", "lanes"]


class TaskBase(Spec):
    """Where a task stands among others."""

    stream: str | None = None
    """queue it runs in; left out: a queue of its own"""
    after: tuple[str, ...] = ()
    """tasks, tile groups or chunks that must have happened"""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    repeat: Pieces = 1
    """run this many times back to back"""
    launch_time: Time | None = None
    """host thread busy until it has launched this kernel, its own work before the call included;
    left out: the call of its library or of the host's profile"""
    launch_after: tuple[str, ...] = ()
    """tasks that the host thread waits for before it launches this one (a synchronisation)"""

    def at_any_time(self) -> Self:
        """It without what it waits for, in which pieces of equal work differ."""
        return self.model_copy(update={"after": (), "launch_after": ()})


class KernelBase(TaskBase):
    """A kernel that works in tiles."""

    awaits: tuple[str, ...] = ()
    """GEMMs and stores whose tiles its own wait for, by flags inside the kernel: a tile begins once
    the same share of theirs has finished. Its workgroups keep their places meanwhile"""


class EngineTask(TaskBase):
    """A task that DMA engines can do."""

    posted: Posting | None = None
    """engines only: by a workgroup of the kernel whose tiles it waits for (``after``), that which
    ends the last of them and does nothing else meanwhile (dma_engines.post_time): one packet after
    the other (serial), or a lane for each queue (lanes); left out: by the host, or a trigger"""

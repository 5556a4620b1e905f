"""GPUs of any shape, for tests of the dispatcher."""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.spec.hardware import Dies, Gpu
from c3sim.spec.reading.loading import load_node

TEACHING = load_node("teaching-4")


def gpu_of(dies: int, engines: Sequence[int], rule: str = "weighted_rotation") -> Gpu:
    """A GPU of that shape; a unit has 64 KiB of LDS, 2048 registers and 32 waves."""
    shape = Dies(count=dies, shader_engines=tuple(engines), dispatch=rule)
    return TEACHING.gpu.changed(dies=shape)

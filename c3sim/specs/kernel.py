"""A kernel of any kind, described by what it does to those that run beside it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from c3sim.specs.base import Spec
from c3sim.specs.cache_policy import CachePolicy
from c3sim.specs.quantities import Count, Fraction, Positive, Time, Unit, Workgroups
from c3sim.specs.task import Dtype, KernelBase

#: What a kernel does in a model; a step of the model is told in these classes.
Operator = Literal[
    "gemm", "attention", "normalisation", "elementwise", "embedding", "optimizer", "communication"
]
Moved = Annotated[float, Field(ge=0), Unit("B", "256 MiB")]


class Access(Spec):
    """Bytes that a kernel loads (or stores) once, and *again* more times."""

    bytes: Moved
    again: float = Field(0, ge=0)
    near: Moved | None = None
    """what the same workgroup touches between two uses"""
    far: Moved = 0.0
    """what all workgroups together touch between two uses; of an access with *near* that follows"""
    stores: bool = False


class Kernel(KernelBase):
    """Any kernel: its isolated time, its workgroups, what it moves and computes.

    With *time* it takes as long alone, and its bytes and FLOP say what it costs others. Without, it
    takes what the slower of its bytes and its FLOP takes.
    """

    kind: Literal["kernel"]
    operator: Operator = "elementwise"
    """its class, in which shares of a step are told"""
    time: Time | None = None
    """alone, from its first workgroup to its last, at the clock it has alone; left out: what its
    bytes and FLOP take"""
    workgroups: Workgroups | None = None
    """left out: one for each place on the GPU"""
    tiles: Count | None = None
    """pieces of work that its workgroups, which stay, take from a pool; left out: one each"""
    per_unit: Count | None = None
    """workgroups that share a compute unit; left out: as many as have room if each has 256 threads
    with 64 registers"""
    lds: Moved | None = None
    """of a workgroup; left out: an equal part with *per_unit*, none without"""
    read: Moved = 0.0
    """bytes that it loads"""
    written: Moved = 0.0
    """bytes that it stores"""
    hits: Literal["hbm", "cache", "l2"] = "hbm"
    """where its loads and stores end: in memory, in the memory-side cache, or in L2"""
    accesses: tuple[Access, ...] = ()
    """what it loads and stores instead, where its bytes are used again: caches serve what they
    find, by the policy of the kernel"""
    flops: float = Field(0, ge=0)
    """FLOP of the whole kernel"""
    dtype: Dtype = "bf16"
    """type of the matrix units' operands"""
    on: Literal["matrix", "vector"] = "vector"
    """units that do its FLOP; vector units work at the rate of fp32"""
    efficiency: Annotated[Positive, Field(le=1)] = 1.0
    """part of the peak of those units that it reaches alone"""
    stream_efficiency: Annotated[Positive, Field(le=1)] = 1.0
    """part of the rate at which a compute unit reads a stream, at which it moves its bytes"""
    dependent_loads: int = Field(0, ge=0)
    """loads of a workgroup that wait for each other; each takes the latency of memory"""
    clocked: Fraction | None = None
    """part of its time that follows the clock; left out: that of its FLOP against its bytes"""
    cache: CachePolicy = CachePolicy()

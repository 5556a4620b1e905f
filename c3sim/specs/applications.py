"""Kernels of applications by their shapes, and machines that a study of cache policies runs them
on.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from c3sim.specs.base import Spec
from c3sim.specs.quantities import Bandwidth, Bytes, Count, Extent, Frequency, Positive

#: What an application does; c3sim/experiments/subjects/applications.py says what it accesses.
ApplicationKind = Literal[
    "gemm", "composed", "activation", "pooling", "batch_norm", "softmax", "lrn", "fully_connected",
    "gru", "lstm",
]  # fmt: skip
Guess = Literal[
    "latency", "l1_ways", "asked", "together", "row_lines", "scattered", "l2_rate", "reached",
]  # fmt: skip
Interval = Annotated[tuple[Positive, Positive], Field(description="what it may be, SI")]


class Application(Spec):
    """One of the applications. *shape* by the letters of its kind: m n k of a product, n c h w of
    images, window and stride of pooling or of the neighbourhood over channels, hidden, batch and
    steps of a recurrent layer.
    """

    kind: ApplicationKind
    backward: bool = False
    dtype: Literal["fp32", "fp64"] = "fp32"
    shape: dict[str, Extent]
    source: str


class PlainMachine(Spec):
    """A machine of which only this is published."""

    compute_units: Count
    clock: Frequency
    flops_per_cycle: dict[Literal["fp32", "fp64"], Positive]
    """of a compute unit"""
    l1: Bytes
    l2: Bytes
    line: Bytes
    ways: Count
    """of L2"""
    memory: Bandwidth
    source: str


class PolicyMachines(Spec):
    """The *published* machine, *nodes* of files, and what is guessed of all of them."""

    published: PlainMachine
    nodes: tuple[str, ...] = ()
    guesses: dict[Guess, Interval]
    """latency [s] of memory; l1_ways; asked: requests in flight, of those that fill memory;
    together: written lines of a DRAM row that leave at once in eviction order; row_lines: lines of
    a row; scattered: part of the peak that writes without row hits reach; l2_rate: B of L2 for each
    B of memory; reached: part of the peak FLOP"""
    draws: Count = 64
    seed: int = Field(1, ge=0)

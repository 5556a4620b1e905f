"""Caches and memory of a GPU: part of hardware files."""

from __future__ import annotations

from typing import Literal

from c3sim.specs.quantities import (
    Bandwidth,
    Bytes,
    BytesPerCycle,
    Count,
    Exponent,
    Factor,
    Fraction,
    Positive,
    Time,
)
from c3sim.specs.sourced import Hardware


class L2(Hardware):
    """Second-level cache, one per die."""

    capacity: Bytes
    bandwidth: BytesPerCycle
    """bytes per cycle and die"""
    keeps_results: bool = False
    """whether what kernels store takes lines from what a GEMM reads again; update_cost of memory
    lets it pass by"""


class MemorySideCache(Hardware):
    """Memory-side cache (Infinity Cache), shared by all dies, DMA engines and peers."""

    capacity: Bytes
    bandwidth: Bandwidth


class Hbm(Hardware):
    """Memory stacks, as one pool of bandwidth."""

    capacity: Bytes
    bandwidth: Bandwidth
    """data sheet peak"""
    latency: Time
    """load that misses every cache"""
    saturation_exponent: Exponent
    """exponent p of the soft minimum of what compute units ask for and what the stacks give"""
    read_efficiency: Fraction
    """share of the peak that a pure read stream reaches"""
    mixed_efficiency: Fraction
    """share of the peak that an even mix of reads and writes reaches"""
    internal_rate: Positive | None = None
    """what units inside the stacks move at most, in times of bandwidth; left out: there are none"""
    first: Literal["nobody", "engines"] = "nobody"
    """whose requests are served before those of compute units; engines: but reads from a peer, of
    which they keep too few under way"""
    update_cost: Factor = 0.0
    """bytes of bandwidth that adding a byte to what lies in memory takes, by the memory itself
    (op-and-store); 0: memory cannot, whoever adds reads it first"""
    communication_threshold: Count | None = None
    """requests of compute in the queue from which on those of DMA engines wait; left out: nobody
    goes first"""
    starvation_limit: Time = 0.0
    """how long such a request waits at most; 0: for ever"""
    request: Bytes = 64.0
    """bytes of one request, of those that communication_threshold counts"""

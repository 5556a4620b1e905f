"""Cache policies: hints of a task for its lines, and their effect on a GPU."""

from __future__ import annotations

from typing import Literal

from c3sim.spec.base import Spec
from c3sim.spec.quantities import Bytes, BytesPerCycle, Count, Fraction, Positive
from c3sim.spec.sourced import Hardware

#: A level's treatment of a line that misses: it takes it like any other (allocate), not at all
#: (bypass), as one of the first to leave (stream), or as one of the last (keep).
Policy = Literal["allocate", "bypass", "stream", "keep"]
#: The end of a store: in the cache, until the line leaves (cached), as one of the first (stream) or
#: last to leave (keep), or when the kernel ends (released); in the cache and beyond
#: (write_through); beyond (uncached).
Stores = Literal["cached", "released", "stream", "keep", "write_through", "uncached"]


class TransferPolicy(Spec):
    """Lines that a copy or a collective goes over, by level; left out: allocate."""

    l2: Policy | None = None
    memory_side: Policy | None = None

    def at(self, level: Literal["l2", "memory_side"]) -> Policy:
        return (self.l2 if level == "l2" else self.memory_side) or "allocate"


class CachePolicy(TransferPolicy):
    """Lines that a kernel loads, by level, and its stores."""

    l1: Literal["allocate", "bypass"] | None = None
    """left out: as the model of the kernel has it, past L1"""
    stores: Stores = "cached"


class OperandPolicy(TransferPolicy):
    """Lines of a GEMM: of all it goes over by level, of each operand at the last cache that all
    compute units share.
    """

    a: Policy | None = None
    b: Policy | None = None

    def operands(self) -> tuple[Policy | None, Policy | None]:
        return self.a, self.b


class CachePolicies(Hardware):
    """Effect of policies in the caches of a GPU."""

    l1_capacity: Bytes
    """first-level cache of a compute unit"""
    l1_bandwidth: BytesPerCycle
    """bytes that hit there, per cycle and unit"""
    line: Bytes
    """bytes of a line of the last cache that all compute units share"""
    ways: Count
    """lines of a set there"""
    streaming_share: Fraction
    """part of a cache that lines hold which are told to leave first"""
    protected_share: Fraction
    """part of the last shared cache that can be set aside for lines told to stay"""
    scattered_writes: Fraction
    """part of the memory's peak that writes reach of which none hits an open row"""
    sweep_share: Fraction = 1.0
    """part of the last shared cache within which a sweep that goes round finds its lines again"""
    row_lines: Count | None = None
    """lines of a row of DRAM"""
    evicted_together: Positive | None = None
    """written lines of one row that leave at once, in order of eviction; left out, or without
    row_lines: what memory's efficiencies were measured with"""
    allocation_bypass: bool = False
    """a miss that finds every line of its set pending goes past the cache instead of waiting"""
    rinsing: bool = False
    """a written line that leaves takes the others of its DRAM row with it"""
    reuse_predictor: bool = False
    """what a kernel's access does not find again in the last shared cache goes past it"""
    adaptive: bool = False
    """all three"""

    @property
    def waits(self) -> bool:
        """True if a miss waits where every line of its set is pending."""
        return not (self.allocation_bypass or self.adaptive)

    @property
    def rinses(self) -> bool:
        return self.rinsing or self.adaptive

    @property
    def predicts(self) -> bool:
        return self.reuse_predictor or self.adaptive

"""What a flow of the fluid layer asks of a GPU, and what it declares to its rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from c3sim.machine.energy import Bill
from c3sim.machine.state import Declared, Rate
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_policy import Insertion
from c3sim.models.capacity import Capacity
from c3sim.models.insertion import Lines


class FlowTags(NamedTuple):
    """What a flow declares to the rules of clock, memory and energy; static, no solved rate."""

    task: str
    gpu: int
    declared: Declared  # to the state of its GPU
    kind: int  # a number for all that declare the same
    bound: int  # a number for its task and the capacity that lets no more of it through
    reads: float  # B/s of HBM
    writes: float  # B/s of HBM
    inserts: Insertion  # B/s into the last shared cache
    touches: float  # B/s of lines that stay in it
    lines: Lines  # what it does to those of that cache
    bill: Bill
    compute_units: float
    traffic: Traffic
    waits: bool = False  # whether its misses wait for lines of it


class Asked(NamedTuple):
    """What a flow asks of *gpu*, whoever it is for: flows of equal pieces and layers ask for the
    same.
    """

    gpu: int
    cap: float | Rate  # units/s at most; a function of the state follows memory
    traffic: Traffic
    compute_units: float = 0.0
    share: float = 1.0  # of what its kernel has running, so that parts declare parts
    sharers: int = 1  # flows like it on its ports; memory sees only what its part of them takes
    first: bool = False  # memory serves it before what compute units ask for,
    behind: bool = False  # or after that
    clocked: bool = True  # whether *cap* follows the clock as well


class Given(NamedTuple):
    """What follows from what was asked; *tags* are of no task yet."""

    cap: float | Callable[[Any], float]
    weight: float
    amounts: tuple[tuple[Capacity, float], ...]
    narrowest: Capacity | None  # what lets the least of it through
    tags: FlowTags

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
    """All that decides what a flow declares and draws on (:meth:`Machine.flow`), but whose it is:
    flows of equal pieces and layers ask for the same.
    """

    gpu: int
    group: str  # that has what is private to itself; "": nothing is
    lines: Lines
    work: float  # of an engine, which takes commands for it; of all others 0
    cap: float | Rate
    traffic: Traffic
    compute_units: float
    share: float
    sharers: int
    first: bool
    behind: bool
    clocked: bool


class Given(NamedTuple):
    """What follows from what was asked; *tags* are of no task yet."""

    cap: float | Callable[[Any], float]
    weight: float
    amounts: tuple[tuple[Capacity, float], ...]
    narrowest: Capacity | None  # what lets the least of it through
    tags: FlowTags

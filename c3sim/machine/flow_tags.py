"""What a flow of the fluid layer declares to the rules of a GPU."""

from __future__ import annotations

from typing import NamedTuple

from c3sim.machine.energy import Bill
from c3sim.machine.state import Declared
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_policy import Insertion
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

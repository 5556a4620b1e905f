"""What a flow of the fluid layer declares to the rules of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from c3sim.machine.energy import Bill
from c3sim.machine.holding import StoreLoad
from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_policy import Insertion
from c3sim.models.capacity import Capacity
from c3sim.models.power import Load


class FlowTags(NamedTuple):
    """What a flow declares to the rules of clock, memory and energy; static, no solved rate."""

    task: str
    gpu: int
    rate: Callable[[GpuState], float]  # units/s that it asks for in a state
    full: float  # the same at full speed
    through_ports: float  # units/s that ports let through to memory
    alone: float  # units/s with all capacities to itself, and the one that
    narrowest: Capacity | None  # lets no more through
    load: Load
    reads: float  # B/s of HBM
    writes: float  # B/s of HBM
    inserts: Insertion  # B/s into the last shared cache
    memory_time: float  # s of all that memory gives, per unit
    memory_first: float  # share of all that memory gives that it takes before compute units
    l2_time: float  # the same of the L2s at full clock, for what they serve themselves
    bill: Bill
    compute_units: float
    traffic: Traffic
    stores: StoreLoad | None = None
    behind: bool = False  # whether memory serves compute units before it
    clocked: bool = True  # whether the rate follows the clock

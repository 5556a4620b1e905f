"""Rate at which the workgroups on one compute unit go over memory.

They have F bytes of loads under way: what their threads ask for, and no more than the lines of the
first-level cache that shared memory leaves. Loads wait for the latency L of memory and come through
the unit's port at l bytes per cycle: F bytes take

    R = (L^p + (F / l)^p)^(1/p)      L = F0 / r

cycles, where r is the rate of a unit that reads with F0 bytes under way. On the way out are what is
stored, s bytes for each byte that is loaded, w bytes per cycle, and a request for each line of b
bytes, a cycle each. A kernel that stores has both ways to go,

    W = F (s / w + 1 / b)      (R^u + W^u)^(1/u)

cycles; the requests of one that only loads leave as answers come in. Stores are posted: they wait
for nothing but their way out, and under load only R is longer (models/memory.py). Where threads ask
for more than there are lines, stores stand in one queue behind loads that wait for a line: then all
of it is longer. Memory takes no more loads than those of all units at r: kernels on all of them
read as fast with few lines as with all, and are as slow beside others.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from c3sim.models.links import soft_minimum
from c3sim.spec.hardware import ComputeUnits, Gpu


@dataclass(frozen=True, slots=True)
class Way:
    """Bytes per cycle that a workgroup moves over memory that nobody else uses: as its *loads*
    arrive; as they and its stores get *out*, infinite where it stores nothing; the *most* that
    memory takes, infinite where it loads nothing.
    """

    loads: float
    out: float = inf
    most: float = inf
    softness: float = inf  # exponent of the soft minimum of *loads* and *out*

    @property
    def posts(self) -> bool:
        """True if its rate falls by less than what memory gives to loads."""
        return self.out < inf and self.loads < inf

    def at(self, memory: float) -> float:
        """Bytes per cycle where loads get the share *memory* of what they ask for."""
        if self.out == inf:
            return min(self.loads, self.most) * memory
        if self.loads == inf:
            return self.out * memory
        both = soft_minimum(self.loads * memory, self.out, self.softness)
        return min(both, self.most * memory)


@dataclass(frozen=True, slots=True)
class Company:
    """What workgroups of other kernels ask of a unit's port: bytes of *loads* under way, bytes
    *stored* in the time of these, and their *waves*.
    """

    loads: float = 0.0
    stored: float = 0.0
    waves: float = 0.0

    def beside(self, other: Company, times: float) -> Company:
        """Both together, the *other* so many *times*."""
        return Company(
            self.loads + times * other.loads,
            self.stored + times * other.stored,
            self.waves + times * other.waves,
        )


NOBODY = Company()

#: Bytes that a load takes a line of, where nobody says (CUDA C++ Programming Guide).
LINE = 128.0


def under_way(gpu: Gpu, asked: float, claimed: float) -> float:
    """Bytes of loads under way on a unit whose workgroups ask for *asked*; *claimed*: LDS of the
    unit that is claimed, for which it sets aside the next amount that it can.
    """
    port = gpu.compute_units.port
    assert port is not None
    if claimed:
        claimed = next((amount for amount in port.set_aside if amount >= claimed), claimed)
    l1 = gpu.cache_policies.l1_capacity if gpu.cache_policies else gpu.compute_units.lds
    return min(asked, max(port.under_way, l1 - claimed))


def way_of_loads(units: ComputeUnits, loads: float) -> Way:
    """The way of a unit that loads into LDS with *loads* bytes under way, however many lines L1
    has: they wait for memory, and no longer than its port is full.
    """
    port = units.port
    assert port is not None
    waiting = units.read_bandwidth * loads / port.under_way
    return Way(waiting, units.l2_bandwidth, softness=port.exponent)


def lines_beside(lines: float, asked: float, waves: float, company: Company) -> tuple[float, float]:
    """Bytes of *lines* that a kernel which has *asked* for so many by its *waves* and its *company*
    have: all that they ask for, or of too few each as many as it has waves that wait for one.
    """
    if asked + company.loads <= lines:
        return asked, company.loads
    own = min(asked, max(lines * waves / (waves + company.waves), lines - company.loads))
    return own, min(company.loads, lines - own)


def way(
    units: ComputeUnits, loads: float, stored: float, asked: float = 0.0, company: Company = NOBODY
) -> Way:
    """The way of a unit with *loads* bytes under way of those that its threads have *asked* for;
    *stored*: bytes stored for each byte loaded, of a kernel that loads nothing infinite. What its
    *company* loads and stores passes as well, both ways.
    """
    port = units.port
    assert port is not None
    if stored == inf:
        return Way(inf, port.store_bandwidth)
    latency = port.under_way / units.read_bandwidth
    through = (loads + company.loads) / units.l2_bandwidth
    p = port.exponent
    least = max(latency, through)
    turn = least * ((latency / least) ** p + (through / least) ** p) ** (1.0 / p)
    moved = (1.0 + stored) * loads
    if not stored:
        return Way(moved / turn)
    out = (loads * stored + company.stored) / port.store_bandwidth
    out += (loads + company.loads) / LINE
    if asked > loads:
        return Way(soft_minimum(moved / turn, moved / out, port.both_ways))
    return Way(moved / turn, moved / out, softness=port.both_ways)

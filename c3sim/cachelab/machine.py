"""The caches of a GPU as the laboratory has them: sets and ways, banks with their miss queues,
channels of memory with their rows.

What files of GPUs say (capacities, rates, latencies, units) comes from them; what only lines need
stands in machines.yaml beside this file, with its sources.

Addresses: chunks of ``interleave`` lines go round the channels, shifted by one each time round; a
channel's chunks fill its rows one behind the other. A channel belongs to one bank of each L2.

An L2 in parts (Hopper's has two): each line belongs to one of them, by its channel; a unit asks the
part beside it, which keeps a copy of what it fetches from another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import gcd, log2
from typing import Any, NamedTuple

import numpy as np
import yaml

from c3sim.cachelab.stream import Array, Grain
from c3sim.errors import InputError
from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.task import Dtype

MOST_LINES_UNDER_WAY = 64  # of a workgroup
PACE = (
    *("clock", "window", "l1_latency", "l2_latency", "cache_latency", "memory_latency"),
    *("l2_cycles", "memory_cycles", "row_cycles", "join_time"),
)
POWERS = ("l1_ways", "row_lines", "queue", "interleave")  # of two


class Level(NamedTuple):
    """A cache: sets and ways."""

    sets: int
    ways: int

    @classmethod
    def of(cls, capacity: float, line: int, ways: int, multiple: int = 1) -> Level:
        """The sets of *capacity* bytes, a multiple of *multiple* of them."""
        return cls(max(1, round(capacity / line / ways / multiple)) * multiple, ways)


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """Caches and memory of one GPU; times in cycles."""

    name: str
    clock: float  # [Hz]
    units: int
    dies: int  # each with an L2
    parts: bool = False  # L2s of the dies are parts of one, and copy each other's lines
    oldest_first: bool = False  # a unit serves its oldest workgroup first, else in turn
    residents: int  # workgroups on a unit
    window: int  # lines under way of a workgroup
    line: int  # bytes
    sector: int  # bytes, that are asked for
    lanes: int = 0  # of a wave, which asks for its own sectors; 0: a workgroup asks at once
    l1: Level  # of a unit
    l2: Level  # of a die
    memory_side: Level | None
    shared: float  # bytes that the last shared cache has for its users
    written_ways: int  # of a set of L2 that may hold written lines
    banks: int  # of an L2
    channels: int
    queue: int  # misses under way of a bank
    interleave: int  # lines
    row_lines: int
    row_banks: int  # of a channel
    flops: float  # of a unit in a cycle
    l1_latency: float
    l2_latency: float
    cache_latency: float  # of the memory-side cache
    memory_latency: float
    l2_cycles: float  # of a bank for a line
    memory_cycles: float  # of a channel
    row_cycles: float  # to close a row and open another
    coalescers: int = 1  # of a die, between units and banks: loads are joined there
    join_time: float = 0.0  # for which a load that passes L1 takes others of its sectors along

    @property
    def classes(self) -> int:
        """Classes of lines of which each has whole sets, banks and channels of its own."""
        return gcd(self.channels, self.l1.sets, self.banks)

    @property
    def of_die(self) -> int:
        """Units of a die."""
        return -(-self.units // self.dies)

    @property
    def ways(self) -> tuple[int, int, int]:
        """Ways of L1, L2 and the memory-side cache; 0: there is none."""
        return self.l1.ways, self.l2.ways, self.memory_side.ways if self.memory_side else 0

    @property
    def grain(self) -> Grain:
        return Grain(self.line, self.sector, self.lanes)

    def paced_as(self, other: Machine) -> Machine:
        """The same caches with the rates, latencies and lines under way of *other*."""
        return replace(self, **{name: getattr(other, name) for name in PACE})

    def channel(self, line: Array) -> Array:
        """Channel of each *line*."""
        chunk = line // self.interleave
        return np.asarray((chunk + chunk // self.channels) % self.channels)


@cache
def _lines() -> Mapping[str, Mapping[str, Any]]:
    text = files("c3sim.cachelab").joinpath("machines.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(text)
    return found


def machines() -> list[str]:
    """GPUs whose lines are known."""
    return sorted(_lines())


def lines_of(gpu: str, guesses: Mapping[str, float] | None = None) -> dict[str, float]:
    """Entries of machines.yaml on lines of *gpu*; *guesses* replace it. Raises InputError: it
    says nothing.
    """
    if gpu not in _lines():
        raise InputError(f"no lines are known of {gpu}; known: {', '.join(machines())}", "node")
    values = {name: float(entry["value"]) for name, entry in _lines()[gpu].items()}
    values |= {name: value for name, value in (guesses or {}).items() if name in values}
    return {
        name: 2.0 ** round(log2(value)) if name in POWERS else value
        for name, value in values.items()
    }


def machine_of(
    node: Node, dtype: Dtype = "fp32", guesses: Mapping[str, float] | None = None
) -> Machine:
    """The GPU of *node*. Raises InputError: machines.yaml or its file does not say enough."""
    gpu, values = node.gpu, lines_of(node.gpu.name, guesses)
    policies, units, clock = gpu.cache_policies, gpu.compute_units, gpu.clock.maximum
    if policies is None:
        raise InputError(f"{gpu.name} gives no gpu.cache_policies", "node")
    line, residents, channels = (int(values[each]) for each in ("line", "residents", "channels"))
    side, parts = gpu.memory_side_cache, _parts(gpu.l2.copies)
    share = policies.sweep_share if side is None and parts == 1 else 1.0  # of the last shared cache
    ways, banks = int(values["l2_ways"]), int(values["banks"]) // parts
    under_way = units.read_bandwidth * gpu.hbm.latency * clock / line / residents
    l1 = policies.l1_capacity, line, int(values["l1_ways"]), int(values["l1_sets_multiple"])
    return Machine(
        name=gpu.name,
        clock=clock,
        units=gpu.compute_unit_count,
        dies=gpu.dies.count * parts,
        parts=parts > 1,
        oldest_first=bool(values["oldest_first"]),
        residents=residents,
        window=max(1, min(MOST_LINES_UNDER_WAY, round(under_way))),
        line=line,
        sector=int(values["sector"]),
        lanes=int(values["lanes"]),
        l1=Level.of(*l1),
        l2=Level.of(gpu.l2.capacity * share / parts, line, ways, banks),
        memory_side=Level.of(side.capacity, line, policies.ways, channels) if side else None,
        shared=gpu.shared_cache,
        written_ways=max(1, round(values["written_share"] * ways / share)),
        banks=banks,
        coalescers=max(1, round(values["coalescers"] / gpu.dies.count / parts)),
        channels=channels,
        queue=int(values["queue"]),
        interleave=int(values["interleave"]),
        row_lines=int(values["row_lines"]),
        row_banks=int(values["row_banks"]),
        flops=units.flops_per_cycle[dtype],
        **_cycles(gpu, values),
    )


def _parts(copies: float) -> int:
    """Parts of an L2 that keeps each line *copies* times: it lies in the part that it belongs to,
    and, asked for beside any part alike, in another one in (parts - 1) / parts of the cases.
    """
    return max(1, round(1.0 / (2.0 - copies))) if copies < 2.0 else 1


def _cycles(gpu: Gpu, values: Mapping[str, float]) -> dict[str, float]:
    """Latencies, and what banks and channels take for a line."""
    clock, side, line = gpu.clock.maximum, gpu.memory_side_cache, values["line"]
    of_channel = values["channels"] * line * clock
    return {
        "l1_latency": values["l1_latency"] * clock,
        "l2_latency": values["l2_latency"] * clock,
        "cache_latency": (values["cache_latency"] if side else 0.0) * clock,
        "memory_latency": gpu.hbm.latency * clock,
        "l2_cycles": values["banks"] * line / gpu.l2.bandwidth,
        "memory_cycles": of_channel / (gpu.hbm.bandwidth * gpu.hbm.read_efficiency),
        "row_cycles": values["row_time"] * clock,
        "join_time": values["join_time"] * clock,
    }

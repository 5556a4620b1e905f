"""The kernel of lesson 11, and a small GPU whose lines are followed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import c3sim
from c3sim.cachelab.machine import Level, Machine, machine_of
from c3sim.cachelab.nests import Program, program_of
from c3sim.cachelab.stack import distances
from c3sim.cachelab.stream import Grain
from c3sim.spec.study import Application

if TYPE_CHECKING:
    from c3sim.cachelab.laboratory import Counts

SHAPE = {"n": 8, "c": 16, "h": 32, "w": 32, "window": 5}
UNITS, WAYS, SETS = 4, 16, 128  # an L2 of 2048 lines
LINE = 128  # bytes


@cache
def kernel() -> Program:
    """A normalisation over five channels: 32 workgroups, each slides over 16 channels."""
    return program_of(Application(kind="lrn", shape=SHAPE, source="lesson 11"))


@cache
def gpu(workgroups: int) -> Machine:
    """Four units with *workgroups* at once, in turn; lines of 128 B, hardly any L1, one L2."""
    whole = machine_of(c3sim.load_hardware("h200-8").node)
    return replace(
        whole,
        units=UNITS,
        dies=1,
        parts=False,
        oldest_first=False,
        sector=LINE,
        residents=workgroups // UNITS,
        window=8,
        l1=Level(1, 1),
        l2=Level(SETS, WAYS),
        written_ways=WAYS,
        banks=4,
        channels=8,
    )


@cache
def counts(policy: str, workgroups: int) -> Counts:
    """Bytes of the kernel by place, on that GPU."""
    from c3sim.cachelab.laboratory import Laboratory  # numba, where it is installed

    return Laboratory(kernel(), gpu(workgroups), most=10**9).counts(policy)


@cache
def distance(stores: bool) -> int:
    """Lines that a workgroup touches between two loads of one; with *stores*, those as well."""
    stream = kernel().launches[0].stream(Grain(LINE, LINE))
    one = slice(stream.first[0], stream.first[1])
    steps = zip(stream.line[one], stream.code[one], strict=True)
    kept = [number for number, what in steps if stores or not what % 2]
    found = [each for each in distances(kept) if each is not None]
    return max(set(found), key=found.count)


def most_workgroups(stores: bool) -> int:
    """Workgroups whose lines between two loads fit into the L2 together."""
    return WAYS * SETS // (distance(stores) + 1)

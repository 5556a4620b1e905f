"""Counts of the laboratory for the fluid model's kernels: bytes by place for several shares of the
last cache that all compute units share, row misses and stalls.

Memory's efficiencies have been measured with streams. So a row miss counts as one beyond those of
a stream with as many writes, in the same laboratory, as that goes on: with r the part that hits its
row, and r_0 that of the stream,

    row misses = (r_0 - r) / r_0,    r_0 = r_read + (r_copy - r_read) 2 min(w, 1 - w)

for a part w of writes. Of a machine whose peak is all that is known, r_0 = r_read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from c3sim.cachelab.laboratory import SAMPLES, Counts, Laboratory
from c3sim.cachelab.machine import Level, Machine
from c3sim.cachelab.nests import GROUP, VECTOR, Program
from c3sim.cachelab.stream import Launch
from c3sim.spec.task import Served

OF_GROUP = GROUP * VECTOR * 4  # bytes that a workgroup of a stream reads in one piece
OVER = 2  # times the last cache that a stream goes over before it is counted, once more
ENOUGH = 64e6  # bytes of a cache, of which a larger one only takes longer
APART = 1 << 32  # bytes between what a stream reads and what it writes


def served(
    program: Program,
    machine: Machine,
    policy: str,
    *,
    shares: Sequence[float] = (1.0,),
    streams_known: bool = True,
    samples: int = SAMPLES,
) -> tuple[Served, ...]:
    """Bytes of *program* that caches serve under *policy*, by each of *shares* of the last shared
    cache. *streams_known*: memory's efficiencies have been measured with streams of reads, copies.
    """
    laboratories = (Laboratory(program, with_share(machine, s), samples=samples) for s in shares)
    return tuple(served_by(each, policy, streams_known=streams_known) for each in laboratories)


def served_by(laboratory: Laboratory, policy: str, *, streams_known: bool = True) -> Served:
    """Bytes of the program of *laboratory* that caches serve under *policy*; as :func:`served`."""
    counts = laboratory.counts(policy)
    return served_of(counts, laboratory.machine, policy, streams_known=streams_known)


def with_share(machine: Machine, share: float) -> Machine:
    """*machine* with a *share* of its last shared cache."""
    machine = replace(machine, shared=machine.shared * share)
    if machine.memory_side is not None:
        return replace(machine, memory_side=_part(machine.memory_side, share, machine.channels))
    return replace(machine, l2=_part(machine.l2, share, machine.banks))


def _part(level: Level, share: float, multiple: int) -> Level:
    return Level(max(1, round(level.sets * share / multiple)) * multiple, level.ways)


def served_of(
    counts: Counts, machine: Machine, policy: str, *, streams_known: bool = True
) -> Served:
    """*counts* as a kernel takes them. What is left in lines at the end is written as well."""
    written = counts.written + counts.left
    moved = counts.read + written
    reading, copying = row_hits_of_streams(machine)
    share = written / moved if moved else 0.0
    mixed = 2.0 * min(share, 1.0 - share) if streams_known else 0.0
    usual = reading + (copying - reading) * mixed
    return Served(
        held=machine.shared,
        l1=counts.l1,
        l2=counts.l2 + counts.joined + max(0.0, counts.stored - written),
        cache=counts.cache,
        read=counts.read,
        written=written,
        inserted=min(counts.inserted, moved),
        row_misses=max(0.0, 1.0 - counts.row_hits / usual),
        stalls=min(0.99, counts.stalls),
        source=source_of(counts, machine, policy),
    )


def source_of(counts: Counts, machine: Machine, policy: str) -> str:
    """Source of *counts*, and how far a sample may be from the whole."""
    near = f"hits within {100 * counts.error:.2f} points, bytes within {counts.bytes_error:.1%}"
    once = "" if counts.samples > 1 else " in one order of workgroups"
    sample = f"; {near}{once}" if counts.part < 1.0 else "; all lines"
    return f"cache laboratory, {machine.name}, {policy}{sample}"


@lru_cache(maxsize=64)
def row_hits_of_streams(machine: Machine) -> tuple[float, float]:
    """Parts of the lines that hit their row: of a stream of reads, and of one of copies, as they go
    on: what they meet in the last cache is theirs. Of a large cache a part stands for it.
    """
    machine = with_share(machine, min(1.0, ENOUGH / machine.shared))
    rows = []
    for copies in (False, True):
        bytes_of_group = OF_GROUP * (2 if copies else 1)
        of_cache = round(machine.shared / bytes_of_group)
        filling, counted = (
            _stream(OVER * of_cache * part, (OVER - part) * of_cache, copies) for part in (0, 1)
        )
        program = Program((filling, counted), (0.0, 1.0))
        rows.append(Laboratory(program, machine).counts("cache_rw").row_hits)
    return rows[0], rows[1]


def _stream(first: int, workgroups: int, copies: bool) -> Launch:
    """*workgroups* of a kernel that reads, or *copies*, a piece each, from the *first* on."""
    group, launch = np.arange(workgroups), Launch("stream", workgroups)
    for order, store in enumerate((False, True) if copies else (False,)):
        begin = order * APART + (first + group) * OF_GROUP
        launch.touch(group, order, begin, OF_GROUP, store=store, phase=order)
    return launch

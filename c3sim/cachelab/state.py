"""State of the loops: numbers of the machine, and arrays of caches, queues, channels.

Where a line is: its channel, its place among those of the channel, its set in a cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from c3sim.cachelab.stream import Array
from c3sim.engine.compiled.table import leaf

# Policies, as bits.
L1, L2, STORES, NO_WAIT, RINSE, PREDICT = 1, 2, 4, 8, 16, 32
# Counts. SECTORS: of the access under way; LOADS, STORED and hits of L1 and L2 are sums of them.
LOADS, STORED, L1_HITS, L2_LOAD_HITS, L2_STORE_HITS, SIDE_HITS, READS, WRITES_OUT = range(8)
READ_ROWS, WRITE_ROWS, IDLE, UNIT_IDLE, WAITED, QUEUED, PASSED, FILLED = range(8, 16)
LEFT_CLEAN, LEFT_WRITTEN, RINSED, CLEANED, SIDE_FILLED, SIDE_LEFT, STAMP = range(16, 23)
COPIED, SECTORS, JOINED, COUNTS = 23, 24, 25, 26
WRITES = 32  # of a channel that gather
JOINING = 64  # loads on their way to a bank that others may go with
RECENT = 4  # rows of a bank of DRAM that are remembered
BURST = 4  # lines that a workgroup starts at once
TRUSTED, LEARNED, SURE = 2, 4, 7  # counters of the predictor: least that takes lines, start, most
LEADERS = 16
NEVER = 1 << 30  # more than there are instructions
NONE = -1
NOBODY = 1 << 40  # younger than any workgroup


class Settings(NamedTuple):
    """Numbers of the machine that the loops read; see :class:`c3sim.cachelab.machine.Machine`."""

    policy: int
    leaving: int  # instructions from this one on bring lines that are first to leave
    dies: int
    parts: bool  # L2s of the dies are parts of one: a line belongs to one of them
    units: int
    of_die: int  # units
    oldest_first: bool  # the order of a unit's workgroups
    slots: int
    window: int
    classes: int
    l1_sets: int
    l2_sets: int
    side_sets: int
    written_ways: int
    banks: int
    channels: int
    queue: int
    interleave: int
    row_lines: int
    row_banks: int
    l1_latency: float
    l2_latency: float
    cache_latency: float
    memory_latency: float
    l2_cycles: float
    memory_cycles: float
    row_cycles: float
    join_time: float
    coalescers: int  # of a die


class State(NamedTuple):
    """Caches, queues and channels between two accesses: arrays by quantity, then by thing."""

    l1: Array  # set x CACHE_LINES x way, of 32 bits: what an access looks at lies side by side
    l2: Array
    side: Array
    l1_ready: Array  # set x way: when the miss under way is over
    l2_ready: Array
    side_ready: Array
    unit: Array  # when each starts its next line
    bank: Array  # of BANK_LINES x bank
    under_way: Array  # bank x queue: when each miss is over
    channel: Array  # of CHANNEL_LINES x channel
    gathered: Array  # channel x WRITES: places
    rows: Array  # ROW, READY_OF_ROW x channel x bank of DRAM x RECENT
    row_banks: Array  # FREE, NEXT x channel x bank of DRAM
    joining: Array  # coalescer and bank x JOIN_LINES x JOINING: loads that others may go with
    trust: Array  # level x instruction
    counts: Array


class Slots(NamedTuple):
    """Places of workgroups on units, those of a unit side by side, and what each has under way."""

    key: Array  # when each goes on
    turn: Array  # when one of the places that take turns together goes on
    heap: Array  # of those
    at: Array  # of SLOT_LINES x slot
    ring: Array  # slot x window: when each line under way is there
    following: Array  # of each die: the workgroup that starts next
    units: Array  # in the order in which they get their first workgroups


# Quantities of a way of a cache (USED: the last access; CODE: the instruction that brought it,
# until it is found again; THERE: sectors of a line of L1). WRITTEN: HERE, or a COPY of what another
# part of L2 has.
LINE, USED, CODE, WRITTEN, THERE, CACHE_LINES = range(6)
NEVER_USED = 2**31 - 1  # more than the accesses of a program
HERE, COPY = 1, 2
FREE, NEXT, BANK_LINES = range(3)  # of a bank,
# of a load that others may go with, beside LINE: until when, when it is there, and its sectors;
UNTIL, READY, MASK, JOIN_LINES = range(1, 5)
# of a channel, beside FREE (lines read and written; sectors loaded, and found in L1 or L2);
GATHERING, MOVED, LOADED, FOUND, CHANNEL_LINES = range(1, 6)
# of a row:
ROW, READY_OF_ROW = 0, 1
POSITION, END, PHASE, PLACE, LATEST, AGE, SLOT_LINES = range(7)  # of a slot


@leaf
def wide(number: Any) -> int:
    """*number* in 64 bits, as all others: loops are compiled for one kind of numbers."""
    return int(np.int64(number))


@leaf
def line_of(cache: Array, index: int, way: int) -> int:
    """The line that a way of *cache* has."""
    return wide(cache[index, LINE, way])


@leaf
def found_so_far(s: State) -> float:
    """Sectors that loads have found in L1 or L2, or on their way from there."""
    return float(s.counts[L1_HITS] + s.counts[L2_LOAD_HITS] + s.counts[JOINED])


@leaf
def channel_of(p: Settings, line: int) -> int:
    chunk = line // p.interleave
    return int((chunk + chunk // p.channels) % p.channels)


@leaf
def home_of(p: Settings, die: int, line: int) -> int:
    """The die whose L2 *line* of a unit of *die* belongs to."""
    return int(channel_of(p, line) // p.classes % p.dies) if p.parts else die


@leaf
def place_of(p: Settings, line: int) -> int:
    """Number of *line* among those of its channel."""
    return int(line // p.interleave // p.channels * p.interleave + line % p.interleave)


@leaf
def set_of(p: Settings, sets: int, line: int, groups: int) -> int:
    """Set of *line* among *sets*, of which each of *groups* groups of channels has as many."""
    group, place = channel_of(p, line), place_of(p, line)
    number = place * (p.channels // groups) + group // groups
    of_group = sets // groups
    return int(group % groups * of_group + (number + number // of_group * 7) % of_group)


def _table(shape: tuple[int, ...], value: float = 0.0, kind: type = np.float64) -> Array:
    return np.full(shape, value, dtype=kind)


def _cache(sets: int, ways: int) -> Array:
    """An empty cache."""
    cache = np.zeros((sets, CACHE_LINES, ways), dtype=np.int32)
    cache[:, LINE] = cache[:, CODE] = NONE
    return cache


def new_state(p: Settings, ways: tuple[int, int, int], codes: int) -> State:
    """Empty caches and queues; *ways* of L1, L2 and the memory-side cache."""
    banks, rows = p.dies * p.banks, (p.channels, p.row_banks)
    units = p.dies * p.of_die
    l1 = units * p.l1_sets, ways[0]
    l2 = p.dies * p.l2_sets, ways[1]
    side = max(1, p.side_sets), max(1, ways[2])
    return State(
        l1=_cache(*l1),
        l2=_cache(*l2),
        side=_cache(*side),
        l1_ready=np.zeros(l1),
        l2_ready=np.zeros(l2),
        side_ready=np.zeros(side),
        unit=_table((units,)),
        bank=_table((BANK_LINES, banks)),
        under_way=_table((banks, p.queue)),
        channel=_table((CHANNEL_LINES, p.channels)),
        gathered=_table((p.channels, WRITES), NONE),
        rows=np.stack([_table((*rows, RECENT), NONE), _table((*rows, RECENT))]),
        row_banks=_table((2, *rows)),
        joining=_table((banks * p.coalescers, JOIN_LINES, JOINING), NONE),
        trust=_table((2, codes), LEARNED),
        counts=_table((COUNTS,)),
    )


def new_slots(p: Settings) -> Slots:
    """Empty places; first workgroups go to the dies in turn."""
    turn = np.arange(p.units)
    return Slots(
        key=_table((p.slots,)),
        turn=_table((p.slots,)),
        heap=_table((p.slots,), 0, np.int64),
        at=_table((SLOT_LINES, p.slots)),
        ring=_table((p.slots, p.window)),
        following=_table((p.dies,), 0, np.int64),
        units=turn % p.dies * p.of_die + turn // p.dies,
    )

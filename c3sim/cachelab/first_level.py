"""A line through L1: what a unit finds beside itself, and what it asks L2 for."""

from __future__ import annotations

from c3sim.cachelab.loop import earliest, find, free_way, in_l2, learn, trusted
from c3sim.cachelab.state import (
    CODE,
    FREE,
    JOINED,
    JOINING,
    L1,
    L1_HITS,
    L2_LOAD_HITS,
    LINE,
    LOADS,
    MASK,
    NO_WAIT,
    NONE,
    READY,
    SECTORS,
    STAMP,
    STORED,
    THERE,
    UNIT_IDLE,
    UNTIL,
    USED,
    Settings,
    State,
    channel_of,
    place_of,
    set_of,
)
from c3sim.engine.compiled.table import inline, leaf


@leaf
def many_of(mask: int) -> int:
    """Number of sectors of *mask*."""
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


@inline
def way_of_l1(
    p: Settings, s: State, unit: int, index: int, line: int, now: float
) -> tuple[int, float]:
    """A way of a set of L1 for a line that misses, and when; NONE: it takes none."""
    way = free_way(s.l1, s.l1_ready, index, now)
    if way == NONE and not p.policy & NO_WAIT:
        until = earliest(s.l1_ready, index)
        free = s.channel[FREE, channel_of(p, line)]
        s.counts[UNIT_IDLE] += max(0.0, until - max(now, free))
        s.unit[unit] = max(s.unit[unit], until)
        return free_way(s.l1, s.l1_ready, index, until), until
    return way, now


@inline
def in_l1(p: Settings, s: State, index: int, way: int, mask: int) -> int:
    """The sectors of *mask* that a line of L1, which is used again, lacks; it has them from now
    on.
    """
    s.l1[index, USED, way] = s.counts[STAMP]
    learn(p, s, 0, int(s.l1[index, CODE, way]), True)
    s.l1[index, CODE, way] = NONE
    there = int(s.l1[index, THERE, way])
    s.l1[index, THERE, way] = there | mask
    return mask & ~there


@inline
def from_l2(p: Settings, s: State, unit: int, line: int, code: int, mask: int, now: float) -> float:
    """When the sectors *mask* of *line* are there, which a load that passed L1 asks for, or are
    taken. A load goes with another one, of a unit with the same coalescer, that has asked for them
    for less than ``join_time``.
    """
    load = code % 2 == 0
    die, place = unit // p.of_die, place_of(p, line) % JOINING
    coalescer = die * p.coalescers + unit % p.of_die % p.coalescers
    under_way = s.joining[coalescer * p.banks + channel_of(p, line) % p.banks]
    same = under_way[LINE, place] == line
    past = now > under_way[UNTIL, place]
    if load and same and not past and not mask & ~int(under_way[MASK, place]):
        s.counts[JOINED] += s.counts[SECTORS]
        return float(max(now, under_way[READY, place]))
    done = in_l2(p, s, die, line, code, now)
    if load and p.join_time > 0.0 and (same or past):
        under_way[LINE, place], under_way[MASK, place] = line, mask
        under_way[UNTIL, place], under_way[READY, place] = now + p.join_time, done
    return float(done)


@inline
def access(
    p: Settings, s: State, unit: int, line: int, code: int, mask: int, asked: int, now: float
) -> float:
    """End of the load (or store) by *unit* of the sectors *mask* of *line*; *asked*: of how
    many, those that several waves ask for as often as they do.
    """
    s.counts[STAMP] += 1
    store = code % 2 == 1
    s.counts[SECTORS] = many_of(mask)
    s.counts[STORED if store else LOADS] += s.counts[SECTORS] if store else asked
    index, way, there, lacking = 0, NONE, 0.0, mask
    if not store and p.policy & L1:
        index = unit * p.l1_sets + set_of(p, p.l1_sets, line, p.classes)
        way = find(s.l1, index, line)
        lacking = in_l1(p, s, index, way, mask) if way != NONE else mask
        s.counts[SECTORS] = many_of(lacking)
        s.counts[L1_HITS] += asked - s.counts[SECTORS]
        if way != NONE:
            there = max(now + p.l1_latency, s.l1_ready[index, way])
            if not lacking:
                return float(there)
        elif trusted(p, s, 0, code, line):
            way, now = way_of_l1(p, s, unit, index, line, now)
        now += 0.5 * p.l1_latency
    elif not store:
        s.counts[L2_LOAD_HITS] += asked - s.counts[SECTORS]
    done = max(there, from_l2(p, s, unit, line, code, lacking, now))
    if way != NONE and there == 0.0:
        if s.l1[index, LINE, way] != NONE:
            learn(p, s, 0, int(s.l1[index, CODE, way]), False)
        s.l1[index, LINE, way], s.l1[index, CODE, way] = line, code
        s.l1[index, THERE, way] = mask
        s.l1[index, USED, way] = s.counts[STAMP]
    if way != NONE:
        s.l1_ready[index, way] = done
    return float(done)

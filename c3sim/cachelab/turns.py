"""Workgroups in order of time: which of them starts its next lines.

A workgroup has at most ``window`` lines under way; a unit starts a line in ``issue`` cycles. Its
workgroups take turns, or, where the machine says so, the oldest one that can goes on first.
"""

from __future__ import annotations

from math import inf

from c3sim.cachelab.first_level import access
from c3sim.cachelab.loop import drain
from c3sim.cachelab.state import (
    AGE,
    BURST,
    END,
    FOUND,
    JOINED,
    LATEST,
    LINE,
    LOADED,
    NOBODY,
    NONE,
    PHASE,
    PLACE,
    POSITION,
    Settings,
    Slots,
    State,
    channel_of,
    found_so_far,
    wide,
)
from c3sim.cachelab.stream import (
    ASKED,
    CODE_BITS,
    CODES,
    SECTORS,
    STEP_CODE,
    STEP_LINE,
    STEP_PHASE,
    Array,
)
from c3sim.engine.compiled.table import compiled, heapify, inline, inner, sift_down


@inner
def begin(slots: Slots, first: Array, slot: int, die: int, dies: int) -> bool:
    """*slot* takes the next workgroup of *die*, of *dies* that take turns; False: there is none."""
    group = slots.following[die]
    while group < len(first) - 1 and first[group] == first[group + 1]:
        group += dies
    slots.following[die] = group + dies
    if group >= len(first) - 1:
        slots.at[AGE, slot], slots.key[slot] = NOBODY, inf
        return False
    slots.at[POSITION, slot], slots.at[END, slot] = first[group], first[group + 1]
    slots.at[PHASE, slot], slots.at[AGE, slot] = 0, group
    return True


@inline
def advance(
    p: Settings, s: State, slots: Slots, steps: Array, unit: int, slot: int, issue: float,
    of_phase: float,
) -> None:  # fmt: skip
    """*slot* of *unit* starts up to BURST lines; its key becomes when it goes on."""
    now = slots.key[slot]
    for _ in range(BURST):
        at = int(slots.at[POSITION, slot])
        if at == slots.at[END, slot]:
            break
        phases = steps[at, STEP_PHASE] - slots.at[PHASE, slot]
        if phases:
            if slots.at[LATEST, slot] > now:
                now = slots.at[LATEST, slot]
                break
            slots.at[PHASE, slot] = steps[at, STEP_PHASE]
            if of_phase > 0.0:
                now = max(now, s.unit[unit]) + phases * of_phase
                s.unit[unit] = now
                break
        place = int(slots.at[PLACE, slot])
        if slots.ring[slot, place] > now:
            now = slots.ring[slot, place]
            break
        now = max(now, s.unit[unit])
        s.unit[unit] = now + issue
        line, what = wide(steps[at, STEP_LINE]), wide(steps[at, STEP_CODE])
        code, mask, asked = what & CODES, what >> CODE_BITS & SECTORS, what >> ASKED
        found, joined = found_so_far(s), s.counts[JOINED]
        done = access(p, s, unit, line, code, mask, asked, now)
        if code % 2 == 0:
            s.channel[LOADED, channel_of(p, line)] += asked
            s.channel[FOUND, channel_of(p, line)] += found_so_far(s) - found
        if s.counts[JOINED] == joined:  # else it has the place of the load that it goes with
            slots.ring[slot, place] = done
            slots.at[PLACE, slot] = (place + 1) % p.window
        slots.at[LATEST, slot] = max(slots.at[LATEST, slot], done)
        slots.at[POSITION, slot] = at + 1
        now += issue
    slots.key[slot] = now


@inline
def oldest(slots: Slots, begin: int, end: int, now: float) -> int:
    """Place from *begin* to *end* with the oldest workgroup that can go on at
    *now*; where none can, the one that can first.
    """
    best = begin
    for slot in range(begin + 1, end):
        if slots.key[best] > now:
            if slots.key[slot] < slots.key[best]:
                best = slot
        elif slots.key[slot] <= now and slots.at[AGE, slot] < slots.at[AGE, best]:
            best = slot
    return best


@inline
def next_turn(p: Settings, s: State, slots: Slots, unit: int, begin: int, end: int) -> float:
    """Time at which one of the places from *begin* to *end* of *unit* can go on, and, to choose,
    the unit is free.
    """
    least = slots.key[begin]
    for slot in range(begin + 1, end):
        least = min(least, slots.key[slot])
    return float(max(least, s.unit[unit]) if p.oldest_first else least)


@inner
def deal(
    p: Settings, s: State, slots: Slots, first: Array, start: float, places: int, together: int
) -> int:
    """First workgroups, to the places of all units in turn; how many places, *together* at a time,
    have any.
    """
    queues = 1 if p.parts else p.dies  # of workgroups
    for die in range(p.dies):
        slots.following[die] = die
    slots.key[:] = start
    slots.at[LATEST, :] = start
    size = 0
    for place in range(places):
        for turn in range(p.units):
            unit = slots.units[turn]
            slot = unit * places + place
            if begin(slots, first, slot, turn % queues, queues) and place % together == 0:
                slots.heap[size] = slot // together
                size += 1
    for place in range(size):
        mine = slots.heap[place] * together
        ready = next_turn(p, s, slots, mine // places, mine, mine + together)
        slots.turn[slots.heap[place]] = ready
    heapify(slots.turn, slots.heap, size)
    return size


@compiled
def run(
    p: Settings, s: State, slots: Slots, steps: Array, first: Array, start: float, issue: float,
    of_phase: float,
) -> float:  # fmt: skip
    """One launch from *start* on; when its last line is there. The L1s begin empty. Places take
    turns: all of a unit together, where it chooses the oldest workgroup, else each for itself.
    """
    s.l1[:, LINE] = NONE
    s.l1_ready[:] = 0.0
    places = p.slots // (p.dies * p.of_die)
    together = places if p.oldest_first else 1
    queues = 1 if p.parts else p.dies
    size, end = deal(p, s, slots, first, start, places, together), start
    while size:
        mine = slots.heap[0] * together
        unit = mine // places
        slot = oldest(slots, mine, mine + together, slots.turn[slots.heap[0]])
        advance(p, s, slots, steps, unit, slot, issue, of_phase)
        if slots.at[POSITION, slot] == slots.at[END, slot]:
            end = max(end, slots.at[LATEST, slot])
            slots.key[slot] = max(slots.key[slot], slots.at[LATEST, slot])
            begin(slots, first, slot, unit // p.of_die % queues, queues)
        ready = next_turn(p, s, slots, unit, mine, mine + together)
        slots.turn[slots.heap[0]] = ready
        if ready == inf:
            size -= 1
            slots.heap[0] = slots.heap[size]
        sift_down(slots.turn, slots.heap, size, 0)
    for channel in range(p.channels):
        drain(p, s, channel, end)
    return end

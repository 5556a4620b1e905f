"""A line through the caches: functions that numba compiles, or Python runs.

Each access looks into L1, then L2, then the memory-side cache, then goes to its channel:

    bank      takes ``l2_cycles`` for a line; holds ``queue`` misses under way, the next one waits
    set       a miss needs a way that no miss is under way for; where there is none it waits, and
              the bank behind it (with allocation bypass it takes none)
    channel   takes ``memory_cycles`` for a line; to open a row of a bank takes ``row_cycles``. A
              read hits a row that is open, or is about to be opened for one before it. Writes
              gather, WRITES of them, and leave row by row

Rinsing: a written line that leaves takes all written ones of its row with it. The predictor counts,
for each instruction, lines found again against lines that left without; an instruction below
TRUSTED takes no lines, except one in LEADERS, from which it goes on to learn.
"""

from __future__ import annotations

from c3sim.cachelab.state import (
    CLEANED,
    CODE,
    COPIED,
    COPY,
    FILLED,
    FREE,
    GATHERING,
    HERE,
    IDLE,
    L2,
    L2_LOAD_HITS,
    L2_STORE_HITS,
    LEADERS,
    LEFT_CLEAN,
    LEFT_WRITTEN,
    LINE,
    MOVED,
    NEVER_USED,
    NEXT,
    NO_WAIT,
    NONE,
    PASSED,
    PREDICT,
    QUEUED,
    READ_ROWS,
    READS,
    READY_OF_ROW,
    RECENT,
    RINSE,
    RINSED,
    ROW,
    SECTORS,
    SIDE_FILLED,
    SIDE_HITS,
    SIDE_LEFT,
    STAMP,
    STORES,
    SURE,
    TRUSTED,
    USED,
    WAITED,
    WRITE_ROWS,
    WRITES,
    WRITES_OUT,
    WRITTEN,
    Settings,
    State,
    channel_of,
    home_of,
    line_of,
    place_of,
    set_of,
)
from c3sim.cachelab.stream import Array
from c3sim.engine.compiled.table import inline, inner, leaf


@inner
def find(cache: Array, index: int, line: int) -> int:
    """Way of a set of *cache* that has *line*."""
    lines = cache[index, LINE]
    for way in range(len(lines)):
        if lines[way] == line:
            return way
    return NONE


@inner
def free_way(cache: Array, ready: Array, index: int, now: float) -> int:
    """The way to replace: empty, or the one used longest ago of which no miss is under way; NONE:
    there is none.
    """
    lines, used = cache[index, LINE], cache[index, USED]
    best, least = NONE, NEVER_USED
    for way in range(len(lines)):
        if lines[way] == NONE:
            return way
        if used[way] < least and ready[index, way] <= now:
            best, least = way, used[way]
    return best


@inner
def earliest(ready: Array, index: int) -> float:
    """End of the first miss under way of a set."""
    least = ready[index, 0]
    for way in range(1, ready.shape[1]):
        least = min(least, ready[index, way])
    return float(least)


@inline
def open_row(p: Settings, s: State, channel: int, place: int, now: float) -> tuple[bool, float]:
    """True if the access of line *place* of *channel* hits its row; and when the row is there."""
    row = place // p.row_lines
    bank = (row + row // p.row_banks) % p.row_banks
    for recent in range(RECENT):
        if s.rows[ROW, channel, bank, recent] == row:
            last = recent == (int(s.row_banks[NEXT, channel, bank]) + RECENT - 1) % RECENT
            if last or s.rows[READY_OF_ROW, channel, bank, recent] >= now:
                return True, max(now, s.rows[READY_OF_ROW, channel, bank, recent])
    ready = max(now, s.row_banks[FREE, channel, bank]) + p.row_cycles
    newest = int(s.row_banks[NEXT, channel, bank])
    s.rows[ROW, channel, bank, newest], s.rows[READY_OF_ROW, channel, bank, newest] = row, ready
    s.row_banks[NEXT, channel, bank] = (newest + 1) % RECENT
    s.row_banks[FREE, channel, bank] = ready
    return False, ready


@inner
def drain(p: Settings, s: State, channel: int, now: float) -> None:
    """The gathered writes of *channel* leave, row by row."""
    gathered, many = s.gathered[channel], int(s.channel[GATHERING, channel])
    for first in range(many):
        if gathered[first] == NONE:
            continue
        place = int(gathered[first])
        row = place // p.row_lines
        hit, _ = open_row(p, s, channel, place, now)
        for other in range(first, many):
            if gathered[other] != NONE and gathered[other] // p.row_lines == row:
                s.counts[WRITE_ROWS] += hit
                s.counts[WRITES_OUT] += 1
                s.channel[MOVED, channel] += 1
                s.channel[FREE, channel] = max(s.channel[FREE, channel], now) + p.memory_cycles
                gathered[other], hit = NONE, True
    s.channel[GATHERING, channel] = 0


@inner
def to_memory(p: Settings, s: State, line: int, now: float) -> float:
    """Time at which a channel takes a line that is written: it is at most WRITES lines behind."""
    channel = channel_of(p, line)
    s.gathered[channel, int(s.channel[GATHERING, channel])] = place_of(p, line)
    s.channel[GATHERING, channel] += 1
    if s.channel[GATHERING, channel] == WRITES:
        drain(p, s, channel, now)
    return float(max(now, s.channel[FREE, channel] - WRITES * p.memory_cycles))


@inline
def from_memory(p: Settings, s: State, line: int, now: float) -> float:
    """Time at which a line that is read leaves its channel, without the way there and back."""
    channel = channel_of(p, line)
    hit, ready = open_row(p, s, channel, place_of(p, line), now)
    s.counts[READS] += 1
    s.channel[MOVED, channel] += 1
    s.counts[READ_ROWS] += hit
    s.channel[FREE, channel] = max(s.channel[FREE, channel], now) + p.memory_cycles
    return float(max(ready + p.memory_cycles, s.channel[FREE, channel]))


@inline
def past_l2(p: Settings, s: State, line: int, store: bool, now: float) -> float:
    """Arrival of a line that passes the L2s (or is taken): the memory-side cache, then memory."""
    if p.side_sets:
        index = set_of(p, p.side_sets, line, p.channels)
        way = find(s.side, index, line)
        s.counts[SIDE_HITS] += way != NONE
        found = way != NONE
        begin = now
        if not found:
            way = free_way(s.side, s.side_ready, index, now)
            s.counts[SIDE_FILLED] += 1
            if s.side[index, LINE, way] != NONE:
                s.counts[SIDE_LEFT] += 1
                if s.side[index, WRITTEN, way]:
                    begin = to_memory(p, s, line_of(s.side, index, way), now)
            s.side[index, LINE, way], s.side[index, WRITTEN, way] = line, False
        s.side[index, USED, way] = s.counts[STAMP]
        if store:
            s.side[index, WRITTEN, way] = True
            return begin
        if found:
            return begin + p.cache_latency
    elif store:
        return to_memory(p, s, line, now)
    return from_memory(p, s, line, now) + p.memory_latency


@inner
def written_past_l2(p: Settings, s: State, line: int, now: float) -> float:
    """Time at which a line that is written past the L2s is taken."""
    return past_l2(p, s, line, True, now)


@inline
def miss(p: Settings, s: State, bank: int, line: int, now: float) -> float:
    """Arrival of a load that L2 lacks: it waits for a place among the misses under way."""
    place = int(s.bank[NEXT, bank])
    begin = now
    if s.under_way[bank, place] > now:
        begin = s.under_way[bank, place]
        s.counts[QUEUED] += begin - now
        s.bank[FREE, bank] = max(s.bank[FREE, bank], begin)
    done = past_l2(p, s, line, False, begin)
    s.under_way[bank, place] = done
    s.bank[NEXT, bank] = (place + 1) % p.queue
    return done


@inline
def learn(p: Settings, s: State, level: int, code: int, again: bool) -> None:
    if p.policy & PREDICT and code != NONE:
        change = 1 if again else -1
        s.trust[level, code] = min(SURE, max(0, s.trust[level, code] + change))


@inline
def trusted(p: Settings, s: State, level: int, code: int, line: int) -> bool:
    """True if a line that *code* misses may take room."""
    if not p.policy & PREDICT or s.trust[level, code] >= TRUSTED:
        return True
    return bool(place_of(p, line) // p.row_lines % LEADERS == 0)


@inner
def rinse(p: Settings, s: State, die: int, line: int, now: float) -> float:
    """The written lines of the row of *line* in the L2 of *die* leave for memory."""
    channel, place = channel_of(p, line), place_of(p, line)
    first = place // p.row_lines * p.row_lines
    for each in range(first, first + p.row_lines):
        lap = each // p.interleave
        chunk = lap * p.channels + (channel - lap) % p.channels
        other = chunk * p.interleave + each % p.interleave
        index = die * p.l2_sets + set_of(p, p.l2_sets, other, p.banks)
        way = find(s.l2, index, other)
        if way != NONE and s.l2[index, WRITTEN, way] == HERE:
            s.l2[index, WRITTEN, way] = False
            s.counts[RINSED] += other != line
            s.counts[CLEANED] += other != line
            now = max(now, written_past_l2(p, s, other, now))
    return now


@inline
def take(
    p: Settings, s: State, die: int, index: int, way: int, line: int, code: int, now: float
) -> float:
    """*line* takes a way of a set of L2; when the line that it replaces is gone."""
    old = line_of(s.l2, index, way)
    if old != NONE:
        learn(p, s, 1, int(s.l2[index, CODE, way]), False)
        if s.l2[index, WRITTEN, way] == HERE:
            s.counts[LEFT_WRITTEN] += 1
            rinses = p.policy & RINSE
            now = rinse(p, s, die, old, now) if rinses else written_past_l2(p, s, old, now)
        else:
            s.counts[LEFT_CLEAN] += 1
    s.counts[FILLED] += 1
    s.l2[index, LINE, way], s.l2[index, CODE, way] = line, code
    s.l2[index, WRITTEN, way] = False
    s.l2[index, USED, way] = 0 if code >= p.leaving else s.counts[STAMP]
    return now


@inner
def clean(p: Settings, s: State, index: int, way: int, now: float) -> float:
    """*way* of a set of L2 holds stores from now on; where too many do, the oldest is cleaned."""
    if p.written_ways >= s.l2.shape[2]:
        return now
    many, oldest_way = 0, NONE
    for other in range(s.l2.shape[2]):
        if s.l2[index, LINE, other] != NONE and s.l2[index, WRITTEN, other]:
            many += 1
            older = oldest_way == NONE or s.l2[index, USED, other] < s.l2[index, USED, oldest_way]
            if other != way and older:
                oldest_way = other
    if many <= p.written_ways or oldest_way == NONE:
        return now
    owned = s.l2[index, WRITTEN, oldest_way] == HERE
    s.l2[index, WRITTEN, oldest_way] = False
    if not owned:
        return now
    s.counts[CLEANED] += 1
    return written_past_l2(p, s, line_of(s.l2, index, oldest_way), now)


@inline
def way_for(
    p: Settings, s: State, index: int, bank: int, line: int, now: float
) -> tuple[int, float]:
    """A way of a set of L2 for a line that misses, and when; NONE: it takes none."""
    way = free_way(s.l2, s.l2_ready, index, now)
    if way != NONE:
        return way, now
    if p.policy & NO_WAIT:
        s.counts[PASSED] += 1
        return NONE, now
    until = earliest(s.l2_ready, index)
    s.counts[WAITED] += 1
    s.counts[IDLE] += max(0.0, until - max(now, s.channel[FREE, channel_of(p, line)]))
    s.bank[FREE, bank] = max(s.bank[FREE, bank], until)
    return free_way(s.l2, s.l2_ready, index, until), until


@leaf
def bank_of(p: Settings, die: int, line: int) -> int:
    return die * p.banks + channel_of(p, line) % p.banks


@leaf
def set_in_l2(p: Settings, die: int, line: int) -> int:
    return die * p.l2_sets + set_of(p, p.l2_sets, line, p.banks)


@inline
def through_bank(p: Settings, s: State, bank: int, now: float) -> float:
    """Time at which *bank* has looked for a line that comes at *now*."""
    now = max(now, s.bank[FREE, bank])
    s.bank[FREE, bank] = now + p.l2_cycles
    return now


@inner
def drop_copies(p: Settings, s: State, die: int, home: int, line: int) -> None:
    """Copies of a written *line*, other than in *die* and *home*, are worth nothing."""
    for other in range(p.dies):
        if other != die and other != home:
            index = set_in_l2(p, other, line)
            way = find(s.l2, index, line)
            if way != NONE:
                s.l2[index, LINE, way] = s.l2[index, CODE, way] = NONE
                s.counts[LEFT_CLEAN] += 1


@inner
def copy(
    p: Settings, s: State, die: int, line: int, code: int, now: float
) -> tuple[int, int, float]:
    """Set and way that the part of L2 beside the unit has for a copy of *line* (NONE: none), and
    when.
    """
    bank, index = bank_of(p, die, line), set_in_l2(p, die, line)
    way, now = way_for(p, s, index, bank, line, now)
    if way != NONE:
        now = take(p, s, die, index, way, line, code, now)
        s.counts[COPIED] += 1
    return index, way, now


@inline
def hit(p: Settings, s: State, index: int, way: int, store: bool, counted: bool) -> None:
    """A line of L2 is used again; *counted* among the hits or not."""
    if counted:
        s.counts[L2_STORE_HITS if store else L2_LOAD_HITS] += s.counts[SECTORS]
    s.l2[index, USED, way] = s.counts[STAMP]
    learn(p, s, 1, int(s.l2[index, CODE, way]), True)
    s.l2[index, CODE, way] = NONE


@inline
def at_home(
    p: Settings, s: State, die: int, line: int, code: int, found: bool, now: float
) -> float:
    """Arrival of *line* (or its being taken) in the part of L2 that it belongs to. *found*: it has
    been, in a copy.
    """
    store = code % 2 == 1
    bank, index = bank_of(p, die, line), set_in_l2(p, die, line)
    way = find(s.l2, index, line) if p.policy & L2 else NONE
    cached = bool(p.policy & L2) and (not store or bool(p.policy & STORES))
    if way != NONE:
        hit(p, s, index, way, store, not found)
        if not store:
            return float(max(now + 0.5 * p.l2_latency, s.l2_ready[index, way]))
        if cached:
            s.l2[index, WRITTEN, way] = HERE
            return clean(p, s, index, way, now)
        return written_past_l2(p, s, line, now)
    if cached and trusted(p, s, 1, code, line):
        way, now = way_for(p, s, index, bank, line, now)
    if way != NONE:
        now = take(p, s, die, index, way, line, code, now)
    if store:
        if way == NONE:
            return written_past_l2(p, s, line, now)
        s.l2_ready[index, way] = now
        s.l2[index, WRITTEN, way] = HERE
        return clean(p, s, index, way, now)
    done = miss(p, s, bank, line, now)
    if way != NONE:
        s.l2_ready[index, way] = done
    return done


@inline
def in_l2(p: Settings, s: State, die: int, line: int, code: int, now: float) -> float:
    """Arrival of a line that passed L1, or of its being taken. Where L2 has parts that see each
    other's lines, the one beside the unit keeps a copy of what it fetches from the one it belongs
    to.
    """
    store = code % 2 == 1
    now = through_bank(p, s, bank_of(p, die, line), now + 0.5 * p.l2_latency)
    home = home_of(p, die, line)
    index, way, found = 0, NONE, False
    if home != die and p.policy & L2:
        index = set_in_l2(p, die, line)
        way = find(s.l2, index, line)
        found = way != NONE
        if found:
            hit(p, s, index, way, store, True)
            if not store:
                return float(max(now + 0.5 * p.l2_latency, s.l2_ready[index, way]))
        elif (not store or p.policy & STORES) and trusted(p, s, 1, code, line):
            index, way, now = copy(p, s, die, line, code, now)
        now = through_bank(p, s, bank_of(p, home, line), now + p.l2_latency)
    if store and p.parts and p.policy & L2:
        drop_copies(p, s, die, home, line)
    done = at_home(p, s, home, line, code, found, now)
    if way != NONE and not found:
        s.l2_ready[index, way] = done
    if way != NONE and store and p.policy & STORES:
        s.l2[index, WRITTEN, way] = COPY
        done = clean(p, s, index, way, done)
    return done

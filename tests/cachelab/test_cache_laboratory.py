"""The cache laboratory against an LRU stack, against what must be conserved, and in parts."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from c3sim.cachelab import laboratory, state, stream, turns
from c3sim.cachelab.laboratory import POLICIES, Laboratory, Sampled
from c3sim.cachelab.machine import Level, Machine, machine_of
from c3sim.cachelab.nests import Program, program_of
from c3sim.cachelab.served import row_hits_of_streams, source_of
from c3sim.cachelab.stack import distances, found_by
from c3sim.cachelab.stream import Grain, Launch
from c3sim.errors import InputError
from c3sim.spec.reading.loading import load_node
from c3sim.spec.study import Application

LINE, MIB = 64, 2**20
TINY = Machine(
    name="tiny", clock=1e9, units=1, dies=1, residents=1, window=1, line=LINE, sector=LINE,
    l1=Level(2, 2), l2=Level(4, 4), memory_side=None, shared=1024.0, written_ways=4, banks=1,
    channels=1, queue=8, interleave=1, row_lines=4, row_banks=2, flops=1.0, l1_latency=10.0,
    l2_latency=100.0, cache_latency=0.0, memory_latency=400.0, l2_cycles=1.0, memory_cycles=4.0,
    row_cycles=50.0,
)  # fmt: skip
MANY = replace(
    TINY, units=4, residents=2, window=4, l1=Level(4, 2), l2=Level(16, 4), banks=2, channels=4
)


def launch(lines, *, groups=1, stores=False, instructions=1):
    """Loads (or stores) of *lines*, one after the other, dealt out to workgroups."""
    made = Launch("lines", groups)
    place = np.arange(len(lines))
    for number in range(instructions):
        own = place % instructions == number
        begin = np.asarray(lines)[own] * LINE
        made.touch(place[own] % groups, place[own], begin, LINE, store=stores)
    return made


def random_lines(count, different, seed=1):
    return np.random.default_rng(seed).integers(0, different, count)


def run(machine, policy, *launches, leaving=state.NEVER):
    """Counts of the loops, and the state that they leave."""
    settings = laboratory.settings_of(machine, POLICIES[policy], 1)._replace(leaving=leaving)
    kept = loop_state(machine, settings)
    slots, now = state.new_slots(settings), 0.0
    for each in launches:
        now = turns.run(settings, kept, slots, *each.stream(machine.grain), now, 1.0, 0.0)
    return kept


def loop_state(machine, settings):
    return state.new_state(settings, machine.ways, 16)


def set_in(machine, level):
    settings = laboratory.settings_of(machine, 0, 1)
    groups = settings.classes if level is machine.l1 else settings.banks
    return lambda line: state.set_of(settings, level.sets, int(line), groups)


def test_distances_by_hand():
    """a b c a: two others since a; then a again: none."""
    assert distances([1, 2, 3, 1, 1]) == [None, None, None, 2, 0]
    assert found_by([1, 2, 3, 1, 1], 2) == 1
    assert found_by([1, 2, 3, 1, 1], 3) == 2


@pytest.mark.parametrize("seed", range(4))
def test_one_level_finds_what_the_stack_finds(seed):
    lines = random_lines(600, 40, seed)
    found = run(TINY, "past_l1", launch(lines)).counts[state.L2_LOAD_HITS]
    assert found == found_by(list(lines), 4, set_in(TINY, TINY.l2))


def test_two_levels_find_what_two_stacks_find():
    """The second sees what the first lacks, in that order."""
    lines = [int(each) for each in random_lines(600, 24)]
    first, past = set_in(TINY, TINY.l1), []
    sets = {number: [] for number in range(TINY.l1.sets)}
    for line in lines:
        ways = sets[first(line)]
        if line in ways:
            ways.remove(line)
        else:
            past.append(line)
        sets[first(line)] = [line, *ways][: TINY.l1.ways]
    counts = run(TINY, "cache_r", launch(lines)).counts
    assert counts[state.L1_HITS] == len(lines) - len(past)
    assert counts[state.L2_LOAD_HITS] == found_by(past, 4, set_in(TINY, TINY.l2))


def test_a_cache_of_more_ways_finds_all_that_one_of_fewer_does():
    lines = random_lines(2000, 200)
    found = [
        run(replace(TINY, l2=Level(4, ways)), "past_l1", launch(lines)).counts[state.L2_LOAD_HITS]
        for ways in (2, 4, 8, 16)
    ]
    assert found == sorted(found) and found[0] < found[-1]


def check_conserved(kept, dirty):
    """1500 loads and 300 stores, of which *dirty* wait in lines."""
    counts, resident = kept.counts, (kept.l2[:, state.LINE] != state.NONE).sum()
    found = counts[state.L1_HITS] + counts[state.L2_LOAD_HITS]
    assert counts[state.LOADS] == 1500 == found + counts[state.READS]
    assert counts[state.FILLED] == counts[state.LEFT_CLEAN] + counts[state.LEFT_WRITTEN] + resident
    assert counts[state.STORED] == 300 == counts[state.WRITES_OUT] + dirty


@pytest.mark.parametrize("policy", POLICIES)
def test_lines_in_are_lines_out(policy):
    """Loads are found or come from memory; what fills L2 left it or is there; what is written to
    memory was stored, and what was stored once is written once, in memory or in a line.
    """
    stored = np.arange(300)
    launches = (launch(random_lines(1500, 120), groups=12), launch(stored, groups=8, stores=True))
    kept = run(MANY, policy, *launches)
    counts = kept.counts
    check_conserved(kept, dirty=kept.l2[:, state.WRITTEN].sum())
    assert counts[state.READ_ROWS] <= counts[state.READS]
    assert counts[state.WRITE_ROWS] <= counts[state.WRITES_OUT]


def test_stores_are_combined_where_they_are_cached():
    """The same 8 lines four times: 32 writes, or 8 that wait in lines."""
    again = np.tile(np.arange(8), 4)
    uncached, cached = (run(TINY, name, launch(again, stores=True)) for name in POLICIES_OF_STORES)
    assert uncached.counts[state.WRITES_OUT] == 32
    assert cached.counts[state.WRITES_OUT] + cached.l2[:, state.WRITTEN].sum() == 8


POLICIES_OF_STORES = ("cache_r", "cache_rw")


def test_rinsing_writes_row_by_row():
    """Stores of a line of each row, then of the next of each. A cache of 256 lines has two or three
    lines of a row when the first of them leaves: with them, more than half hit the row.
    """
    order = np.arange(400).reshape(100, 4).T.ravel()  # one line of each row, then the next of each
    hits = {}
    for policy in ("cache_rw", "rinsing"):
        counts = run(replace(TINY, l2=Level(64, 4)), policy, launch(order, stores=True)).counts
        hits[policy] = counts[state.WRITE_ROWS] / counts[state.WRITES_OUT]
    assert hits["rinsing"] > 0.5 > 2 * hits["cache_rw"]


def test_allocation_bypass_never_waits():
    """More lines under way than a set has ways."""
    small = replace(MANY, l1=Level(4, 1), l2=Level(2, 1), window=8)
    lines = launch(np.arange(800), groups=8)
    waiting, passing = (
        run(small, name, lines).counts for name in ("cache_rw", "allocation_bypass")
    )
    assert waiting[state.WAITED] > 0 == waiting[state.PASSED]
    assert passing[state.PASSED] > 0 == passing[state.WAITED]


def test_the_predictor_keeps_what_is_used_again():
    """One instruction goes round 12 lines of 16, one streams, which costs the first its lines."""
    lines = np.stack([np.tile(np.arange(12), 100), 1000 + np.arange(1200)], axis=1).ravel()
    found = [
        run(TINY, name, launch(lines, instructions=2)).counts[state.L2_LOAD_HITS]
        for name in ("cache_rw", "reuse_predictor")
    ]
    assert found[1] > 2 * found[0]


def test_lines_that_leave_first_leave_others_where_they_are():
    """Twelve of 16 lines again and again, beside a stream whose lines are first to leave."""
    lines = np.stack([np.tile(np.arange(12), 100), 1000 + np.arange(1200)], axis=1).ravel()
    made = launch(lines, instructions=2)
    plain, first = (run(TINY, "past_l1", made, leaving=each).counts for each in (state.NEVER, 2))
    assert first[state.L2_LOAD_HITS] == 1200 - 12 > 2 * plain[state.L2_LOAD_HITS]


#: Two parts of two channels each, a unit beside either; channels 0 and 1 belong to the first part.
PARTS = replace(MANY, units=2, dies=2, parts=True, residents=1, window=1)


def of_part(line):
    return state.home_of(laboratory.settings_of(PARTS, 0, 1), 0, line)


def set_of_line(line):
    return set_in(PARTS, PARTS.l2)(line)


def of_units(*lines):
    """A workgroup for each list of lines; the first unit has the first one."""
    made = Launch("units", len(lines))
    for number, own in enumerate(lines):
        made.touch(number, np.arange(len(own)), np.asarray(own) * LINE, LINE)
    return made


def test_a_part_of_l2_keeps_a_copy_of_what_belongs_to_another():
    """Lines 0 and 2 belong to either part. Their own units fetch them; then each unit takes a copy
    of the other one's, and finds it beside itself; a store at home drops the copy.
    """
    own, crossed = of_units([0], [2]), of_units([2], [0])
    stored = Launch("stored", 1)
    stored.touch(0, 0, np.array([0]), LINE, store=True)
    counts = run(PARTS, "past_l1", own, crossed, crossed).counts
    assert (counts[state.READS], counts[state.L2_LOAD_HITS], counts[state.COPIED]) == (2, 4, 2)
    kept = run(PARTS, "past_l1", own, crossed, stored, crossed)
    assert kept.counts[state.COPIED] == 3 and kept.counts[state.READS] == 2
    assert (kept.l2[:, state.LINE] == 0).sum() == 2


def test_lines_in_parts_are_conserved():
    stored = launch(np.arange(300), groups=8, stores=True)
    launches = (launch(random_lines(1500, 120), groups=12), stored)
    kept = run(replace(PARTS, window=4), "cache_rw", *launches)
    check_conserved(kept, dirty=(kept.l2[:, state.WRITTEN] == state.HERE).sum())


@pytest.mark.parametrize(
    ("mib", "found"), [(32, 0.99), (44, 0.30), pytest.param(48, 0.05, marks=pytest.mark.long)]
)
def test_reads_by_units_that_change_find_what_was_measured(mib, found):
    """Read for the second time on one H200 (validation/data/kernels/h200-cache-sweeps.csv): half of
    the lines lie twice in 60 MiB, so the knee is at 40.
    """
    pages = mib * MIB // 4096
    made = Launch("read", pages)
    made.touch(np.arange(pages), 0, np.arange(pages) * 4096, 4096)
    machine = machine_of(load_node("h200-8"))
    again = Program((made, made), (0.0, 1.0))
    counts = Laboratory(again, machine)._run(Sampled(16, 0), POLICIES["past_l1"])[0]
    assert counts.found == pytest.approx(found, abs=0.12)


@pytest.mark.parametrize(("oldest_first", "end"), [(True, 100_000), (False, 200_000)])
def test_the_oldest_workgroup_of_a_unit_goes_on_first(oldest_first, end):
    """Two workgroups whose 100 lines of 1000 cycles each take all of a unit's time: when the first
    one ends.
    """
    machine = replace(TINY, residents=2, window=8, oldest_first=oldest_first)
    settings = laboratory.settings_of(machine, POLICIES["past_l1"], 1)
    slots, kept = state.new_slots(settings), loop_state(machine, settings)
    stream = of_units(np.arange(100), np.arange(100, 200)).stream(machine.grain)
    turns.run(settings, kept, slots, *stream, 0.0, 1000.0, 0.0)
    assert slots.at[state.LATEST, 0] == pytest.approx(end, rel=0.05)


def test_a_phase_waits_for_the_one_before():
    """Two loads at once take one latency, two phases two."""
    wide = replace(TINY, window=4)
    ends = []
    for phase in (0, 1):
        made = Launch("two", 1)
        made.touch(np.zeros(2, int), np.arange(2), np.array([0, 5000]), 4, phase=[0, phase])
        settings = laboratory.settings_of(wide, 0, 1)._replace(slots=1)
        slots = state.new_slots(settings)
        kept = loop_state(wide, settings)
        ends.append(turns.run(settings, kept, slots, *made.stream(wide.grain), 0.0, 1.0, 0.0))
    assert 1.5 < ends[1] / ends[0] < 2.5


def application(kind, backward=False, **shape):
    return Application(kind=kind, backward=backward, shape=shape, source="a test")


SHAPES = {
    "activation": {"n": 2, "c": 3, "h": 16, "w": 16},
    "pooling": {"n": 2, "c": 3, "h": 15, "w": 15, "window": 3, "stride": 2},
    "batch_norm": {"n": 2, "c": 3, "h": 16, "w": 16},
    "softmax": {"n": 4, "c": 100, "h": 1, "w": 1},
    "lrn": {"n": 2, "c": 8, "h": 16, "w": 16, "window": 5},
    "gemm": {"m": 96, "n": 64, "k": 80},
    "fully_connected": {"n": 32, "c": 96, "hidden": 64},
    "gru": {"hidden": 64, "batch": 4, "steps": 9},
}
IMAGE = 4 * 3 * 16 * 16  # bytes


@pytest.mark.parametrize(
    ("kind", "backward", "loaded", "stored"),
    [
        ("activation", False, 2 * IMAGE, 2 * IMAGE),
        ("activation", True, 3 * 2 * IMAGE, 2 * IMAGE),  # x, y and dy
        ("batch_norm", False, 2 * 2 * IMAGE, 2 * IMAGE),  # sums, then all again
        ("batch_norm", True, 4 * 2 * IMAGE, 2 * IMAGE),
        ("softmax", False, 3 * 1600, 1600),
        ("softmax", True, 2 * 2 * 1600, 1600),
        # entering: 6 of 8 channels, leaving: 5 of 8; result and scale are stored
        ("lrn", False, 2 * 1024 * (6 + 5), 2 * 2 * 8 * 1024),
        # tiles of 32: A for each of 2 columns, B for each of 3 rows of tiles
        ("gemm", False, 4 * (2 * 96 * 80 + 3 * 64 * 80), 4 * 96 * 64),
        # tiles of 32: weights once, activations for each of 2 rows of tiles
        ("fully_connected", False, 4 * (64 * 96 + 2 * 32 * 96), 4 * 64 * 32),
    ],
)
def test_bytes_follow_from_the_shape(kind, backward, loaded, stored):
    (made,) = program_of(application(kind, backward, **SHAPES[kind])).launches
    assert made.bytes(stored=False) == loaded
    assert made.bytes(stored=True) == stored


def test_a_window_of_pooling_looks_at_nine_elements():
    """7 x 7 results of 15 x 15: spans of a row of results are 13 elements in each of 9 taps."""
    (made,) = program_of(application("pooling", **SHAPES["pooling"])).launches
    taps = made.spans[:9]
    rows = 2 * 3 * 7
    cut = 256 // 7 * 7 != 256  # a row that two workgroups share has two spans
    assert all(each.length.max() == 4 * 13 for each in taps)
    assert all(rows <= len(each.length) <= rows + 1 + cut for each in taps)


def test_steps_of_a_recurrent_layer_stand_for_others():
    program = program_of(application("gru", **SHAPES["gru"]))
    assert sum(program.weights) == 9 * 2  # a product and the gates, in each of nine steps
    assert program.weights[0] == 1.0  # the first finds nothing


def test_a_shape_without_a_letter_is_refused():
    with pytest.raises(InputError, match="shape of lrn lacks 'c'"):
        program_of(application("lrn", n=1, h=2, w=2, window=5))


@pytest.mark.parametrize("at_once", [1, 5, 10**6])
def test_lines_come_in_program_order_however_many_spans_are_taken_at_once(monkeypatch, at_once):
    """By hand: workgroup 0 loads line 7 and stores 1 and 2, one span, which workgroup 1 stores as
    well before it loads 9.
    """
    monkeypatch.setattr(stream, "AT_ONCE", at_once)
    made = Launch("few", 2)
    made.touch(np.array([1, 0]), np.array([5, 0]), np.array([9, 7]) * LINE, 4, phase=1)
    made.touch(0, 3, np.array([LINE]), 2 * LINE, store=True, shared=np.array([0, 1]))
    found = made.stream(TINY.grain).renumbered(10)
    assert found.line.tolist() == [7, 1, 2, 1, 2, 9]
    assert found.code.tolist() == [10, 13, 13, 13, 13, 10]
    assert found.steps[:, stream.STEP_PHASE].tolist() == [1, 0, 0, 0, 0, 1]
    assert found.first.tolist() == [0, 3, 6]
    assert found.steps.dtype == np.int32 and found.steps.flags.c_contiguous


def test_a_step_says_how_many_sectors_it_touches():
    """Bytes 60 to 132 in lines of 64 and sectors of 32: one, two, and one of the three lines."""
    made = Launch("few", 1)
    made.touch(0, 0, np.array([60]), 73)
    found = made.stream(Grain(64, 32))
    assert found.line.tolist() == [0, 1, 2] and found.sectors.tolist() == [1, 2, 1]
    assert made.stream(Grain(64, 64)).sectors.tolist() == [1, 1, 1]
    counts = Laboratory(Program.of(made), replace(TINY, sector=32)).counts("past_l1")
    assert (counts.loaded, counts.read) == (4 * 32, 3 * 64)


def test_a_line_of_l1_has_the_sectors_that_were_asked_for():
    """Of a line of four sectors the first, the second, and all: one, one and two are new."""
    machine = replace(TINY, sector=16)
    made = Launch("sectors", 1)
    made.touch(0, np.arange(3), np.array([0, 16, 0]), np.array([16, 16, 64]), phase=np.arange(3))
    counts = Laboratory(Program.of(made), machine).counts("cache_r")
    assert (counts.loaded, counts.l1, counts.read) == (6 * 16, 2 * 16, 64)
    assert counts.l2 == 3 * 16  # L2 has the whole line


@pytest.mark.parametrize(
    ("start", "lane", "loaded"), [(0, 0, 16), (8, 0, 17 + 1), (8, 2, 17), (0, 2, 16 + 2)]
)
def test_waves_ask_for_the_sector_that_they_share_twice(start, lane, loaded):
    """256 bytes, 4 a lane, by waves of 32 lanes, in sectors of 16: the second wave begins 128 bytes
    behind the first (with *lane* 2, 8 bytes less, and a third one 128 behind that).
    """
    made = Launch("waves", 1)
    made.touch(0, 0, np.array([start]), 256, lane=lane, each=4)
    machine = replace(TINY, sector=16, lanes=32)
    stream = made.stream(machine.grain)
    assert stream.sectors.sum() == loaded
    counts = Laboratory(Program.of(made), machine).counts("cache_r")
    assert counts.loaded == loaded * 16
    touched = (start + 256 - 1) // 16 - start // 16 + 1
    assert counts.l1 == (loaded - touched) * 16  # the line is there, or under way
    assert made.stream(replace(machine, lanes=0).grain).sectors.sum() == touched


def test_copies_of_written_lines_take_room_among_the_written():
    """Line 0, which belongs to the first part, is stored by the other one's unit: written in both,
    once for memory. Of a set at most two ways may: a third store there costs one a write.
    """
    stored = Launch("stored", 2)
    stored.touch(np.arange(2), 0, np.array([4, 0]) * LINE, LINE, store=True)
    kept = run(PARTS, "past_l1", stored)
    found = sorted(kept.l2[:, state.WRITTEN].ravel())[-3:]
    assert found == [state.HERE, state.HERE, state.COPY]  # line 4 is stored at home
    near = [line for line in range(512) if of_part(line) == 0 and set_of_line(line) == 0]
    for ways, cleaned in ((3, 0), (2, 1)):
        stored = Launch("stored", 2)
        stored.touch(0, 0, np.array([LINE]), LINE, store=True)  # beside another place
        stored.touch(1, np.arange(3), np.array(near[:3]) * LINE, LINE, store=True)
        kept = run(replace(PARTS, written_ways=ways), "past_l1", stored)
        assert kept.counts[state.CLEANED] == cleaned == kept.counts[state.WRITES_OUT]
        assert (kept.l2[:, state.WRITTEN] == state.COPY).sum() == 3 - cleaned


def test_flop_of_a_phase_take_the_time_of_a_unit():
    """Two workgroups on a unit whose phases take 1000 cycles each, and lines hardly any."""
    machine = replace(TINY, residents=2, oldest_first=True, flops=1.0)
    made = Launch("phases", 2, flops=2 * 4 * 1000.0)
    made.touch(np.repeat([0, 1], 5), np.tile(np.arange(5), 2), np.arange(10) * LINE, LINE,
               phase=np.tile(np.arange(5), 2))  # fmt: skip
    assert made.phases == 4
    assert laboratory.pace_of(made, 10, machine, 1) == (1.0, 1000.0)
    counts = Laboratory(Program.of(made), machine).counts("past_l1")
    waits = 5 * 500  # of the last one, whose lines nobody's FLOP hide: for each phase a latency
    assert counts.seconds * machine.clock == pytest.approx(8000 + waits, rel=0.05)


@pytest.mark.parametrize(("twice", "samples"), [(10**9, 2), (1, 1)])
def test_a_sample_says_its_error(monkeypatch, twice, samples):
    """Of two samples half of what they differ by; of many lines one is followed, and the two
    smaller classes that it is made of say it.
    """
    monkeypatch.setattr(laboratory, "TWICE", twice)
    machine = replace(MANY, l1=Level(16, 4), l2=Level(64, 8), banks=4, channels=16, window=16)
    program = program_of(application("gemm", m=96, n=64, k=80))
    half = program.launches[0].whole(LINE) // 2 + 1
    sampled = Laboratory(program, machine, most=half, samples=2)
    assert (sampled.classes, machine.classes) == (2, 4)
    counts, whole = sampled.counts("cache_rw"), Laboratory(program, machine).counts("cache_rw")
    assert counts.samples == samples and 0 < counts.error < 0.1 and 0 < counts.bytes_error < 0.2
    assert abs(counts.found - whole.found) < 4 * counts.error + 0.01
    assert Laboratory(program, machine, samples=2).counts("cache_rw").error == 0  # all of it
    said = "hits within .* points, bytes within .*%"
    ends = " in one order of workgroups" if samples == 1 else ""
    assert re.search(said + ends + "$", source_of(counts, machine, ""))
    assert source_of(whole, machine, "").endswith("all lines")


def test_policies_share_streams_and_nothing_else():
    """One laboratory for all of them counts what one for each does."""
    program = program_of(application("gru", **{**SHAPES["gru"], "steps": 3}))
    shared = Laboratory(program, MANY)
    apart = [Laboratory(program, MANY).counts(policy) for policy in POLICIES]
    assert [shared.counts(policy) for policy in POLICIES] == apart


def test_a_sample_is_near_the_whole():
    """A quarter of the lines of a pooling: hits within two points, traffic within 2 %."""
    shape = {"n": 3, "c": 3, "h": 55, "w": 55, "window": 3, "stride": 2}
    machine = replace(MANY, l1=Level(16, 4), l2=Level(64, 8), banks=4, channels=16, window=16)
    program = program_of(application("pooling", True, **shape))
    whole = Laboratory(program, machine).counts("cache_rw")
    assert Laboratory(program, machine).classes == 1
    parts = [Laboratory(program, machine) for _ in range(2)]
    sampled = [
        lab._run(Sampled(4, number), POLICIES["cache_rw"])[0] for number, lab in enumerate(parts)
    ]
    for part in sampled:
        assert part.found == pytest.approx(whole.found, abs=0.02)
        assert part.read == pytest.approx(whole.read, rel=0.02)
        assert part.loaded == pytest.approx(whole.loaded, rel=0.02)


def test_a_stream_s_rows_are_those_of_its_going_on():
    """Copies of 16 times the cache hit their rows as the reference does; those of twice the cache,
    of which half evicts nothing, do not.
    """
    machine = replace(MANY, l2=Level(512, 4), shared=131072.0)
    _, copying = row_hits_of_streams(machine)
    hits = [
        Laboratory(program_of(each), machine).counts("cache_rw").row_hits
        for each in (application("activation", n=1, c=1, h=1, w=w) for w in (1 << 18, 1 << 15))
    ]
    assert copying == pytest.approx(hits[0], abs=0.05)
    assert abs(hits[1] - copying) > 0.05


@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
def test_compiled_loops_are_the_plain_ones():
    script = (
        "import json, sys; sys.path[:0] = sys.argv[1:];"
        "from test_cache_laboratory import MANY, launch, random_lines, run;"
        "kept = run(MANY, 'adaptive', launch(random_lines(900, 150), groups=9, instructions=3),"
        " launch(random_lines(300, 90, 2), groups=5, stores=True));"
        "print(json.dumps(kept.counts.tolist() + kept.channel.ravel().tolist()))"
    )
    here = str(Path(__file__).parent)
    found = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        command = [sys.executable, "-c", script, here]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]

"""Launches under a policy -> counts: what is found in which cache, what memory reads and writes,
how often in an open row, and what waits.

A run follows a sample of the lines: a class of lines that has sets, banks and channels of its own
(a workgroup has under way what falls to them). Two classes give the error of the sample: half of
what they differ by. Of many lines one is followed, and the smaller classes that it is made of give
the error, of one order of workgroups alone.

Where rows of memory and L1 do not matter, a class may have one of *laps* laps of the channels, its
lines numbered one behind the other, in caches of as many times fewer sets, with channels as many
times slower: a miniature (Waldspurger et al., Cache Modeling and Optimization using Miniature
Simulations, USENIX ATC 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import accumulate
from math import ceil, gcd, sqrt
from typing import NamedTuple

import numpy as np

from c3sim.cachelab import state as bits
from c3sim.cachelab import turns
from c3sim.cachelab.machine import Machine
from c3sim.cachelab.nests import GROUP, Program, program_of
from c3sim.cachelab.stream import Array, Launch, Sample, Stream
from c3sim.spec.study import Application

SAMPLES = 2  # whose difference tells the error
TWICE = 1_500_000  # lines of a sample: of more no second one is followed
MOST = 400_000  # lines that a sample follows; more are followed where classes are no smaller
LEAST_UNDER_WAY, FEWEST = 3, 2  # where rows matter, and where not
OFTEN, ROUNDS = 8.0, 3.0
PARTS = [bits.LOADED, bits.FOUND, bits.MOVED]  # of channels
CACHED = bits.L1 | bits.L2 | bits.STORES
ADAPTIVE = CACHED | bits.NO_WAIT | bits.RINSE | bits.PREDICT
#: Policies by name, as bits for the loops.
POLICIES = {
    "uncached": 0,
    "cache_r": bits.L1 | bits.L2,
    "cache_rw": CACHED,
    "allocation_bypass": CACHED | bits.NO_WAIT,
    "rinsing": CACHED | bits.RINSE,
    "reuse_predictor": CACHED | bits.PREDICT,
    "adaptive": ADAPTIVE,
    "past_l1": bits.L2 | bits.STORES,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Bytes of a program by place, under one policy.

    *left* is in lines of L2 (or of the memory-side cache) when it ends, and has to be written yet;
    *joined*: loads that went with another one of their sectors, past L1; *combined*: stores that
    met their line in L2; *inserted*: what took lines of the last shared
    cache. *row_hits*: part of the lines read and written that hit an open row. *stalls*: part of
    the time in which a channel of memory stood idle since a miss waited for a line, of its bank or,
    in proportion, of a unit. Of *samples*, each a *part* of all lines, the standard error: *error*,
    of the part that hits a cache, and *bytes_error*, a part of the bytes that memory reads and
    writes.
    """

    loaded: float = 0.0
    stored: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    joined: float = 0.0
    cache: float = 0.0
    read: float = 0.0
    written: float = 0.0
    left: float = 0.0
    combined: float = 0.0
    inserted: float = 0.0
    row_hits: float = 1.0
    stalls: float = 0.0
    seconds: float = 0.0
    samples: float = 1.0
    part: float = 1.0
    error: float = 0.0
    bytes_error: float = 0.0

    @property
    def found(self) -> float:
        """Part of the loads that L1 or L2 serves, or another load on its way."""
        return (self.l1 + self.l2 + self.joined) / self.loaded if self.loaded else 0.0

    @property
    def of_memory(self) -> float:
        """Bytes that memory reads and writes, those left in lines too."""
        return self.read + self.written + self.left

    @property
    def past_l1(self) -> float:
        """Bytes that go past L1."""
        return self.loaded - self.l1 + self.stored


class Sampled(NamedTuple):
    """*number* of *classes* classes of lines, in one of *laps* laps."""

    classes: int
    number: int
    laps: int = 1

    def of(self, machine: Machine) -> Sample | None:
        if self.classes == self.laps == 1:
            return None
        return partial(_of_class, machine, self)


def _of_class(machine: Machine, sampled: Sampled, line: Array) -> Array:
    own = machine.channel(line) % sampled.classes == sampled.number
    if sampled.laps > 1:
        own &= line // (machine.interleave * machine.channels) % sampled.laps == 0
    return np.asarray(own)


def laps_for(program: Program, machine: Machine, most: int = MOST) -> int:
    """Laps of which one is followed, so that no class has more than *most* lines: 2^i, as many as
    sets allow, and FEWEST lines of a class and lap that a workgroup has under way.
    """
    whole = sum(each.whole(machine.line) for each in program.launches) / machine.classes
    sets = machine.l2.sets // machine.banks
    if machine.memory_side is not None:
        sets = gcd(sets, machine.memory_side.sets // machine.channels)
    laps = 1
    while (
        whole / laps > most
        and sets % (2 * laps) == 0
        and machine.window >= 2 * laps * machine.classes * FEWEST
    ):
        laps *= 2
    return laps


def miniature(machine: Machine, laps: int) -> Machine:
    """*machine* as one of *laps* laps of lines has it."""
    side = machine.memory_side
    return replace(
        machine,
        window=max(1, round(machine.window / laps)),
        l2=machine.l2._replace(sets=machine.l2.sets // laps),
        memory_side=side._replace(sets=side.sets // laps) if side else None,
        queue=max(1, machine.queue // laps),
        l2_cycles=machine.l2_cycles * laps,
        memory_cycles=machine.memory_cycles * laps,
    )


def _error(values: Array) -> float:
    """Standard error of the mean of *values*."""
    return float(np.std(values, ddof=1)) / sqrt(len(values))


def _dirty(machine: Machine, state: bits.State) -> Array:
    """Written lines that each of the smallest classes has in caches."""
    shape = machine.dies, machine.banks, -1
    lines = (state.l2[:, bits.WRITTEN] == bits.HERE).reshape(shape).sum((0, 2))
    found = lines.reshape(-1, machine.classes).sum(0)
    if machine.memory_side:
        lines = state.side[:, bits.WRITTEN].reshape(machine.channels, -1).sum(1)
        found = found + lines.reshape(-1, machine.classes).sum(0)
    return np.asarray(found)


def images_for(application: Application, machine: Machine) -> int:
    """Images of a batch that stand for all: they go over the last shared cache OFTEN, and fill the
    places of workgroups ROUNDS times.
    """
    one = program_of(application, images=1).launches[0]
    moved = one.bytes(stored=False) + one.bytes(stored=True)
    of_cache, of_places = OFTEN * machine.shared / moved, _slots(machine, one) / one.workgroups
    return max(1, ceil(max(of_cache, ROUNDS * of_places)))


def classes_for(program: Program, machine: Machine, most: int = MOST) -> int:
    """Number of classes that lines fall into, so that none has more than *most*. A workgroup keeps
    LEAST_UNDER_WAY lines of each under way: with fewer, hits hardly change, rows do.
    """
    largest = max(1, machine.window // LEAST_UNDER_WAY)
    counts = [n for n in range(1, min(largest, machine.classes) + 1) if machine.classes % n == 0]
    whole = sum(each.whole(machine.line) for each in program.launches)
    return next((each for each in counts if whole / each <= most), counts[-1])


class Laboratory:
    """One program on one machine; its streams are kept, for several policies."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        *,
        most: int = MOST,
        samples: int = 1,
        laps: int = 1,
    ):
        self.program, self.machine, self.laps = program, miniature(machine, laps), laps
        self.classes = machine.classes if laps > 1 else classes_for(program, machine, most)
        self.samples = min(samples, self.classes)
        self._streams: dict[tuple[int, int], Stream] = {}

    def counts(self, policy: str) -> Counts:
        """Counts of the whole program under the policy called *policy*."""
        bits = POLICIES[policy]
        runs = [self._run(Sampled(self.classes, 0, self.laps), bits)]
        once = self._followed > TWICE and self.classes < self.machine.classes
        for number in range(1, 1 if once else self.samples):
            runs.append(self._run(Sampled(self.classes, number, self.laps), bits))
        mean = {
            each.name: float(np.mean([getattr(one, each.name) for one, _ in runs]))
            for each in fields(Counts)
        }
        if self.samples == 1:
            return Counts(**mean)
        parts = runs[0][1]
        if len(runs) > 1:
            parts = np.stack([of.sum(1) for _, of in runs], axis=1)
        loaded, found, moved = parts
        part = _error(moved) / (float(np.mean(moved)) or 1.0)
        hits = _error(found / np.maximum(loaded, 1.0))
        return Counts(**mean | {"samples": float(len(runs)), "error": hits, "bytes_error": part})

    @property
    def _followed(self) -> int:
        """Lines of one sample, each as often as it is followed."""
        streams = {key[0]: stream.lines for key, stream in self._streams.items()}
        return sum(streams[id(each)] for each in self.program.launches)

    def _stream(self, launch: Launch, sampled: Sampled, first: int) -> Stream:
        """Lines of *launch*, whose instructions are numbered from *first* on."""
        key = id(launch), sampled.number
        if key not in self._streams:
            sample = sampled.of(self.machine)
            stream = launch.stream(self.machine.grain, sample).renumbered(first)
            if self.laps > 1:
                machine = self.machine
                stream = stream.closed_up(machine.interleave, machine.channels, self.laps)
            self._streams[key] = stream
        return self._streams[key]

    def _run(self, sampled: Sampled, policy: int) -> tuple[Counts, Array]:
        """Counts, and of each of the smallest classes sectors loaded, found, lines of memory."""
        launches, machine = self.program.launches, self.machine
        names = _codes(launches)
        settings = settings_of(machine, policy, sampled.classes)
        larger = max(_share(machine, each) for each in launches)
        settings = settings._replace(window=round(settings.window * larger))
        state = bits.new_state(settings, machine.ways, sum(names.values()) or 1)
        slots = bits.new_slots(settings)
        now, sums, seconds = 0.0, np.zeros(bits.COUNTS), 0.0
        dealt = np.random.default_rng(1)
        of_channels = np.zeros((len(PARTS), machine.channels))
        base = dict(zip(names, accumulate(names.values(), initial=0), strict=False))
        for launch, weight in zip(launches, self.program.weights, strict=True):
            before, before_of = state.counts.copy(), state.channel[PARTS].copy()
            stream = self._stream(launch, sampled, base[launch.name])
            pace = pace_of(launch, stream.lines, machine, sampled.classes * self.laps)
            of_launch = settings._replace(slots=_slots(machine, launch))
            end = turns.run(of_launch, state, slots, *stream, now, *pace)
            sums += weight * (state.counts - before)
            of_channels += weight * (state.channel[PARTS] - before_of)
            seconds += weight * (end - now) / machine.clock
            now = end
            if machine.parts:  # in each launch a workgroup has another unit, by chance
                dealt.shuffle(slots.units)
        parts = of_channels.reshape(len(PARTS), -1, machine.classes).sum(1)
        parts[-1] += _dirty(machine, state)
        of_sample = parts[:, sampled.number :: sampled.classes]
        return _counts(machine, sampled.classes * self.laps, sums, seconds, state), of_sample


def _codes(launches: Sequence[Launch]) -> dict[str, int]:
    """Instructions of launches by name, each two codes."""
    names: dict[str, int] = {}
    for launch in launches:
        names[launch.name] = max(names.get(launch.name, 0), 2 * len(launch.spans))
    return names


def _places(machine: Machine, launch: Launch) -> int:
    """Workgroups of *launch* on a unit at once; *residents* have GROUP threads each."""
    places = max(1, machine.residents * GROUP // launch.threads)
    return min(places, launch.residents) if launch.residents else places


def _share(machine: Machine, launch: Launch) -> float:
    """Lines under way of a workgroup of *launch* over those of one of GROUP threads."""
    of_places = machine.residents / launch.residents if launch.residents else 1.0
    return max(1.0, launch.threads // GROUP, of_places)


def _slots(machine: Machine, launch: Launch) -> int:
    return machine.dies * machine.of_die * _places(machine, launch)


def pace_of(launch: Launch, lines: int, machine: Machine, classes: int) -> tuple[float, float]:
    """Cycles of a unit between two of *lines* lines of a sample, and of a workgroup's FLOP between
    two phases. Where phases are not known to take a unit's time, FLOP lie between lines.
    """
    cycles, phases = launch.flops / machine.flops, launch.phases
    if machine.oldest_first and phases:
        return float(classes), cycles / launch.workgroups / phases
    return classes * max(1.0, cycles / (max(1, lines) * classes)), 0.0


def settings_of(machine: Machine, policy: int, classes: int) -> bits.Settings:
    """Numbers that the loops read, for one of *classes* classes of lines."""
    return bits.Settings(
        policy=policy,
        leaving=bits.NEVER,
        dies=machine.dies,
        parts=machine.parts,
        units=machine.units,
        of_die=machine.of_die,
        oldest_first=machine.oldest_first,
        slots=machine.dies * machine.of_die * machine.residents,
        window=max(1, round(machine.window / classes)),
        classes=machine.classes,
        l1_sets=machine.l1.sets,
        l2_sets=machine.l2.sets,
        side_sets=machine.memory_side.sets if machine.memory_side else 0,
        written_ways=machine.written_ways,
        banks=machine.banks,
        channels=machine.channels,
        queue=machine.queue,
        interleave=machine.interleave,
        row_lines=machine.row_lines,
        row_banks=machine.row_banks,
        l1_latency=machine.l1_latency,
        l2_latency=machine.l2_latency,
        cache_latency=machine.cache_latency,
        memory_latency=machine.memory_latency,
        l2_cycles=machine.l2_cycles,
        memory_cycles=machine.memory_cycles,
        row_cycles=machine.row_cycles,
        join_time=machine.join_time,
        coalescers=machine.coalescers,
    )


def _counts(
    machine: Machine, classes: int, sums: Array, seconds: float, state: bits.State
) -> Counts:
    each, of_sector = machine.line * classes, machine.sector * classes
    moved = sums[bits.READS] + sums[bits.WRITES_OUT]
    dirty = float(_dirty(machine, state).sum())
    in_l2 = sums[bits.FILLED] - sums[bits.COPIED]
    filled = sums[bits.SIDE_FILLED] if machine.memory_side else in_l2
    cycles = seconds * machine.clock
    waited = sums[bits.IDLE] / machine.channels + sums[bits.UNIT_IDLE] / machine.units
    return Counts(
        loaded=sums[bits.LOADS] * of_sector,
        stored=sums[bits.STORED] * of_sector,
        l1=sums[bits.L1_HITS] * of_sector,
        l2=sums[bits.L2_LOAD_HITS] * of_sector,
        joined=sums[bits.JOINED] * of_sector,
        cache=sums[bits.SIDE_HITS] * each,
        read=sums[bits.READS] * each,
        written=sums[bits.WRITES_OUT] * each,
        left=dirty * each,
        combined=sums[bits.L2_STORE_HITS] * of_sector,
        inserted=filled * each,
        row_hits=float((sums[bits.READ_ROWS] + sums[bits.WRITE_ROWS]) / moved) if moved else 1.0,
        stalls=float(classes * waited / cycles) if cycles else 0.0,
        part=1.0 / classes,
        seconds=seconds,
    )

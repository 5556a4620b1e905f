"""One launch of a kernel as lines, in program order, by workgroup in dispatch order.

A loop nest says which *spans* of bytes its workgroups load and store: a span is what one
instruction of a workgroup touches in one piece. Here spans become lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
PAGE = 4096  # bytes; tensors begin at multiples of it
OF_EACH = ("group", "order", "start", "length", "phase", "lane")  # arrays of a span each
AT_ONCE = 1 << 15  # spans that become lines together: what they need meanwhile stays in caches
STEP_LINE, STEP_CODE, STEP_PHASE, STEP_NUMBERS = range(4)  # of a step
CODE_BITS, MOST_SECTORS = 20, 4  # of a code; above them, which sectors of its line a step touches,
ASKED = CODE_BITS + MOST_SECTORS  # and, from this bit on, how many sectors its waves ask for
CODES, SECTORS = (1 << CODE_BITS) - 1, (1 << MOST_SECTORS) - 1
#: True for the lines of a sample.
Sample = Callable[[Array], Array]


class Stream(NamedTuple):
    """Lines of one launch. Workgroup w has the steps from ``first[w]`` up to ``first[w + 1]``.

    *steps*: of 32 bits, side by side, as the loops read them: number of the line (2^31 lines are
    more than memory has), code and sectors, phase.
    """

    steps: Array
    first: Array

    @property
    def line(self) -> Array:
        """Number of the line of each step."""
        return np.asarray(self.steps[:, STEP_LINE])

    @property
    def code(self) -> Array:
        """2 x instruction, + 1 of a store."""
        return np.asarray(self.steps[:, STEP_CODE] & CODES)

    @property
    def sectors(self) -> Array:
        """Sectors of its line that each step asks for; one that two waves touch counts twice."""
        return np.asarray(self.steps[:, STEP_CODE] >> ASKED)

    @property
    def lines(self) -> int:
        return len(self.steps)

    def renumbered(self, first: int) -> Stream:
        """The same with instructions that are numbered from *first* on."""
        if not first:
            return self
        steps = self.steps.copy()
        steps[:, STEP_CODE] += first
        return Stream(steps, self.first)

    def closed_up(self, interleave: int, channels: int, laps: int) -> Stream:
        """The same where each of *laps* laps of the *channels* but one has been left out: without
        gaps, each line in its channel.
        """
        steps = self.steps.copy()
        chunk, within = np.divmod(steps[:, STEP_LINE], interleave)
        lap, turn = np.divmod(chunk, channels)
        new = lap // laps
        chunk = new * channels + (turn + lap - new) % channels
        steps[:, STEP_LINE] = chunk * interleave + within
        return Stream(steps, self.first)


class Grain(NamedTuple):
    """Unit of a request: a *line*, a *sector* of it, by a wave of so many *lanes* (0: by
    all of a workgroup); in bytes.
    """

    line: int
    sector: int
    lanes: int = 0


class _Spans(NamedTuple):
    group: Array
    order: Array
    start: Array
    length: Array
    code: int
    phase: Array
    shared: Array
    lane: Array  # of the first byte
    each: int  # bytes between a lane and the next


@dataclass
class Launch:
    """A kernel: the spans of *workgroups* workgroups of *threads* threads, and its FLOP.

    *name* names instructions of equal launches, such as the steps of a recurrent layer, alike.
    *place*: of each workgroup in the order of dispatch, where that is another one.
    """

    name: str
    workgroups: int
    flops: float = 0.0
    threads: int = 256
    residents: int = 0  # of a unit at most; 0: as many as its threads leave room for
    place: Array | None = None
    spans: list[_Spans] = field(default_factory=list)

    def touch(
        self, group: Array, order: Any, start: Array, length: Any, *, store: bool = False,
        phase: Any = 0, shared: Any = (0,), lane: Any = 0, each: int = 0,
    ) -> None:  # fmt: skip
        """One instruction: arrays (or one value for all) of workgroup, place in its program, first
        byte, bytes, and phase. *shared*: workgroups that touch the same span, as distances from the
        first one. *lane*: the thread of the first byte, whose neighbour is *each* bytes further (0:
        waves end where sectors do).
        """
        shape = np.broadcast_shapes(*(np.shape(each) for each in (group, order, start, length)))
        flat = [
            np.broadcast_to(np.asarray(each, dtype=np.int64), shape).ravel()
            for each in (group, order, start, length, phase, lane)
        ]
        keep = flat[3] > 0
        if not keep.all():
            flat = [each[keep] for each in flat]
        code = 2 * len(self.spans) + store
        own, at, begin, long, of, lanes = flat
        self.spans.append(_Spans(own, at, begin, long, code, of, np.asarray(shared), lanes, each))

    def stream(self, grain: Grain, sample: Sample | None = None) -> Stream:
        """Accesses of the launch in *grain*; with a *sample* to its lines alone."""
        parts = (part for each in self.spans for part in _lines(each, grain, sample))
        group, order, *step = (np.concatenate(each) for each in zip(*parts, strict=True))
        if self.place is not None:
            group = self.place[group]
        places = np.argsort(group * (int(order.max(initial=0)) + 1) + order, kind="stable")
        steps = np.empty((len(group), STEP_NUMBERS), dtype=np.int32)
        for column, values in zip((STEP_LINE, STEP_CODE, STEP_PHASE), step, strict=True):
            steps[:, column] = values[places]
        return Stream(steps, np.searchsorted(group[places], np.arange(self.workgroups + 1)))

    def whole(self, line: int) -> int:
        """Lines of *line* bytes that it touches, each as often as it does."""
        return int(sum(_count(each, line).sum() * len(each.shared) for each in self.spans))

    @property
    def phases(self) -> int:
        """Number of times that a workgroup waits for what it has asked for and computes on it."""
        return max((int(each.phase.max(initial=0)) for each in self.spans), default=0)

    def bytes(self, *, stored: bool) -> float:
        """Bytes that it loads, or stores."""
        asked = (each for each in self.spans if each.code % 2 == stored)
        return float(sum(each.length.sum() * len(each.shared) for each in asked))


def _count(spans: _Spans, line: int) -> Array:
    return np.asarray((spans.start + spans.length - 1) // line - spans.start // line + 1)


def _lines(spans: _Spans, grain: Grain, sample: Sample | None) -> Iterator[Sequence[Array]]:
    """Workgroup, order, line, code, phase of each line of *spans*, AT_ONCE of these at a time."""
    for at in range(0, len(spans.start), AT_ONCE):
        own = slice(at, at + AT_ONCE)
        of_each = {name: getattr(spans, name)[own] for name in OF_EACH}
        yield _lines_of(spans._replace(**of_each), grain, sample)


def _lines_of(spans: _Spans, grain: Grain, sample: Sample | None) -> Sequence[Array]:
    line, sector, _ = grain
    count = _count(spans, line)
    index = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    number = spans.start[index] // line + within
    if sample is not None:
        keep = sample(number)
        index, number = index[keep], number[keep]
    start, times = spans.start[index], len(spans.shared)
    begin = np.maximum(start, number * line)
    end = np.minimum(start + spans.length[index], (number + 1) * line)
    first, last = begin // sector, (end - 1) // sector
    mask = (2 << (last - number * (line // sector))) - (1 << (first - number * (line // sector)))
    asked = last - first + 1 + _twice(spans, index, begin, end, grain)
    code = spans.code + (mask << CODE_BITS) + (asked << ASKED)
    group = (spans.group[index][:, None] + spans.shared[None, :]).ravel()
    rest = (spans.order[index], number, code, spans.phase[index])
    order, number, code, phase = (np.repeat(each, times) for each in rest)
    return group, order, number, code, phase


def _twice(spans: _Spans, index: Array, begin: Array, end: Array, grain: Grain) -> Array | int:
    """Sectors of each piece from *begin* to *end* of a line of the span *index* that two waves
    touch; what a wave touches is as long as some sectors, but may begin within one.
    """
    wave = grain.lanes * spans.each
    if not wave:
        return 0
    origin = (spans.start - spans.lane % grain.lanes * spans.each)[index]
    within = (end - 1 - origin) // wave - (begin - origin) // wave
    return np.asarray(within * (origin % grain.sector != 0))


class Memory:
    """Places tensors one behind the other, each at a page."""

    def __init__(self) -> None:
        self._end = 0

    def place(self, size: float) -> int:
        """First byte of a tensor of *size* bytes."""
        begin = self._end
        self._end += -(-int(size) // PAGE) * PAGE
        return begin

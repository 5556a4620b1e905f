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
AT_ONCE = 1 << 15  # spans that become lines together: what they need meanwhile stays in caches
STEP_LINE, STEP_CODE, STEP_PHASE, STEP_NUMBERS = range(4)  # of a step
CODE_BITS = 20  # of a code; above them, how many sectors of its line a step touches
CODES = (1 << CODE_BITS) - 1
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
        """How many sectors of its line each step touches."""
        return np.asarray(self.steps[:, STEP_CODE] >> CODE_BITS)

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


class _Spans(NamedTuple):
    group: Array
    order: Array
    start: Array
    length: Array
    code: int
    phase: Array
    shared: Array


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
        phase: Any = 0, shared: Any = (0,),
    ) -> None:  # fmt: skip
        """One instruction: arrays (or one value for all) of workgroup, place in its program, first
        byte, bytes, and phase. *shared*: workgroups that touch the same span, as distances from the
        first one.
        """
        shape = np.broadcast_shapes(*(np.shape(each) for each in (group, order, start, length)))
        flat = [
            np.broadcast_to(np.asarray(each, dtype=np.int64), shape).ravel()
            for each in (group, order, start, length, phase)
        ]
        keep = flat[3] > 0
        if not keep.all():
            flat = [each[keep] for each in flat]
        code = 2 * len(self.spans) + store
        self.spans.append(
            _Spans(flat[0], flat[1], flat[2], flat[3], code, flat[4], np.asarray(shared))
        )

    def stream(self, line: int, sample: Sample | None = None, sector: int | None = None) -> Stream:
        """Accesses of the launch to lines of *line* bytes, in sectors of *sector* (left out: one a
        line); with a *sample* to its lines alone.
        """
        sizes = line, sector or line
        parts = (part for each in self.spans for part in _lines(each, sizes, sample))
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

    def bytes(self, *, stored: bool) -> float:
        """Bytes that it loads, or stores."""
        asked = (each for each in self.spans if each.code % 2 == stored)
        return float(sum(each.length.sum() * len(each.shared) for each in asked))


def _count(spans: _Spans, line: int) -> Array:
    return np.asarray((spans.start + spans.length - 1) // line - spans.start // line + 1)


def _lines(
    spans: _Spans, sizes: tuple[int, int], sample: Sample | None
) -> Iterator[Sequence[Array]]:
    """Workgroup, order, line, code, phase of each line of *spans*, AT_ONCE of these at a time."""
    for at in range(0, len(spans.start), AT_ONCE):
        own = slice(at, at + AT_ONCE)
        group, order, start, length = (each[own] for each in spans[:4])
        yield _lines_of(
            _Spans(group, order, start, length, spans.code, spans.phase[own], spans.shared),
            sizes,
            sample,
        )


def _lines_of(spans: _Spans, sizes: tuple[int, int], sample: Sample | None) -> Sequence[Array]:
    line, sector = sizes
    count = _count(spans, line)
    index = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    number = spans.start[index] // line + within
    if sample is not None:
        keep = sample(number)
        index, number = index[keep], number[keep]
    start, times = spans.start[index], len(spans.shared)
    first = np.maximum(start, number * line) // sector
    last = (np.minimum(start + spans.length[index], (number + 1) * line) - 1) // sector
    code = spans.code + ((last - first + 1) << CODE_BITS)
    group = (spans.group[index][:, None] + spans.shared[None, :]).ravel()
    rest = (spans.order[index], number, code, spans.phase[index])
    order, number, code, phase = (np.repeat(each, times) for each in rest)
    return group, order, number, code, phase


class Memory:
    """Places tensors one behind the other, each at a page."""

    def __init__(self) -> None:
        self._end = 0

    def place(self, size: float) -> int:
        """First byte of a tensor of *size* bytes."""
        begin = self._end
        self._end += -(-int(size) // PAGE) * PAGE
        return begin

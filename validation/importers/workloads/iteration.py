"""Which part of a trace is one iteration: by the host's marks of steps, else by what repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from c3sim.errors import InputError

from .trace import Trace, Work

ALIKE = 0.95  # of the kernels of a repetition have the name of those one period before


@dataclass(frozen=True, kw_only=True)
class Iteration:
    """*works* in order of launch; *before*: iterations that are known to have gone before it."""

    name: str
    works: Sequence[Work]
    before: int = 0

    @property
    def start(self) -> float:
        """Of its first kernel [us]."""
        return min(work.start for work in self.works)

    @property
    def wall(self) -> float:
        """From its first kernel's start to its last kernel's end [us]."""
        return max(work.end for work in self.works) - self.start


def iterations(trace: Trace) -> dict[int, Iteration]:
    """By number: as marked, else from 1 on; without either the whole trace is iteration 1."""
    if trace.marks:
        found = {
            number: Iteration(
                name=f"ProfilerStep#{number}", works=in_order(_within(trace, span)), before=number
            )
            for number, span in trace.marks.items()
        }
        return {number: each for number, each in found.items() if each.works}
    works = in_order(trace.works)
    size = period(works)
    if not size:
        return {1: Iteration(name="the whole trace", works=works)}
    return {
        turn + 1: Iteration(
            name=f"repetition {turn + 1}", works=works[begin : begin + size], before=turn
        )
        for turn, begin in enumerate(range(0, len(works) - size + 1, size))
    }


def choose(trace: Trace, wanted: int | None) -> tuple[Iteration, list[Iteration]]:
    """The iteration *wanted* and all of the trace. None: the whole trace without marks, else the
    last marked one. Raises InputError: there is none of that number.
    """
    found = iterations(trace)
    if wanted is None and not trace.marks:
        whole = Iteration(name="the whole trace", works=in_order(trace.works))
        return whole, [whole]
    number = max(found) if wanted is None else wanted
    if number not in found:
        numbers = ", ".join(str(each) for each in found)
        how = "marked" if trace.marks else "found by what repeats"
        raise InputError(f"got {number}; iterations {how}: {numbers}", "--iteration", trace.file)
    return found[number], list(found.values())


def in_order(works: Sequence[Work]) -> list[Work]:
    """In order of launch; those of one launch, a graph's, in order of start."""
    return sorted(works, key=lambda w: (w.start if w.called is None else w.called, w.start))


def period(works: Sequence[Work]) -> int:
    """Kernels after which all of *works* repeats; 0: it does not."""
    names = [work.name for work in works]
    for size in range(2, len(names) // 2 + 1):
        pairs = len(names) - size
        allowed = (1.0 - ALIKE) * pairs
        for first, second in zip(names, names[size:], strict=False):
            allowed -= first != second
            if allowed < 0:
                break
        else:
            return size
    return 0


def _within(trace: Trace, span: tuple[float, float]) -> list[Work]:
    """Works whose launch lies in *span*; of a trace without launches, those that start in it."""
    launched = any(work.called is not None for work in trace.works)
    return [
        work
        for work in trace.works
        if (time := work.called if launched else work.start) is not None
        and span[0] <= time < span[1]
    ]

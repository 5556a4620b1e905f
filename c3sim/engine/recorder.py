"""Records piecewise-constant rates of every flow of a run; energy and counters are derived from it.

A :class:`Recorder` only appends during the run. Afterwards :meth:`Recorder.segments` gives the
intervals in which a flow had one rate, and ``clocks`` the steps of every clock domain.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from c3sim.engine.flow import Flow


class Segment(NamedTuple):
    """*flow* at *rate* [its work per s], clock at *factor* in (0, 1], from *start* to *end* [s];
    *state*: of its domain, where that is more than a number.
    """

    flow: Flow
    start: float
    end: float
    rate: float
    factor: float
    state: Any = None


def clock_of(factor: Any) -> float:
    """The clock's part of a domain's state: a bare number, or a record with a field ``clock``."""
    return float(getattr(factor, "clock", factor))


class Recorder:
    """An observer of the fluid layer."""

    def __init__(self) -> None:
        # domain -> steps (time, factor)
        self.clocks: dict[Hashable, list[tuple[float, float]]] = {}
        # flow -> (time, rate, state of its domain, factor) from when on these hold
        self._steps: dict[Flow, list[tuple[float, float, Any, float]]] = {}
        self._ends: dict[Flow, float] = {}
        self._last: dict[Hashable, tuple[Any, float]] = {None: (None, 1.0)}  # of flows in no domain

    def rates(self, time: float, flows: Iterable[Flow], factors: Mapping[Hashable, Any]) -> None:
        """Rates were solved again for *flows*; they hold from *time* on."""
        last, known = self._last, self._steps
        for name, state in factors.items():
            if name not in last or last[name][0] is not state:
                factor = clock_of(state)
                last[name] = state, factor
                steps = self.clocks.setdefault(name, [])
                if not steps or steps[-1][1] != factor:
                    steps.append((time, factor))
        domain, now = None, last[None]
        for flow in flows:
            if flow.domain is not domain:
                domain, now = flow.domain, last[flow.domain]
            step = time, flow.rate, *now
            if flow in known:
                known[flow].append(step)
            else:
                known[flow] = [step]

    def ended(self, time: float, flow: Flow) -> None:
        """*flow* has done its work."""
        self._ends[flow] = time

    def segments(self) -> list[Segment]:
        """Every interval of positive length, in order of its flow's first rate, then of time."""
        segments = []
        for flow, steps in self._steps.items():
            end = self._ends.get(flow, flow.settled)  # a flow taken out unfinished was settled then
            untils = [time for time, *_ in steps[1:]] + [end]
            for (start, rate, state, factor), until in zip(steps, untils, strict=True):
                if until > start:
                    more = None if isinstance(state, float) else state
                    segments.append(Segment(flow, start, until, rate, factor, more))
        return segments

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
        self._log: list[tuple[float, Flow, float, Any]] = []
        self._ends: dict[Flow, float] = {}
        self._last: dict[Hashable, Any] = {}

    def rates(self, time: float, flows: Iterable[Flow], factors: Mapping[Hashable, Any]) -> None:
        """Rates were solved again for *flows*; they hold from *time* on."""
        append = self._log.append
        for flow in flows:
            append((time, flow, flow.rate, 1.0 if flow.domain is None else factors[flow.domain]))
        for name, factor in factors.items():
            if self._last.get(name) is not factor:
                self._last[name] = factor
                steps = self.clocks.setdefault(name, [])
                if not steps or steps[-1][1] != clock_of(factor):
                    steps.append((time, clock_of(factor)))

    def ended(self, time: float, flow: Flow) -> None:
        """*flow* has done its work."""
        self._ends[flow] = time

    def segments(self) -> list[Segment]:
        """Every interval of positive length, in order of its flow's first rate, then of time."""
        by_flow: dict[Flow, list[tuple[float, float, Any]]] = {}
        for time, flow, rate, factor in self._log:
            by_flow.setdefault(flow, []).append((time, rate, factor))
        segments = []
        for flow, steps in by_flow.items():
            end = self._ends.get(flow, flow.settled)  # a flow taken out unfinished was settled then
            for number, (start, rate, factor) in enumerate(steps):
                until = steps[number + 1][0] if number + 1 < len(steps) else end
                if until > start:
                    state = None if isinstance(factor, float) else factor
                    segments.append(Segment(flow, start, until, rate, clock_of(factor), state))
        return segments

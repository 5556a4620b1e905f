"""Counts what each task moves in memory, as hardware counters would: bytes that arrive, by task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Any

from c3sim.engine.flow import Flow


class MemoryCounter:
    """An observer of the fluid layer. ``reads`` and ``writes``: bytes of GPU 0's memory, by
    task.
    """

    def __init__(self) -> None:
        self.reads: dict[str, float] = defaultdict(float)
        self.writes: dict[str, float] = defaultdict(float)
        self._since: dict[Flow, tuple[float, float]] = {}

    def rates(self, time: float, flows: Iterable[Flow], states: dict[Hashable, Any]) -> None:
        """What flowed at the rates before counts; these hold from *time* on."""
        for flow in flows:
            self._count(flow, time)
            self._since[flow] = time, flow.rate

    def ended(self, time: float, flow: Flow) -> None:
        self._count(flow, time)
        self._since.pop(flow, None)

    def _count(self, flow: Flow, time: float) -> None:
        since, rate = self._since.get(flow, (time, 0.0))
        done = (time - since) * rate
        if flow.tags.gpu == 0:
            self.reads[flow.tags.task] += done * flow.tags.traffic.hbm_read
            self.writes[flow.tags.task] += done * flow.tags.traffic.hbm_write

"""When the GPUs of a run begin, and in which order their streams do.

All GPUs of a *class* begin alike. One event for all is one class that begins at once.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arrival:
    """One class: how *late* [s] it begins, and its streams' first tasks in order; the empty order:
    all at once, in launch order.
    """

    late: float = 0.0
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The *classes*; *spread* [s]: between the first and the last stream of a GPU."""

    classes: tuple[Arrival, ...] = (Arrival(),)
    spread: float = 0.0

    def of(self, gpu: int) -> Arrival:
        """GPUs are dealt to classes in turn."""
        return self.classes[gpu % len(self.classes)]

    def delay(self, task: str, gpu: int) -> float:
        """From the release of the run until *task*, the first of its stream, may begin [s]."""
        arrival = self.of(gpu)
        if task not in arrival.order:
            return arrival.late
        place = arrival.order.index(task) / max(1, len(arrival.order) - 1)
        return arrival.late + self.spread * place

"""How many compute units of each GPU hold workgroups, of any tasks: shared ones count once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from c3sim.engine.flow import Flow
from c3sim.processes.kernels.dispatcher import Dispatcher


class UnitsHeld:
    """An observer of the fluid layer that counts in the *dispatchers* of a run, by GPU and group of
    tasks, whenever rates are solved.
    """

    def __init__(self, dispatchers: Mapping[tuple[int, str], Dispatcher]) -> None:
        self._dispatchers = dispatchers
        self._steps: dict[int, tuple[list[float], list[int]]] = {}

    def rates(self, time: float, flows: Iterable[Flow], states: Mapping[Hashable, Any]) -> None:
        held: dict[int, int] = {}
        for (gpu, _), dispatcher in self._dispatchers.items():
            held[gpu] = held.get(gpu, 0) + _held(dispatcher)
        for gpu, units in held.items():
            times, values = self._steps.setdefault(gpu, ([], []))
            if not values or values[-1] != units:
                times.append(time)
                values.append(units)

    def ended(self, time: float, flow: Flow) -> None:
        """A unit is left when rates are solved next, at the same instant."""

    def times(self, gpu: int) -> list[float]:
        """When the number of *gpu* changes [s]."""
        return self._steps.get(gpu, ([], []))[0]

    def at(self, gpu: int, time: float) -> int:
        """Units of *gpu* that hold workgroups from *time* [s] on."""
        times, values = self._steps.get(gpu, ([], []))
        step = bisect_right(times, time) - 1
        return values[step] if step >= 0 else 0


def _held(dispatcher: Dispatcher) -> int:
    return sum(
        group.multiplicity * count
        for group in dispatcher.groups
        for (_, residents), count in group.units.items()
        if residents
    )

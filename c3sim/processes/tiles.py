"""Tiles of kernels as they finish: they release tasks (``after: gemm.tiles[25%]``), and tiles of
kernels that wait inside (``awaits``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from c3sim.models.stores import sight_time
from c3sim.processes.context import Context
from c3sim.processes.kernels.kernel import Awaited
from c3sim.processes.signals import Callback, Key, Signals, countdown
from c3sim.specs.references import parse_after
from c3sim.specs.stores import Stores
from c3sim.specs.task import KernelBase
from c3sim.specs.workload import Gemm, Workload

#: Relative: a share of tiles this close below the awaited one has been reached.
ROUNDING = 1e-9


class Tiles:
    """Shares of the tiles of all kernels of one run that have finished."""

    def __init__(self, context: Context, signals: Signals):
        self.context, self.signals = context, signals
        self._share: dict[Key, float] = {}
        self._awaited = _awaited_tiles(context.workload)
        self._inside = _awaited_inside(context.workload)
        self._waiting: dict[Key, list[tuple[float, Callback]]] = {}

    def watched(self, name: str) -> bool:
        """Whether anything waits for a part of its tiles, so that each round counts."""
        return name in self._awaited or name in self._inside

    def begin(self, name: str, gpu: int) -> None:
        """None of the tiles of task *name* has finished (again)."""
        self._share[name, gpu] = 0.0

    def finished(self, name: str, gpu: int, share: float) -> None:
        """A *share* of all tiles has finished: release what waits for the sum."""
        key = (name, gpu)
        self._share[key] += share
        for signal, wanted in self._awaited.get(name, ()):
            if self._reached(key, wanted):
                self.signals.fire((signal, gpu))
        waiting = self._waiting.pop(key, [])
        self._waiting[key] = [each for each in waiting if not self._reached(key, each[0])]
        for wanted, call in waiting:
            if self._reached(key, wanted):
                call()

    def _reached(self, key: Key, wanted: float) -> bool:
        return self._share.get(key, 0.0) >= wanted * (1 - ROUNDING)

    def awaited(self, names: Sequence[str], gpu: int) -> Awaited | None:
        """What calls back once a share of the tiles of all *names* has finished and been seen."""
        return partial(self._when, names, gpu) if names else None

    def _when(self, names: Sequence[str], gpu: int, share: float, call: Callback) -> None:
        one = countdown(len(names), call)
        for name in names:
            task = self.context.workload.tasks[name]
            assert isinstance(task, Stores | Gemm)  # checked on input
            seen = partial(self.context.once_past, sight_time(self.context.node.gpu, task), one)
            if self._reached((name, gpu), share):
                one()
            else:
                self._waiting.setdefault((name, gpu), []).append((share, seen))


def _awaited_tiles(workload: Workload) -> dict[str, list[tuple[str, float]]]:
    """Kernel -> (signal, share of its tiles), by share: the order of release at one instant."""
    awaited: dict[str, list[tuple[str, float]]] = {}
    for task in workload.tasks.values():
        for entry in task.after:
            after = parse_after(entry)
            if after.tiles is not None:
                awaited.setdefault(after.task, []).append((entry, after.tiles))
    for shares in awaited.values():
        shares.sort(key=lambda item: item[1])
    return awaited


def _awaited_inside(workload: Workload) -> set[str]:
    tasks = workload.tasks.values()
    return {name for task in tasks if isinstance(task, KernelBase) for name in task.awaits}

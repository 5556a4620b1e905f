"""Tiles of kernels as they finish: they release tasks (``after: gemm.tiles[25%]``, of a group of
owners ``gemm.tiles[peer 1]``), and tiles of kernels that wait inside (``awaits``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from c3sim.models.tile_order import share_behind
from c3sim.processes.kernels.kernel import Awaited
from c3sim.processes.plan import Context, Plan
from c3sim.processes.signals import Callback, Key, countdown
from c3sim.spec.workload import After

#: Relative: a share of tiles this close below the awaited one has been reached.
ROUNDING = 1e-9


class Tiles:
    """Shares of the tiles of all kernels of one run that have finished."""

    def __init__(self, context: Context):
        self.context = context
        self._share: dict[Key, float] = {}
        self._awaited = _awaited_tiles(context.plan)
        self._inside = {name for task in context.plan.tasks.values() for name in task.awaits}
        self._waiting: dict[Key, list[tuple[float, Callback]]] = {}
        self._stalls: dict[Key, float] = {}  # s of the workgroup that has just ended a tile

    def watched(self, name: str) -> bool:
        """True if anything waits for a part of its tiles, so that each round counts."""
        return name in self._awaited or name in self._inside

    def begin(self, name: str, gpu: int) -> None:
        """None of the tiles of task *name* has finished (again)."""
        self._share[name, gpu] = 0.0

    def stall(self, name: str, gpu: int, time: float) -> None:
        """The workgroup of task *name* whose tile has just finished posts packets for *time* s."""
        self._stalls[name, gpu] = self._stalls.get((name, gpu), 0.0) + time

    def finished(self, name: str, gpu: int, share: float) -> float:
        """A *share* of all tiles has finished: release what waits for the sum. Seconds in which the
        workgroup that ended the last of them posts packets.
        """
        key = (name, gpu)
        self._share[key] += share
        for signal, after in self._awaited.get(name, ()):
            if self._reached(key, self._wanted(after, gpu)):
                self.context.signals.fire((signal, gpu))
        waiting = self._waiting.pop(key, [])
        self._waiting[key] = [each for each in waiting if not self._reached(key, each[0])]
        for wanted, call in waiting:
            if self._reached(key, wanted):
                call()
        return self._stalls.pop(key, 0.0)

    def _wanted(self, after: After, gpu: int) -> float:
        """The share of the tiles of a kernel on *gpu* that *after* waits for."""
        if after.peer is None:
            return after.tiles or 0.0
        return share_behind(self.context.plan[after.task].tile_groups(gpu), after.peer)

    def _reached(self, key: Key, wanted: float) -> bool:
        return self._share.get(key, 0.0) >= wanted * (1 - ROUNDING)

    def awaited(self, names: Sequence[str], gpu: int) -> Awaited | None:
        """Event that fires once a share of the tiles of all *names* has finished and been seen."""
        return partial(self._when, names, gpu) if names else None

    def _when(self, names: Sequence[str], gpu: int, share: float, call: Callback) -> None:
        waits = [
            (name, key, wanted)
            for name in names
            for key, wanted in self._producers(name, gpu, share).items()
        ]
        one = countdown(len(waits), call)
        for name, key, wanted in waits:
            seen = partial(self.context.once_past, self.context.plan[name].flag_latency, one)
            if self._reached(key, wanted):
                one()
            else:
                self._waiting.setdefault(key, []).append((wanted, seen))

    def _producers(self, name: str, gpu: int, share: float) -> dict[Key, float]:
        """Whose tiles of *name* a consumer on *gpu* waits for, and the share that must have
        finished: its own; of a GEMM that stores its results at their owners those of all GPUs that
        belong to it.
        """
        task, node = self.context.plan[name], self.context.node
        if not task.tiles_at_owners:
            return {(name, gpu): share}
        found: dict[Key, float] = {}
        for offset in range(node.gpus):  # from the producer to this GPU
            producer = node.peer(gpu, (node.gpus - offset) % node.gpus)
            key = (name, self.context.machine.home(producer, gpu))
            wanted = share_behind(task.tile_groups(producer), offset, share)
            found[key] = max(found.get(key, 0.0), wanted)
        return found


def _awaited_tiles(plan: Plan) -> dict[str, list[tuple[str, After]]]:
    """Kernel -> (signal, tiles that it waits for), by share: the order of release at one instant.
    Owners come behind shares.
    """
    awaited: dict[str, list[tuple[str, After]]] = {}
    for task in plan.tasks.values():
        for entry, after in zip(task.task.after, task.after, strict=True):
            if after.tiles is not None or after.peer is not None:
                awaited.setdefault(after.task, []).append((entry, after))
    for shares in awaited.values():
        shares.sort(key=lambda item: item[1].tiles or 1.0)
    return awaited

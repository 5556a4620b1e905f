"""The bench on which all tabs simulate: one thread, and long work makes way for what follows a
slider, in the middle of a run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from c3sim.evaluation.shares import Progress
from c3sim.simulation.simulate import may_be_called_off

Stale = Callable[[], bool]  # whether nobody looks at it any more
LOOK = 0.3  # seconds that a first look may take when a newer one is asked for already


class Overtaken(BaseException):
    """Long work that has made way: no error, so nothing on its way takes it for one."""


def _never() -> bool:
    return False


class Bench:
    """Runs one thing after the other."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1)
        self._waiting = 0  # for a run
        self._over = False

    async def run(self, act: Callable[..., Any], *given: Any, stale: Stale = _never) -> Any:
        """*act(given)* as soon as what runs now has ended, or has made way. Raises Overtaken where
        it is *stale* after LOOK s: a hand that goes on moving still sees the places between.
        """
        begun: list[float] = []

        def watched() -> Any:
            begun.append(time.monotonic())
            with may_be_called_off(ask):
                return act(*given)

        def ask() -> None:
            if self._over or (time.monotonic() - begun[0] > LOOK and stale()):
                raise Overtaken

        self._waiting += 1
        try:
            return await self._in_turn(watched)
        finally:
            self._waiting -= 1

    async def when_idle(
        self, act: Callable[..., Any], given: Any, stale: Stale, told: Progress
    ) -> Any:
        """*act(given, watch)*: it calls *watch* as a Progress between its parts, which is passed on
        to *told* here. Raises Overtaken, in the middle of any run of it, once somebody waits for a
        run, the work is *stale*, or the server ends.
        """
        loop = asyncio.get_running_loop()

        def ask() -> None:
            if self._over or self._waiting > 0 or stale():
                raise Overtaken

        def watch(what: str, done: int, total: int) -> None:
            ask()
            loop.call_soon_threadsafe(told, what, done, total)

        def watched() -> Any:
            with may_be_called_off(ask):
                return act(given, watch)

        return await self._in_turn(watched)

    async def _in_turn(self, act: Callable[..., Any], *given: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._worker, act, *given)

    def close(self) -> None:
        """End with the server; what runs makes way."""
        self._over = True
        self._worker.shutdown(cancel_futures=True)

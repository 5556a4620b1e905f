"""The bench on which all tabs simulate: one thread, and long work makes way for what follows a
slider.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

Told = Callable[[str, int, int], None]  # what is being done, how many are done, of how many


class Overtaken(Exception):
    """Long work that has made way."""


class Bench:
    """Runs one thing after the other."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1)
        self._waiting = 0  # for a run
        self._over = False

    async def run(self, act: Callable[..., Any], *given: Any) -> Any:
        """*act(given)* as soon as what runs now has ended, or has made way."""
        self._waiting += 1
        try:
            return await self._in_turn(act, *given)
        finally:
            self._waiting -= 1

    async def when_idle(
        self, act: Callable[..., Any], given: Any, stale: Callable[[], bool], told: Told
    ) -> Any:
        """*act(given, watch)*: it calls *watch* as a :data:`Told` between its parts, which passes
        that on to *told* here, or raises Overtaken once somebody waits for a run, the work is
        *stale*, or the server ends.
        """
        loop = asyncio.get_running_loop()

        def watch(what: str, done: int, total: int) -> None:
            if self._over or self._waiting > 0 or stale():
                raise Overtaken
            loop.call_soon_threadsafe(told, what, done, total)

        return await self._in_turn(act, given, watch)

    async def _in_turn(self, act: Callable[..., Any], *given: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._worker, act, *given)

    def close(self) -> None:
        """End with the server; what runs makes way."""
        self._over = True
        self._worker.shutdown(cancel_futures=True)

"""The bench on which all tabs simulate: one thread, and long work makes way for what follows a
slider.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


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
        self, act: Callable[..., Any], given: Any, stale: Callable[[], bool]
    ) -> Any:
        """*act(given, overtaken)*, where *overtaken* is true once somebody waits for a run, it is
        *stale*, or the server ends: *act* then raises.
        """
        return await self._in_turn(act, given, lambda: self._over or self._waiting > 0 or stale())

    async def _in_turn(self, act: Callable[..., Any], *given: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._worker, act, *given)

    def close(self) -> None:
        """End with the server; what runs makes way."""
        self._over = True
        self._worker.shutdown(cancel_futures=True)

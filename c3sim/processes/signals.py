"""Things that happen once (a task's end, a share of its tiles, a chunk) and what waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Key = tuple[str, int]  # (name, GPU)


class Signals:
    def __init__(self) -> None:
        self.happened: set[Key] = set()
        self._waiting: dict[Key, list[Callable[[], None]]] = {}

    def fire(self, key: Key) -> None:
        if key not in self.happened:
            self.happened.add(key)
            for call in self._waiting.pop(key, []):
                call()

    def when(self, keys: Iterable[Key], call: Callable[[], None]) -> None:
        """Call *call* once all *keys* have happened (at once if they have)."""
        missing = [key for key in dict.fromkeys(keys) if key not in self.happened]
        left = len(missing)
        if not left:
            call()
            return

        def one() -> None:
            nonlocal left
            left -= 1
            if not left:
                call()

        for key in missing:
            self._waiting.setdefault(key, []).append(one)

    def missing(self, keys: Iterable[Key]) -> list[str]:
        return [key[0] for key in keys if key not in self.happened]

"""Things that happen once (a task's end, a share of its tiles, a chunk) and what waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Callback = Callable[[], None]
Key = tuple[str, int]  # (name, GPU)


def countdown(count: int, then: Callback) -> Callback:
    """A function that calls *then()* when it is called for the *count*-th time."""
    left = count

    def one() -> None:
        nonlocal left
        left -= 1
        if not left:
            then()

    return one


class Signals:
    """Each signal fires once; what waits for several is called with the last of them."""

    def __init__(self) -> None:
        self._fired: set[Key] = set()
        self._waiting: dict[Key, list[Callback]] = {}

    def fire(self, key: Key) -> None:
        if key not in self._fired:
            self._fired.add(key)
            for callback in self._waiting.pop(key, []):
                callback()

    def when(self, keys: Iterable[Key], callback: Callback) -> None:
        """Call *callback* once all *keys* have fired (at once if they have)."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._fired]
        if not missing:
            callback()
        one_fired = countdown(len(missing), callback)
        for key in missing:
            self._waiting.setdefault(key, []).append(one_fired)

    def missing(self, keys: Iterable[Key]) -> list[str]:
        return [key[0] for key in keys if key not in self._fired]

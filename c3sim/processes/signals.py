"""Things that happen once (a task's end, a share of its tiles, a chunk) and what waits for them;
threads of the host, whose jobs wait for each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from functools import partial

from c3sim.engine.clock import Clock

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


class HostThread:
    """A thread that does one job at a time, in the order of the requests."""

    def __init__(self, env: Clock):
        self.env = env
        self.free_at = 0.0
        self.has_copied = False  # has called the runtime for DMA commands
        self._batch: tuple[Hashable, float] | None = None
        self._blocked = False
        self._waiting: deque[Callable[[], object]] = deque()

    def open_batch(self, name: Hashable, time: float) -> None:
        """Begin a batch of *time* s that all jobs of that *name* at this instant share."""
        if self._batch != (name, self.env.now):
            self._batch = (name, self.env.now)
            self.when_free(partial(self._reserve, time))

    def do(self, time: float, call: Callable[[], None]) -> None:
        """Work for *time* s, behind all earlier requests; then *call()*."""
        self.when_free(partial(self.occupy, time, call))

    def when_free(self, job: Callable[[], object]) -> None:
        """Call *job*, which occupies the thread, as soon as the thread is not blocked."""
        if self._blocked:
            self._waiting.append(job)
        else:
            job()

    def occupy(self, time: float, call: Callable[[], None]) -> None:
        """Do *call* after *time*, as :meth:`do`, by the job that holds the thread, blocked too."""
        self.env.call(self._reserve(time), call)

    def block(self) -> None:
        """Suspend all jobs except the current holder until :meth:`release`."""
        self._blocked = True

    def release(self) -> None:
        """Go on with the requests that came meanwhile, in order."""
        self._blocked = False
        while self._waiting and not self._blocked:
            self._waiting.popleft()()

    def _reserve(self, time: float) -> float:
        """Take the thread for *time* s; returns the delay from now until that is done."""
        self.free_at = max(self.free_at, self.env.now) + time
        return self.free_at - self.env.now

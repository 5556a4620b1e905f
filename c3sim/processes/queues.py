"""Hardware queues of a GPU: its streams share them, and each is served in launch order.

The stream that is used as the n-th goes into queue n mod *count*. The first kernel of a queue waits
there for what it depends on, and everything behind it waits too, of whatever stream. Once it has
been issued, the next one comes to the front, without a wait for its end.

One unit issues the kernels of all queues, one after the other: *issue* s each, *switch* s more when
it turns to another queue, which it does when the first kernel of its own is not ready.

Rule and times: streams of short kernels on H100 and H200, by depth and by breadth
(validation/data/kernels, ``*-queues``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from c3sim.processes.plan import Context
from c3sim.processes.signals import Callback, Key


class _Entry(NamedTuple):
    needs: tuple[Key, ...]
    begin: Callback
    stays: bool


class Queues:
    """Hardware queues of one GPU."""

    def __init__(self, context: Context, count: int):
        kernels = context.node.gpu.kernels
        self.context, self.count = context, count
        self.issue, self.switch = kernels.queue_issue_time, kernels.queue_switch_time
        self._queues: list[deque[_Entry]] = [deque() for _ in range(count)]
        self._numbers: dict[str, int] = {}  # of a stream
        self._begun: dict[int, float] = {}  # when the last kernel of a queue begins [s]
        self._ready: list[int] = []  # queues whose first kernel may begin
        self._last = -1  # the queue that was served last
        self._busy = False

    def put(self, stream: str, needs: Iterable[Key], begin: Callback, *, stays: bool) -> None:
        """Launch a kernel into the queue of *stream*; *begin()* once it is issued. One that *stays*
        is in front until :meth:`pass_by`.
        """
        queue = self._queue(stream)
        self._queues[queue].append(_Entry(tuple(needs), begin, stays))
        if len(self._queues[queue]) == 1:
            self._look(queue)

    def pass_by(self, stream: str) -> None:
        """The kernel in front of the queue of *stream* lets the next one come."""
        queue = self._queue(stream)
        self._queues[queue].popleft()
        if self._queues[queue]:
            self._look(queue)

    def in_order(self, stream: str, begin: float) -> float:
        """Begin [s] of a kernel that might at *begin*: not before the one issued before it."""
        queue = self._queue(stream)
        self._begun[queue] = max(begin, self._begun.get(queue, 0.0))
        return self._begun[queue]

    def _queue(self, stream: str) -> int:
        return self._numbers.setdefault(stream, len(self._numbers)) % self.count

    def _look(self, queue: int) -> None:
        self.context.signals.when(self._queues[queue][0].needs, partial(self._offer, queue))

    def _offer(self, queue: int) -> None:
        self._ready.append(queue)
        if not self._busy:
            self._serve()

    def _serve(self) -> None:
        self._busy = bool(self._ready)
        if not self._ready:
            return
        stays = self._last in self._ready
        queue = self._last if stays else self._ready[0]
        self._ready.remove(queue)
        self._last = queue
        time = self.issue + (0.0 if stays else self.switch)
        self.context.after(time, partial(self._issue, queue))

    def _issue(self, queue: int) -> None:
        entry = self._queues[queue][0]
        entry.begin()
        if not entry.stays:
            self._queues[queue].popleft()
            if self._queues[queue]:
                self._look(queue)
        self._serve()

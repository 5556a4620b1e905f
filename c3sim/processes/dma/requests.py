"""Requests: copies that read from a peer and that the peer's engine carries, as a write
(``pull_executor: source``).

- The source's engine carries the requests of all GPUs in one queue, in order of submission. A
  request that is not due holds up those behind it.
- A request that finds its own queue idle is due at once. Any other is due ``remote_read_latency``
  after the GPU's engine has come to it. For one behind another command that latency starts at the
  last byte of its predecessor. One notice makes a whole batch due.
- When the bytes have landed, the GPU's engine sees that when it comes to the queue again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from c3sim.processes.context import Context
from c3sim.processes.dma.engines import (
    Engines,
    Execution,
    PendingRequest,
    QueueKey,
    RequestQueue,
    Step,
)


@dataclass(eq=False)
class Request:
    """*step* for the source's engine; its end is seen *landing* s after its last byte."""

    context: Context
    step: Step
    landing: float
    queued_behind: bool = False  # something was before it in its queue
    # requests that become due with it: itself, and those it leads
    batch: list[tuple[PendingRequest, RequestQueue]] = field(default_factory=list)
    landed: bool = False
    execution: Execution | None = None  # in its own queue, once the engine has come to it

    def submit(
        self, engines: Engines, step: Step, task: str, leader: Request | None, idle: bool
    ) -> Request:
        """The doorbell has rung for *step*, of a queue that *task* may have to itself and that was
        *idle*; *leader*: the request that it begins with. Returns the leader of those behind it.
        """
        queue = engines.requests(QueueKey(self.step.gpu, self.step.engine, self.step.queue, task))
        pending = PendingRequest(self.step, self.on_landed)
        queue.waiting.append(pending)
        if leader is not None:
            leader.batch.append((pending, queue))
            return leader
        self.batch.append((pending, queue))
        self.queued_behind = not idle
        if idle and not step.polled:
            self.context.after(step.fetch, self.make_due)
        return self

    def make_due(self) -> None:
        for pending, _ in self.batch:
            pending.due = True
        for _, queue in self.batch:
            queue.advance()

    def on_turn(self, execution: Execution) -> None:
        """Its own queue's turn: tell the source, unless it knows, and wait for the end."""
        self.execution = execution
        execution.free_engine()
        if self.batch and not self.batch[0][0].due:
            latency = self.context.node.gpu.dma_engines.remote_read_latency or 0.0
            past = self.landing if self.queued_behind else 0.0  # since its predecessor's last byte
            self.context.after(max(0.0, latency - past), self.make_due)
        if self.landed:
            self._complete(execution)

    def on_landed(self) -> None:
        """The bytes have landed, and the source's engine has said so."""
        self.landed = True
        if self.execution is not None:
            self._complete(self.execution)

    def _complete(self, execution: Execution) -> None:
        """Let the engine see the end as soon as it comes to the queue again."""
        ring = execution.ring
        ring.pending += 1
        ring.ready.appendleft((self.step._replace(run=_see_end, size=0.0), execution.completed))
        execution.free_ring()


def _see_end(execution: Execution) -> None:
    execution.completed()
    execution.free_both()

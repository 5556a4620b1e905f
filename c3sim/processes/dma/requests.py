"""Copies that read from a peer and that the peer's engine carries, as a write (``pull_executor:
source``).

What a GPU submits is then a request. The source's engine carries the requests of all others in one queue, in order of
submission; one that is not due holds up those behind it. A request is due at once if nothing was before it in its own queue
when it was submitted; otherwise the GPU's engine has to come to it first, and to tell the source (``remote_read_latency``),
once for a batch. When the bytes have landed, the GPU's engine has to come to that queue again, to see that they have.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from c3sim.processes.context import Context
from c3sim.processes.dma.commands import copy_step, landing_time
from c3sim.processes.dma.copies import DmaCopy
from c3sim.processes.dma.engines import Asked, Engines, Key, Line, Requested, Step, Turn

REQUESTED = -1  # the queue of an engine that it carries requests in


def carried(context: Context, copy: DmaCopy) -> DmaCopy:
    """*copy* as the engine sees it that carries it."""
    if copy.pull and context.node.gpu.dma_engines.pull_executor == "source":
        return replace(copy, gpu=context.machine.home(copy.source), queue=REQUESTED)
    return copy


def transfer_step(
    context: Context,
    task: str,
    copy: DmaCopy,
    *,
    in_order: bool = False,
    signalled: bool = True,
    sharers: int = 1,
) -> Step:
    """The step that carries *copy* out, or requests it; parameters as of :func:`copy_step`."""
    moved = carried(context, copy)
    if moved is copy:
        return copy_step(
            context, task, copy, in_order=in_order, signalled=signalled, sharers=sharers
        )
    step = copy_step(context, task, moved, signalled=signalled, sharers=sharers)
    request = Request(context, step, landing_time(context, signalled=signalled))
    return replace(
        step,
        gpu=copy.gpu,
        queue=copy.queue,
        pull=True,
        in_order=in_order,
        run=request.reach,
        request=request,
    )


@dataclass(eq=False)
class Request:
    """*step*: what the source's engine is to do; its end can be seen *landing* s after its last
    byte has moved.
    """

    context: Context
    step: Step
    landing: float
    follows: bool = False  # something was before it in its queue
    batch: list[tuple[Asked, Line]] = field(
        default_factory=list
    )  # made due by it: itself, and those it leads
    over: bool = False
    turn: Turn | None = None  # of its own queue, once the engine has come to it

    def submit(
        self, engines: Engines, key: Key, step: Step, leader: Requested | None, idle: bool
    ) -> Requested:
        """Stand in line at the source's engine."""
        line = engines.line((self.step.gpu, self.step.engine, self.step.queue, key[3]))
        asked = Asked(self.step, self.end)
        line.waiting.append(asked)
        if isinstance(leader, Request):
            leader.batch.append((asked, line))
            return leader
        self.batch.append((asked, line))
        self.follows = not idle
        if idle and not step.polled:
            self.context.after(step.fetch, self.make_due)
        return self

    def make_due(self) -> None:
        for asked, _ in self.batch:
            asked.due = True
        for _, line in self.batch:
            line.advance()

    def reach(self, turn: Turn) -> None:
        """The engine has come to it in its own queue: tell the source, unless it was told at once,
        and wait for the end.
        """
        self.turn = turn
        turn.free()
        if self.batch and not self.batch[0][0].due:
            latency = self.context.node.gpu.dma_engines.remote_read_latency or 0.0
            # that of one behind another counts from the other's last byte
            self.context.after(max(0.0, latency - self.landing * self.follows), self.make_due)
        if self.over:
            self.see()

    def end(self) -> None:
        """The bytes have landed, and the source's engine has said so."""
        self.over = True
        if self.turn is not None:
            self.see()

    def see(self) -> None:
        """As soon as the engine comes to the queue again."""
        assert self.turn is not None
        ring = self.turn.ring
        ring.coming += 1
        ring.ready.appendleft((replace(self.step, run=_seen, size=0.0), self.turn.completed))
        self.turn.resume()


def _seen(turn: Turn) -> None:
    turn.completed()
    turn.over()

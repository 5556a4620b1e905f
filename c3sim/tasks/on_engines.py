"""Tasks that DMA engines carry out: their commands are submitted by the host, or by a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from c3sim.processes.dma.commands import engine_numbers
from c3sim.processes.dma.engines import Step
from c3sim.processes.dma.host import Ahead, DmaHost
from c3sim.processes.plan import Context, Planned, Turn
from c3sim.processes.signals import Callback
from c3sim.processes.tiles import Tiles
from c3sim.spec.hardware import Node
from c3sim.spec.task import Command, EngineTask, Posting, TaskClass
from c3sim.tasks.kind import Kind

T_co = TypeVar("T_co", bound=EngineTask, covariant=True)
T = TypeVar("T", bound=EngineTask)


class EngineKind(Kind[T]):
    """A kind of task that engines can do."""

    side: ClassVar[TaskClass] = "communication"

    def posted(self, task: T) -> Posting | None:
        return task.posted


@dataclass(frozen=True, kw_only=True, eq=False)
class OnEngines(Planned[T_co]):
    """Commands for engines."""

    side: ClassVar[TaskClass] = "communication"
    by_host: ClassVar[bool] = True
    by_engines: ClassVar[bool] = True

    copy_call: float
    """s of the host thread per copy that it calls for by itself"""

    @property
    def ahead(self) -> bool:
        """True if all its commands can be called for before its stream comes to them."""
        return self.posted is None

    def steps(self, context: Context, gpu: int, detail: dict[str, object]) -> list[Step]:
        """The steps of the engines of *gpu*; *detail* takes what they find out."""
        raise NotImplementedError

    def program(self) -> Sequence[Command]:
        """Commands of the first GPU, as far as it has several."""
        return ()

    @property
    def pulls(self) -> int:
        return sum(
            command.direction == "pull" and command.peer != "host" for command in self.program()
        )

    @property
    def shares_an_engine(self) -> bool:
        return _shares_an_engine(self.scene.node, self.program())

    @property
    def called(self) -> bool:
        return self.posted is None or super().called

    def call(self, context: Context, gpu: int, launched: Callback) -> None:
        """The call of its library, then of its copies, where they can be called for ahead."""
        super().call(context, gpu, launched)
        dma = context.part(DmaHost)
        for repeat in range(1, 1 + self.turns * (self.ahead and dma.calls_ahead(self.name))):
            ahead = dma.ahead[self.name, gpu, repeat] = Ahead(repeat)
            steps = self.steps(context, gpu, ahead.detail)
            dma.submit(self.name, gpu, steps, ahead.end, self.copy_call, ahead)

    def start(self, context: Context, turn: Turn) -> None:
        turn.started()
        self.submit(context, turn, turn.done)

    def submit(self, context: Context, turn: Turn, done: Callback) -> None:
        """Have the host, or the kernel that it waits for, submit it, or what the host has called
        for begin; *done()* at its end.
        """
        dma = context.part(DmaHost)
        ahead = dma.ahead.pop((self.name, turn.gpu, turn.repeat), None)
        if ahead is not None:
            turn.detail.update(ahead.detail)
            ahead.begin(done)
            return
        steps = self.steps(context, turn.gpu, turn.detail)
        if self.posted is None:
            dma.submit(self.name, turn.gpu, steps, done, self.copy_call)
            return
        stall(context, self, turn.gpu, dma.post(self.name, turn.gpu, steps, self.posted, done))


def stall(context: Context, planned: Planned[Any], gpu: int, busy: float) -> None:
    """The workgroup of the kernel that *planned* waits for posts for *busy* s."""
    for awaited in planned.after:  # none where the task is run alone
        context.part(Tiles).stall(awaited.task, gpu, busy)


def _shares_an_engine(node: Node, program: Sequence[Command]) -> bool:
    served: dict[int, set[tuple[int, Any]]] = {}
    for engine, command in zip(engine_numbers(node, 0, program), program, strict=True):
        if command.bytes is not None:
            served.setdefault(engine, set()).add((command.queue, command.peer))
    return any(
        len({queue for queue, _ in places}) > 1 and len({peer for _, peer in places}) > 1
        for places in served.values()
    )

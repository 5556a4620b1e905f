"""A host task: the host thread works, as on a step between launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from c3sim.processes.plan import Context, Planned, Scene, Turn
from c3sim.spec.task import Operator, TaskClass
from c3sim.spec.workload import HostTask
from c3sim.tasks.kind import Kind


class HostKind(Kind[HostTask]):
    """Work of the host thread."""

    side: ClassVar[TaskClass] = "host"

    def operator(self, _task: HostTask) -> Operator | None:
        return None

    def resolve(self, name: str, task: HostTask, scene: Scene) -> Planned[HostTask]:
        # every GPU's thread does the same; that one thread may serve all is the host's to say
        return HostWork(**self.placed(name, task, scene), foldable=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class HostWork(Planned[HostTask]):
    """The thread is busy for the task's time."""

    side: ClassVar[TaskClass] = "host"
    by_host: ClassVar[bool] = True

    def start(self, context: Context, turn: Turn) -> None:
        turn.started()
        context.host(turn.gpu, self.name).do(self.task.time, turn.done)

"""A DMA program: every queue of every engine runs its commands in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from c3sim.processes.dma.commands import program_steps
from c3sim.processes.dma.engines import Step
from c3sim.processes.dma.host import DmaHost
from c3sim.processes.plan import Context, Planned, Scene
from c3sim.spec.hardware import Node
from c3sim.spec.task import Command
from c3sim.spec.workload import Commands
from c3sim.tasks.on_engines import EngineKind, OnEngines


class CommandsKind(EngineKind[Commands]):
    """Programs of commands."""

    def payload(self, task: Commands, node: Node) -> float | None:
        """The bytes written."""
        written = sum(
            (2 if command.op == "swap" else len(command.peers) or 1) * (command.bytes or 0.0)
            for command in task.program
        )
        return written * task.repeat * (node.ranks if task.gpus == "all" else 1)

    def events(self, task: Commands, _node: Node) -> float:
        return 4 * len(task.program)

    def resolve(self, name: str, task: Commands, scene: Scene) -> Planned[Commands]:
        # peers are numbered from each GPU on, so that every GPU's program is the same
        placed = self.placed(name, task, scene) | {"call_time": task.launch_time or 0.0}
        copy_call = scene.node.host.copy_time
        return Program(**placed, copy_call=copy_call, foldable=task.gpus == "all")


@dataclass(frozen=True, kw_only=True, eq=False)
class Program(OnEngines[Commands]):
    """A program as written."""

    @property
    def on_first_gpu(self) -> bool:
        return self.task.gpus == "first"

    @property
    def names_engines(self) -> bool:
        return any(command.engine is not None for command in self.task.program)

    def program(self) -> Sequence[Command]:
        return self.task.program

    def steps(self, context: Context, gpu: int, detail: dict[str, object]) -> list[Step]:
        stamps: dict[str, float] = {}
        if any(command.op == "timestamp" for command in self.task.program):
            detail["timestamps_s"] = stamps
        # whether every GPU's tracker starts it at the same instant
        alike = self.task.gpus == "all" and context.part(DmaHost).triggered(self.name)
        program = self.task.program
        return program_steps(context, self.name, gpu, program, mirrored=alike, times=stamps)

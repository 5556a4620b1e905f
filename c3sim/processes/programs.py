"""DMA command programs: what a ``commands`` task asks the engines to do, in order per engine."""

from __future__ import annotations

from collections.abc import Callable

from c3sim.processes.context import Context
from c3sim.processes.dma import DmaCopy, DmaQueues, Step
from c3sim.processes.signals import Signals
from c3sim.specs.workload import Command, Commands

__all__ = ["program_steps"]


def program_steps(
    context: Context, queues: DmaQueues, signals: Signals, name: str, gpu: int, task: Commands
) -> list[Step]:
    """A step for every command. ``wait`` holds its engine until a ``signal`` of the same name has run."""

    def step(command: Command) -> Step:
        if command.op == "copy":
            assert command.bytes is not None  # held by the schema
            peer = context.node.peer(gpu, command.peer or 0)
            return queues.copy_step(name, DmaCopy(gpu, command.engine, gpu, peer, command.bytes))
        key = (f"{name}:{command.on}", gpu)

        def signal(proceed: Callable[[], None], completed: Callable[[], None]) -> None:
            signals.fire(key)
            completed()
            proceed()

        def wait(proceed: Callable[[], None], completed: Callable[[], None]) -> None:
            def happened() -> None:
                completed()
                proceed()

            signals.when([key], happened)

        engines = context.node.gpu.dma_engines
        fetch = engines.latency * (1 - engines.completion_share)
        return Step(gpu, command.engine, fetch, signal if command.op == "signal" else wait)

    return [step(command) for command in task.program]

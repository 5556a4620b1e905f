"""Whether a kernel can post the packets of a task, and what groups of tiles belong to GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.errors import InputError
from c3sim.input.documents import join
from c3sim.specs.hardware import Node
from c3sim.specs.references import parse_after
from c3sim.specs.task import EngineTask, TaskBase
from c3sim.specs.workload import Collective, Copy


def posting_errors(task: EngineTask, path: str) -> Iterator[InputError]:
    """A workgroup posts packets for engines, behind its tiles, and waits for nothing else."""
    where = join(path, "posted")
    by: str = task.executor if isinstance(task, Copy) else "dma"
    if isinstance(task, Collective):
        by = task.backend or "a library"
    if by != "dma":
        yield InputError(f"packets are for engines; this task is done by {by}", where)
    if task.stream is not None:
        yield InputError("a kernel posts as its tiles end; leave out the stream", where)
    if task.repeat > 1:
        yield InputError(f"a kernel posts once; got repeat: {task.repeat}", where)
    try:
        waits = [parse_after(text) for text in task.after]
    except InputError:  # said elsewhere
        return
    if len(waits) != 1 or (waits[0].tiles, waits[0].peer) == (None, None):
        message = "a kernel posts behind a group of its tiles; needs one after: [gemm.tiles[25%]]"
        yield InputError(message, where)


def posting_on_node_errors(task: EngineTask, node: Node, path: str) -> Iterator[InputError]:
    """What posting a packet costs must be known, and NICs take none."""
    where = join(path, "posted")
    if node.gpu.dma_engines.post_time is None:
        message = f"{node.gpu.name} gives no dma_engines.post_time; needed for kernels that post"
        yield InputError(message, where)
    if node.nodes > 1 and isinstance(task, Collective):
        message = f"a collective over {node.nodes} nodes needs NICs, and hosts that post for them"
        yield InputError(message, where)


def owner_errors(task: TaskBase, node: Node, path: str) -> Iterator[InputError]:
    """``gemm.tiles[peer 9]`` where there is none."""
    for i, text in enumerate(task.after):
        peer = parse_after(text).peer if "peer" in text else None
        if peer is not None and peer >= node.gpus:
            message = f"{text!r}: peers are 0 (the GPU itself) to {node.gpus - 1} further round"
            yield InputError(message, join(path, "after", i))

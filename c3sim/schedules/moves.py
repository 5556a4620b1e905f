"""What moves the bytes of a step: a collective, copies to or from peers, additions."""

from __future__ import annotations

from c3sim.schedules.pair import Pair
from c3sim.specs.hardware import Node
from c3sim.specs.task import Kernel
from c3sim.specs.workload import Collective, Copy, Task


def collective_piece(pair: Pair) -> Collective:
    """The collective of one step. Engines only copy, so of a reduce-scatter they scatter."""
    op = "all_to_all" if pair.adds else pair.move.op
    change = {"op": op, "size": pair.move.size / pair.schedule.pieces}
    return pair.move.model_copy(update=change)


def own_copy(pair: Pair) -> Copy | None:
    """The copy of the own shard, by a kernel, where pieces of a step lie side by side in a buffer
    of the step: those that arrive land there, the own one has to be brought (libraries do that
    themselves). Columns of the operand (2d) are where the GEMM wants them.
    """
    schedule = pair.schedule
    side_by_side = schedule.fused and schedule.steps == "uniform" and schedule.shape == "1d"
    if not (pair.feeds and pair.by_engines and side_by_side) or pair.move.out_of_place:
        return None
    return own_shard(pair)


def own_shard(pair: Pair) -> Copy:
    """A copy of the own shard within the GPU, by a kernel."""
    size = pair.move.size / pair.ranks
    return Copy(kind="copy", bytes=size, destination="gpu", executor="kernel", gpus="all")


def peer_copy(pair: Pair, node: Node, peer: int, pieces: int) -> Copy:
    """A piece of a shard to the GPU *peer* further round, and from the one before it: by engines,
    or by as many workgroups as the library's collective has.
    """
    move = pair.move
    pull = move.direction == "pull"
    workgroups = None
    if not pair.by_engines:
        workgroups = (
            move.channels or node.collective_library(move.backend).channels.default[move.op]
        )
    return Copy(
        kind="copy",
        bytes=move.size / pair.ranks / pieces,
        source="peer" if pull else "gpu",
        destination="gpu" if pull else "peer",
        peer=peer,
        executor="dma" if pair.by_engines else "kernel",
        engines=move.engines if pair.by_engines else None,
        workgroups=workgroups,
        mapping=move.mapping,
        gpus="all",
    )


def addition(pair: Pair, parts: int) -> Kernel:
    """Adds what all ranks have sent of one of *parts* of the own shard."""
    size = pair.move.size / parts
    return Kernel(kind="kernel", read=size, written=size / pair.ranks)


def placed(task: Task, stream: str | None, after: list[str]) -> Task:
    return task.model_copy(update={"stream": stream, "after": tuple(dict.fromkeys(after))})

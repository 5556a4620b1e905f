"""The tasks of one step: its GEMM (extents, whether it adds to C, what it finds in the cache), and
what moves its bytes (a collective, copies to or from peers, additions).
"""

from __future__ import annotations

from math import prod

from c3sim.spec.hardware import Node
from c3sim.spec.schedules.pair import Pair
from c3sim.spec.task import Kernel
from c3sim.spec.workload import DTYPE_BYTES, Collective, Copy, Gemm, Task

_OPERANDS = ("mk", "kn")  # extents of A and of B


def piece(pair: Pair, ranks: int, step: int, *, begun: bool, own: bool = False) -> Gemm:
    """The GEMM of what *ranks* of the ranks have in *step*; *own*: of a whole shard.

    *begun*: a GEMM of the same schedule came before it; of the same step where it is not fused.
    """
    schedule, work = pair.schedule, pair.work
    extents = {name: getattr(work, name) for name in "mnk"}
    extents[schedule.along] = extents[schedule.along] * ranks // pair.ranks
    if not own:
        extents[schedule.along if schedule.shape == "1d" else pair.across] //= schedule.pieces
    adds = pair.feeds and _adds(pair, step, begun=begun, own=own)
    reused = _reused(pair, extents, own=own) * DTYPE_BYTES[work.dtype] if begun else 0
    return work.changed(**extents, accumulate=adds, reused=float(reused))


def _adds(pair: Pair, step: int, *, begun: bool, own: bool) -> bool:
    """True if an earlier piece has left a part of the same result."""
    schedule = pair.schedule
    flat = schedule.shape == "1d"
    if schedule.along == "k":
        if flat or own or schedule.steps == "uniform":
            return begun and (flat or not schedule.fused)
        return True
    return not (flat or own) and step > 0


def _reused(pair: Pair, extents: dict[str, int], *, own: bool) -> int:
    """Elements of the operand that the GEMM before it read as well: the one that is not cut."""
    schedule = pair.schedule
    cuts = schedule.along if schedule.shape == "1d" or not schedule.fused else pair.across
    if own and schedule.shape == "2d":
        cuts = "mnk"
    whole = [
        prod(extents[name] for name in names) for names in _OPERANDS if not set(names) & set(cuts)
    ]
    return whole[0] if whole else 0


def collective_piece(pair: Pair) -> Collective:
    """The collective of one step. Engines only copy, so of a reduce-scatter they scatter."""
    op = "all_to_all" if pair.adds else pair.move.op
    change = {"op": op, "size": pair.move.size / pair.schedule.pieces}
    return pair.move.changed(**change)


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
    return task.changed(stream=stream, after=tuple(dict.fromkeys(after)))

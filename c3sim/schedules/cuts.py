"""The GEMM of one step: its extents, whether it adds to C, what it finds in the cache."""

from __future__ import annotations

from math import prod

from c3sim.schedules.pair import Pair
from c3sim.specs.workload import DTYPE_BYTES, Gemm

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
    return work.model_copy(update={**extents, "accumulate": adds, "reused": float(reused)})


def _adds(pair: Pair, step: int, *, begun: bool, own: bool) -> bool:
    """Whether an earlier piece has left a part of the same result."""
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

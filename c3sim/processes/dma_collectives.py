"""Collectives on DMA engines as lists of copies: what each GPU asks its engines to do, by variant.

    pcpy  a copy to every peer, each on an engine of its own (or split over several)
    bcst  all-gather only: a broadcast for every two peers; the engine reads once and writes twice
    swap  all-to-all only: one command per pair of GPUs exchanges what they have for each other, in place
    b2b   the copies back to back on one engine (or dealt over several), with one signal at the end

Names as in arXiv 2511.06605. Prelaunch is the host's (``host.prelaunched``) and works with each of them.
"""

from __future__ import annotations

from c3sim.processes.context import Context
from c3sim.processes.dma import DmaCopy, engine_of
from c3sim.specs.workload import Collective

__all__ = ["collective_copies"]


def collective_copies(context: Context, gpu: int, task: Collective) -> list[DmaCopy]:
    """What *gpu* submits for *task*, in order."""
    made = {"bcst": _broadcasts, "swap": _swaps, "b2b": _back_to_back}.get(task.variant or "", _parallel)
    return made(context, gpu, task)


def _parallel(context: Context, gpu: int, task: Collective) -> list[DmaCopy]:
    """size/n to each peer (push) or from each (pull).

    The commands of one round go to different peers, so that all links are busy from the first round on.
    """
    gpus, parts = context.node.gpus, task.engines or 1
    copies = []
    for part in range(parts):
        for offset in range(1, gpus):
            ends = (gpu, context.node.peer(gpu, offset))
            source, destination = ends if task.direction != "pull" else ends[::-1]
            engine, size = engine_of(context, offset, part, parts), task.size / gpus / parts
            copies.append(DmaCopy(gpu, engine, source, destination, size, True))
    return copies


def _broadcasts(context: Context, gpu: int, task: Collective) -> list[DmaCopy]:
    """Peers two by two; with an odd number of peers the last one gets a copy."""
    gpus = context.node.gpus
    copies = []
    for turn, offset in enumerate(range(1, gpus, 2), start=1):
        second = (gpu + offset + 1) % gpus if offset + 1 < gpus else None
        engine, first = engine_of(context, turn), (gpu + offset) % gpus
        copies.append(DmaCopy(gpu, engine, gpu, first, task.size / gpus, True, second=second))
    return copies


def _swaps(context: Context, gpu: int, task: Collective) -> list[DmaCopy]:
    """Each pair once: with the peers up to half way round, and the pairs half way round by their lower GPU."""
    gpus = context.node.gpus
    offsets = [*range(1, (gpus + 1) // 2), *([gpus // 2] if gpus % 2 == 0 and gpu < gpus // 2 else [])]
    return [
        DmaCopy(
            gpu, engine_of(context, offset), gpu, (gpu + offset) % gpus, task.size / gpus, swap=True
        )
        for offset in offsets
    ]  # fmt: skip


def _back_to_back(context: Context, gpu: int, task: Collective) -> list[DmaCopy]:
    """Peers dealt over a few engines."""
    gpus, engines = context.node.gpus, task.engines or 1
    return [
        DmaCopy(gpu, (offset - 1) % engines, gpu, (gpu + offset) % gpus, task.size / gpus, True)
        for offset in range(1, gpus)
    ]

"""The rate [B/s] of one DMA engine, and the rules by which engines choose queues and poll.

An engine keeps a bounded number of bytes in flight. Its round trip is a read at the source, the
links there and back, and a write at the destination. Under load x (models/memory.py) the two
accesses to memory take 1 + x times as long:

    rate(x) = min( bandwidth,  bytes_in_flight / (2 t_hbm (1 + x) + 2 t_link) )

where x has of engines what they then move, not what they would ask of an idle memory.

- Pull (the engine reads from a peer): it waits for its data, where a push waits only for the
  acknowledgement; ``remote_read_bytes_in_flight`` says how many bytes it keeps in flight.
- Bytes on the link that are not payload (headers, requests), against those of kernels' copies, of
  which ``links.bandwidth`` is: the engine's ``link_efficiency``.
- A copy within the GPU crosses no link. Where several data paths share it (``local_bandwidth``),
  each keeps its own bytes in flight.
- A broadcast reads each byte once and writes it twice; ``broadcast_bandwidth`` counts what it
  writes.
- A swap moves as many bytes each way, through the same data path and out of the same bytes in
  flight.
- A reduction adds at most ``reduce_bandwidth`` to what lies at the destination, which is read
  there first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random

from c3sim.spec.dma_engines import DmaEngines, Operation, PollStagger, ReleasedQueueStart
from c3sim.spec.hardware import Node


def engine_rate(
    node: Node, *, linked: bool, pull: bool = False, work: float = 1.0, ways: int = 1
) -> Callable[[float], float]:
    """Rate [B/s] of one engine by memory load; *linked*: the copy crosses a link; *pull*: it
    reads from a peer.

    *work*: of :func:`engine_work`; *ways*: 2 where as many bytes go the other way.
    """
    over_links = 2 * node.links.latency if linked else 0.0
    engine, at_memory = node.gpu.dma_engines, 2 * node.gpu.hbm.latency
    open_bytes = engine.remote_read_bytes_in_flight if pull else None
    open_bytes = open_bytes or engine.bytes_in_flight or math.inf
    if not linked:
        open_bytes *= (engine.local_bandwidth or engine.bandwidth) / engine.bandwidth
    most, in_flight = engine.bandwidth / work, open_bytes

    def rate(load: float) -> float:
        latency = at_memory * (1.0 + load) + over_links
        given = in_flight / latency / ways if latency else most
        return given if given < most else most

    return rate


def engine_work(
    engine: DmaEngines, op: Operation = "copy", *, ways: int = 1, linked: bool = True
) -> float:
    """Bytes of the engine's data path that one byte of progress takes: 1 of a copy over a link.

    *ways*: destinations of a broadcast; *linked*: not within the GPU, where several data paths may
    share a copy.

    Raises ValueError for a reduction by engines that cannot (checked on input).
    """
    if op == "broadcast" and ways > 1:
        return ways * engine.bandwidth / (engine.broadcast_bandwidth or engine.bandwidth)
    if op == "reduce":
        if engine.reduce_bandwidth is None:
            raise ValueError("these engines cannot reduce: dma_engines.reduce_bandwidth is null")
        return max(1.0, engine.bandwidth / engine.reduce_bandwidth)
    if not linked:
        return engine.bandwidth / (engine.local_bandwidth or engine.bandwidth)
    return 2.0 if op == "swap" else 1.0


#: Rules of ``released_queue_start``: number of the GPU and of queues -> place of a queue.
RELEASED_QUEUE_STARTS: Mapping[ReleasedQueueStart, Callable[[int, int], int]] = {
    "first": lambda _gpu, _queues: 0,
    # engines of GPUs 2 i and 2 i + 1 begin with queue i, modulo the queues
    "half_gpu_number": lambda gpu, queues: gpu // 2 % queues,
}


def released_queue(engines: DmaEngines, gpu: int, queues: int) -> int:
    """Place of the queue with which an engine of *gpu* begins when several are released together:
    by the rule, or anywhere, as drawn.
    """
    if engines.released_queue_draw:
        return Random(f"{engines.released_queue_draw} {gpu}").randrange(queues)
    return RELEASED_QUEUE_STARTS[engines.released_queue_start](gpu, queues)


#: Rules of ``poll_stagger``: number of the GPU and of GPUs -> part of an interval.
POLL_STAGGERS: Mapping[PollStagger, Callable[[int, int], float]] = {
    "none": lambda _gpu, _gpus: 0.0,  # all at the same times
    "even": lambda gpu, gpus: (gpu % gpus) / gpus,  # GPU g of n: g/n of an interval later
}

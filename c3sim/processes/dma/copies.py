"""Copies by DMA engines: from where to where, by which engine and queue, and what they draw on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from c3sim.machine.traffic import Traffic
from c3sim.models.links import Hop, route
from c3sim.processes.plan import Context
from c3sim.spec.dma_engines import Operation
from c3sim.spec.hardware import Node

HOST = -1  # as source or destination: host memory
REQUESTS = -1  # the queue of an engine that it carries requests in


@dataclass(frozen=True, slots=True)
class DmaCopy:
    """*size* bytes from GPU *source* to *destination* by *queue* of *engine* of *gpu*.

    *op* swap: as many bytes go the other way, by the same command; *op* reduce: the bytes are added
    to what lies at the destination.
    """

    gpu: int
    engine: int
    source: int
    destination: int
    size: float
    mirrored: bool = False  # every GPU does the same: what arrives here is drawn here
    also: tuple[int, ...] = ()  # further destinations of the same bytes (broadcast)
    op: Operation = "copy"
    queue: int = 0
    touching: float = 1.0  # swaps that touch the memory of *gpu* for each mirrored one it submits
    mapping: str | None = None  # of the peer's memory; None: by peer access

    @property
    def pull(self) -> bool:
        """True if the engine reads from a peer."""
        return self.destination == self.gpu and self.source not in (self.gpu, HOST)


def as_executed(context: Context, copy: DmaCopy) -> DmaCopy:
    """*copy* as the engine that carries it sees it: a pull may be a write of the source's, unless
    the memory is another process's.
    """
    by_source = context.node.gpu.dma_engines.pull_executor == "source"
    if copy.pull and by_source and copy.mapping != "ipc":
        return replace(copy, gpu=context.machine.home(copy.source, copy.gpu), queue=REQUESTS)
    return copy


def engine_for(node: Node, gpu: int, offset: int, part: int = 0, parts: int = 1) -> tuple[int, int]:
    """Engine of *gpu* that moves *part* of *parts* to or from the peer at *offset*, and its queue.

    With a map: the map's engine and those behind it. Without: engines are dealt to peers in turn.
    Parts beyond ``per_peer``, and peers beyond ``count``, go to further queues.
    """
    engines, rows = node.gpu.dma_engines, node.engine_map
    used = min(parts, engines.per_peer)
    number, queue = part % used, (part // used) % engines.queues_for_streams
    if rows is not None:
        first = rows[gpu % node.gpus][(gpu + offset) % node.gpus]
        return (first + number - engines.host_count) % engines.count + engines.host_count, queue
    rounds, engine = divmod((offset - 1) * used + number, engines.count)
    return engines.host_count + engine, (queue + rounds) % engines.queues_for_streams


def local_engine_for(node: Node, gpu: int, part: int = 0, parts: int = 1) -> tuple[int, int]:
    """Engine of *gpu* that moves *part* of *parts* within it, and its queue."""
    engines = node.gpu.dma_engines
    if not engines.local_count:
        return engine_for(node, gpu, 1, part, parts)
    rounds, engine = divmod(part, engines.local_count)
    return engines.host_count + engines.count + engine, rounds % engines.queues_for_streams


def same_sharing(node: Node) -> bool:
    """True if the engines of the map serve the peers of every GPU alike, up to their numbers."""
    engines, rows = node.gpu.dma_engines, node.engine_map
    return rows is None or _alike(rows, node.gpus, engines.per_peer, engines.count)


@lru_cache(maxsize=256)
def _alike(rows: tuple[tuple[int, ...], ...], gpus: int, per_peer: int, count: int) -> bool:
    patterns = set()
    for gpu in range(gpus):
        served = [
            (rows[gpu][(gpu + offset) % gpus] + part) % count
            for offset in range(1, gpus)
            for part in range(per_peer)
        ]
        first: dict[int, int] = {}
        patterns.add(tuple(first.setdefault(engine, len(first)) for engine in served))
    return len(patterns) == 1


def host_engine_for(
    node: Node, gpu: int, part: int = 0, parts: int = 1, *, out: bool
) -> tuple[int, int]:
    """Engine of *gpu* that moves *part* of *parts* to (*out*) or from the host, and its queue."""
    engines = node.gpu.dma_engines
    if not engines.host_count:
        return engine_for(node, gpu, 1, part, parts)
    own = range(0 if out else min(1, engines.host_count - 1), engines.host_count, 2)
    return own[part % len(own)], (part // len(own)) % engines.queues_for_streams


def port_sharers(node: Node, copies: Sequence[DmaCopy]) -> Callable[[DmaCopy], int]:
    """Engines of *copies* (asked for together) that share the fullest port of one of them."""
    engines: dict[Hop, set[tuple[int, int]]] = {}
    for copy in copies:
        for hop in _hops(node, copy):
            engines.setdefault(hop, set()).add((copy.gpu, copy.engine))
    return lambda copy: max((len(engines[hop]) for hop in _hops(node, copy)), default=1)


def _hops(node: Node, copy: DmaCopy) -> list[Hop]:
    """The ports and links that *copy* goes through."""
    return [
        hop
        for end in (copy.destination, *copy.also)
        if HOST not in (copy.source, end) and copy.source != end
        for hop in route(node.links.topology, node.gpus, copy.source, end)
    ]


def handed_on(node: Node, op: Operation) -> bool:
    """True if the switch has what one copy writes for several peers."""
    return op == "broadcast" and node.links.multicast


def traffic(node: Node, copy: DmaCopy, work: float) -> Traffic:
    """Per byte: read at the source, over the links, written at the ends; *work* of the engine."""
    engine = (copy.engine, work)
    if HOST in (copy.source, copy.destination):
        outward = copy.destination == HOST
        return Traffic(
            cache=1.0,
            hbm_read=float(outward),
            hbm_write=float(not outward),
            inserted=1.0,
            host=(("out" if outward else "in", 1.0),),
            engine=engine,
        )
    if copy.destination == copy.source:
        return Traffic(cache=2.0, hbm_read=1.0, hbm_write=1.0, inserted=2.0, engine=engine)
    return _link_traffic(node, copy, engine)


def _link_traffic(node: Node, copy: DmaCopy, engine: tuple[int, float]) -> Traffic:
    """*read* and *written*: of the memory of this GPU; *remote*: GPU, read, written."""
    efficiency = node.gpu.dma_engines.link_efficiency.get("pull" if copy.pull else "push", 1.0)
    destinations = (copy.destination, *copy.also)
    ways = [(copy.source, destination) for destination in destinations]
    if copy.op == "swap":
        ways.append((copy.destination, copy.source))
    hops = [hop for start, end in ways for hop in route(node.links.topology, node.gpus, start, end)]
    if handed_on(node, copy.op):
        hops = list(dict.fromkeys(hops))  # the sender's port once
    ports = tuple((hop, 1.0 / efficiency) for hop in hops)
    near = node.gpu.hbm.update_cost if copy.op == "reduce" else 0.0  # memory adds by itself
    added_to = float(copy.op == "reduce" and not near)  # read at the destination, not inserted
    remote: tuple[tuple[int, float, float], ...] = ()
    if copy.mirrored and copy.op == "swap":
        read = written = copy.touching
    elif copy.mirrored:
        read, written = 1.0 + added_to, float(len(ways))
    elif copy.op == "swap":
        read, written, remote = 1.0, 1.0, ((copy.destination, 1.0, 1.0),)
    elif copy.gpu != copy.source:
        read, written, remote = 0.0, 1.0, ((copy.source, 1.0, 0.0),)
    else:
        read, written = 1.0, 0.0
        remote = tuple((end, added_to, near or 1.0) for end in destinations)
    return Traffic(
        cache=read + written,
        hbm_read=read,
        hbm_write=written,
        hbm_busy=near - 1.0 if near and copy.mirrored else 0.0,
        inserted=read + written * (not near) - (added_to if copy.mirrored else 0.0),
        ports=ports,
        engine=engine,
        remote=remote,
    )

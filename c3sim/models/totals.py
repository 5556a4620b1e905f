"""Totals of the numbers of a node: rates of a GPU, and which number of several binds a copy.

matrix rate   = compute units * FLOP per cycle * clock
links         = links of a GPU that can send at once * rate of one; one direction
needed        = rate * round trip of 2 t_link + 2 t_hbm: bytes on the way that keep it
engine's most = min( bandwidth, bytes in flight / round trip, links to one peer as it uses them )
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from c3sim.models.links import ports, rate_both_ways
from c3sim.spec.hardware import Node


class Total(NamedTuple):
    """A derived *value* in SI *unit*, and *how* it comes about."""

    name: str
    value: float
    unit: str
    how: str


class Bound(NamedTuple):
    """Limit that binds one thing alone: the smallest of *limits* [B/s], by paths of numbers."""

    what: str
    limits: dict[str, float]

    @property
    def path(self) -> str:
        """The number that binds; of equal ones the first."""
        return min(self.limits, key=lambda path: self.limits[path])


def links_out(node: Node) -> int:
    """Links of one GPU that can send at once within its node."""
    sending = [port for port in ports(node.links.topology, node.gpus) if port.direction == "out"]
    return len(sending) * node.links.per_peer


def round_trip(node: Node) -> float:
    """From an access to memory here to its answer from a peer, and the write there [s]."""
    return 2 * node.gpu.hbm.latency + 2 * node.links.latency


def rate_in_flight(node: Node) -> float | None:
    """Rate that an engine's bytes in flight allow at no load [B/s]; None where they do not limit
    it, since it has no such number or a round trip takes no time.
    """
    trip, in_flight = round_trip(node), node.gpu.dma_engines.bytes_in_flight
    return in_flight / trip if in_flight and trip else None


def engines_share(node: Node) -> float:
    """Payload that engines push over links, per byte that a kernel's copy takes of them."""
    return node.gpu.dma_engines.link_efficiency.get("push", 1.0)


def totals_of(node: Node) -> Iterator[Total]:
    """Derived totals of a GPU of *node*."""
    gpu, clock = node.gpu, node.gpu.clock.maximum
    units = gpu.compute_unit_count
    for kind, flops in gpu.compute_units.flops_per_cycle.items():
        how = f"{units} units at {clock / 1e6:.0f} MHz"
        yield Total(f"{kind} matrix rate", units * flops * clock, "flop/s", how)
    yield Total("memory", gpu.hbm.bandwidth, "B/s", "gpu.hbm.bandwidth")
    cache = gpu.l2.bandwidth * gpu.dies.count * clock
    yield Total("L2", cache, "B/s", f"{gpu.dies.count} dies at that clock")
    if gpu.memory_side_cache is not None:
        side = gpu.memory_side_cache.bandwidth
        yield Total("memory-side cache", side, "B/s", "gpu.memory_side_cache.bandwidth")
    if node.gpus > 1:
        yield from _of_links(node)
    if node.scale_out is not None:
        of_node = node.scale_out.nics * node.scale_out.bandwidth * node.scale_out.efficiency
        yield Total("network, a direction", of_node / node.gpus, "B/s", "its share of the NICs")
    engine = gpu.dma_engines
    rate = rate_in_flight(node)
    if engine.bytes_in_flight and rate:
        how = "bytes_in_flight over the round trip, no load"
        yield Total("an engine's bytes in flight", engine.bytes_in_flight, "B", "")
        yield Total("rate that they allow", rate, "B/s", how)
    alone = engine.bandwidth
    yield Total("an engine's data path", alone, "B/s", f"{engine.count} engines")
    if node.gpus > 1 and engines_share(node) != 1.0:
        rate = min(alone, rate_both_ways(node.links) * engines_share(node))
        how = "gpu.dma_engines.link_efficiency, where its sources are"
        yield Total("a link by engines, both ways", rate, "B/s", how)


def _of_links(node: Node) -> Iterator[Total]:
    links, count = node.links, links_out(node)
    each = f"{count} links of one direction, {links.bandwidth / 1e9:.3g} GB/s each"
    yield Total("links of a GPU, a direction", count * links.bandwidth, "B/s", each)
    if links.raw_bandwidth is not None:
        raw = f"signalling, {links.raw_bandwidth / 1e9:.3g} GB/s each"
        yield Total("the same, raw", count * links.raw_bandwidth, "B/s", raw)
    peer = links.per_peer * links.bandwidth
    yield Total("links to one peer", peer, "B/s", f"{links.per_peer} of them")
    needed = "what keeps them full: rate times round trip to a peer's memory"
    yield Total("bytes in flight to one peer", peer * round_trip(node), "B", needed)


def bounds_of(node: Node) -> Iterator[Bound]:
    """Limits of copies alone, at no load [B/s]."""
    gpu, clock = node.gpu, node.gpu.clock.maximum
    engine, units = gpu.dma_engines, gpu.compute_unit_count * clock
    if node.gpus > 1:
        peer = {"links.bandwidth": node.links.per_peer * node.links.bandwidth}
        of_engine = {"gpu.dma_engines.bandwidth": engine.bandwidth}
        if in_flight := rate_in_flight(node):
            of_engine["gpu.dma_engines.bytes_in_flight"] = in_flight
        by_engine = {path: rate * engines_share(node) for path, rate in peer.items()}
        yield Bound("a copy to one peer by one engine", {**of_engine, **by_engine})
        remote = {"gpu.compute_units.remote_bandwidth": gpu.compute_units.remote_bandwidth * units}
        out = {"links.bandwidth": links_out(node) * node.links.bandwidth}
        yield Bound("copies to peers by all compute units", {**remote, **out})
    read = {"gpu.compute_units.read_bandwidth": gpu.compute_units.read_bandwidth * units}
    memory = {"gpu.hbm.bandwidth": gpu.hbm.bandwidth * gpu.hbm.read_efficiency}
    yield Bound("a read of memory by all compute units", {**read, **memory})

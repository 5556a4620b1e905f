"""How fast one DMA engine moves bytes.

An engine keeps a bounded number of bytes in flight, enough for its rate at no load. Its round trip is a read at the
source, the links there and back, and a write at the destination; under load x (see models/memory.py) the two memory
accesses take 1 + x times as long, and the engine slows:

    rate(x) = bandwidth T / (T + 2 t_hbm x),   T = 2 t_hbm + 2 t_link

Where the engine is somewhat faster than its link, small loads do not show.
"""

from __future__ import annotations

from c3sim.specs.hardware import Node

__all__ = ["engine_rate"]


def engine_rate(node: Node, load: float, *, linked: bool) -> float:
    """Rate [B/s] of one engine under memory *load*; *linked*: the copy crosses a link."""
    memory = 2 * node.gpu.hbm.latency
    trip = memory + (2 * node.links.latency if linked else 0.0)
    return node.gpu.dma_engines.bandwidth * trip / (trip + memory * load)

"""Identity of what flows share: who owns it, what it is, which of several, in which direction.

The text of a capacity is its path, for output. Nothing parses it:

    gpu0.hbm   gpu0.memory_side_cache   gpu0.l2   gpu0.dma[2]    inside a GPU
    gpu0.link[3].out   gpu0.port.in   gpu0.host.out              link, switch port, link to the host
    gpu0.nic.out   leaf0.up                                      between nodes
    host0.memory                                                 memory of the host of node 0
    gpu0.hbm~gather                                              private to the task ``gather``
"""

from __future__ import annotations

from typing import NamedTuple

#: Kinds of sharing that a run can do without.
SHARING = ("compute_units", "cache", "hbm", "links", "dma", "clock", "host")
STORE_QUEUES, POSTS = "store_queues", "posts"  # further kinds, of kernels that store, or post


class Port(NamedTuple):
    """One direction of a connection of a GPU, whichever GPU that is.

    ``link`` number d leads to the GPU d places further on; ``port`` leads to the switch of the
    node, ``nic`` to other nodes, and ``leaf`` on from there through the spine.
    """

    kind: str
    direction: str
    number: int | None = None


class Capacity(NamedTuple):
    """*kind*, and *number* of several, of a GPU, host or leaf switch (*owner* with its number).

    *task*: the only task that has it, where sharing is taken away; else empty.
    """

    owner: str
    owner_number: int
    kind: str
    number: int | None = None
    direction: str | None = None
    task: str = ""

    @property
    def owner_name(self) -> str:
        """The owner's part of the path: ``gpu0``."""
        return f"{self.owner}{self.owner_number}"

    @property
    def name(self) -> str:
        """The path without its owner: ``link[3].out``."""
        index = "" if self.number is None else f"[{self.number}]"
        direction = "" if self.direction is None else f".{self.direction}"
        private = f"~{self.task}" if self.task else ""
        return f"{self.kind}{index}{direction}{private}"

    def __str__(self) -> str:
        return f"{self.owner_name}.{self.name}"


def of_gpu(gpu: int, port: Port) -> Capacity:
    """*port* of *gpu* as a capacity."""
    return Capacity("gpu", gpu, port.kind, port.number, port.direction)

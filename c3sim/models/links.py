"""Links between GPUs: topologies, routes, and how many senders fill a link.

A route is a sequence of hops; a hop is (GPU, port). Ports are numbered by position, not by peer:
renumbering GPUs cyclically maps every port onto itself, which folding relies on.

``full_mesh``  link[d].out, the link to GPU (g + d) mod n
``ring``       link[1].out and link[n-1].out, to the neighbours; others by the shorter way round
``switch``     port.out of the sender and port.in of the receiver

What a link carries is answered on its other direction (acknowledgements, credits). With x and y the
payload rates of both directions, C the usable rate of one and r ``links.reverse_share``

    x + r y <= C,    y + r x <= C;    both busy: x = y = C / (1 + r)
"""

from __future__ import annotations

from functools import lru_cache

from c3sim.models.capacity import Port
from c3sim.models.memory import served_share
from c3sim.spec.hardware import Links

Hop = tuple[int, Port]  # (GPU, port)
SWITCH_PORTS = (Port("port", "out"), Port("port", "in"))


@lru_cache(maxsize=65536)
def route(topology: str, gpus: int, source: int, destination: int) -> tuple[Hop, ...]:
    """Hops (GPU, port) from *source* to *destination*, two GPUs of one node. With several nodes of
    *gpus* GPUs each, GPU g is number g mod gpus of node g // gpus. Raises ValueError for a GPU
    itself and for GPUs of two nodes.
    """
    offset = (destination - source) % gpus
    first = source - source % gpus  # of the node
    if offset == 0:
        raise ValueError(f"no route from GPU {source} to itself")
    if not first <= destination < first + gpus:
        raise ValueError(
            f"no links from GPU {source} to GPU {destination}, which is in another node"
        )
    if topology == "full_mesh":
        return ((source, link_to(offset)),)
    if topology == "switch":
        return ((source, SWITCH_PORTS[0]), (destination, SWITCH_PORTS[1]))
    step = 1 if offset <= gpus - offset else gpus - 1  # ring: a tie goes the positive way
    hops = offset if step == 1 else gpus - offset
    return tuple((first + (source + hop * step) % gpus, link_to(step)) for hop in range(hops))


def reverse(gpus: int, hop: Hop) -> Hop:
    """The other direction of the link or switch port of *hop*, in nodes of *gpus* GPUs."""
    gpu, port = hop
    if port.number is None:
        return gpu, next(other for other in SWITCH_PORTS if other != port)
    first = gpu - gpu % gpus  # of the node
    return first + (gpu - first + port.number) % gpus, link_to(gpus - port.number)


def ports(topology: str, gpus: int) -> tuple[Port, ...]:
    """Sending (and for a switch receiving) ports of one GPU."""
    if topology == "full_mesh":
        return tuple(link_to(offset) for offset in range(1, gpus))
    if topology == "switch":
        return SWITCH_PORTS
    return (link_to(1), link_to(gpus - 1))


def ring_ports(topology: str, gpus: int) -> tuple[tuple[Port, ...], ...]:
    """Ports that each of the disjoint rings of a ring algorithm uses at every GPU.

    A full mesh of n GPUs holds n-1 rings (n = 8: seven directed Hamiltonian cycles that use every
    link once); which cycle takes which link does not matter here, each uses one outgoing link per
    GPU. A ring has two, a switch one.
    """
    if topology == "switch":
        return (SWITCH_PORTS,)
    return tuple((port,) for port in ports(topology, gpus))


def rate_both_ways(links: Links) -> float:
    """Payload rate [B/s] of each direction of the links to one peer, with both busy."""
    return links.bandwidth * links.per_peer / (1.0 + links.reverse_share)


def link_to(offset: int) -> Port:
    """The sending port to the GPU *offset* further round the node."""
    return Port("link", "out", offset)


def soft_minimum(senders: float, link: float, exponent: float) -> float:
    """Rate [B/s] of several step-synchronous senders on one link: (senders^-p + link^-p)^(-1/p).

    Senders that pause between slices (flags, fences) fill a link only gradually; p -> infinity is
    the hard minimum of a continuous stream. p is fitted to the isolated all-reduce against channels
    (suite rccl_channels).
    """
    if senders <= 0.0 or link <= 0.0:
        return 0.0
    return senders * served_share(senders / link, exponent)

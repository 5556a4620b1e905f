"""The network between nodes: who shares which NIC and leaf switch, and what crosses the spine.

GPUs that share a NIC draw on the port of the first of them; a GPU with several NICs has one port
with their sum. ``rails``: NIC r of every node is on the leaf of rail r. ``racks``: all NICs of a
node are on one leaf. A leaf has ports for *m* nodes; NICs below it reach one another at full rate,
and what goes further shares its uplinks:

    uplinks = NICs below the leaf x rate of a NIC / oversubscription     (each direction)

The spine does not block: routing spreads evenly over it. The share of a GPU's bytes that crosses it
follows from its peers, with N nodes of which *m* share its leaf, and *k* GPUs of g on one rail:

    next     a ring from node to node along the leaves: one node in m sends further, 1 / m for each
             of its members, which advance in step (0 where one leaf holds all nodes)
    rail     every node, same place:       (N - m) / (N - 1)
    all      every GPU of other nodes:     1 - same / ((N - 1) g), same = (m - 1) k on rails,
             (m - 1) g in racks

Of a group N, m, g and k count its own nodes and members.
"""

from __future__ import annotations

from typing import Literal

from c3sim.models.capacity import Capacity, Port, of_gpu
from c3sim.models.groups import Span, span_of
from c3sim.spec.hardware import Node
from c3sim.spec.parts import ScaleOut

Peers = Literal["next", "rail", "all"]
Draw = tuple[tuple[int, Port], float]  # ((GPU, port), bytes)
NIC_OUT, NIC_IN = Port("nic", "out"), Port("nic", "in")
LEAF_UP, LEAF_DOWN = Port("leaf", "up"), Port("leaf", "down")


def network(node: Node) -> ScaleOut:
    """Network between the nodes. Raises ValueError for a node that stands alone."""
    if node.scale_out is None:
        raise ValueError(f"{node.name} is one node, without a network")
    return node.scale_out


def gpus_per_nic(node: Node) -> int:
    return max(1, node.gpus // network(node).nics)


def nic_of(node: Node, gpu: int) -> int:
    """The GPU that the NIC of *gpu* is named after."""
    return gpu - gpu % node.gpus % gpus_per_nic(node)


def nic_rate(node: Node) -> float:
    """Payload [B/s] of one port, each direction: of a NIC, or of all that one GPU has."""
    wide = network(node)
    return wide.bandwidth * wide.efficiency * max(1, wide.nics // node.gpus)


def shared_rate(node: Node) -> float:
    """Payload [B/s] that each GPU can send when all do."""
    return nic_rate(node) / gpus_per_nic(node)


def leaf_of(node: Node, gpu: int) -> int:
    """Number of the leaf switch that the NIC of *gpu* is on."""
    place, local = divmod(gpu, node.gpus)
    block = place // network(node).nodes_per_leaf
    per_nic = gpus_per_nic(node)
    if network(node).topology == "racks":
        return block
    return block * (node.gpus // per_nic) + local // per_nic


def _nodes_on_leaf(node: Node, gpu: int) -> int:
    """Nodes that share the leaf of *gpu*; the last leaf may have fewer."""
    most = network(node).nodes_per_leaf
    return min(most, node.nodes - gpu // node.gpus // most * most)


def gpus_per_leaf(node: Node, gpu: int) -> int:
    """GPUs whose NICs are on the leaf of *gpu*."""
    per_node = node.gpus if network(node).topology == "racks" else gpus_per_nic(node)
    return _nodes_on_leaf(node, gpu) * per_node


def leaf_rate(node: Node, gpu: int) -> float:
    """Payload [B/s] between the leaf of *gpu* and the spine, each direction."""
    nics = gpus_per_leaf(node, gpu) // gpus_per_nic(node)
    return nics * nic_rate(node) / network(node).oversubscription


def same_leaf(node: Node, one: int, other: int) -> bool:
    return leaf_of(node, one) == leaf_of(node, other)


def crossing_share(node: Node, gpu: int, peers: Peers, span: Span | None = None) -> float:
    """Share of what *gpu* sends to GPUs of other nodes, of its group's *span* (None: of all), that
    crosses the spine.
    """
    inside, between = span or span_of(node, None)
    nodes = between.size
    near = min(nodes, max(1, _nodes_on_leaf(node, gpu) // between.stride))
    if nodes == 1:
        return 0.0
    if peers == "next":
        return 1.0 / near if nodes > near else 0.0
    if peers == "rail":
        return (nodes - near) / (nodes - 1)
    # those of a node that are on the rail of one: all in racks, and where rails share a NIC
    beside = gpus_per_leaf(node, gpu) // _nodes_on_leaf(node, gpu)
    same = (near - 1) * min(inside.size, max(1, beside // inside.stride))
    return 1.0 - same / ((nodes - 1) * inside.size)


def hop_latency(node: Node, peers: Peers, span: Span | None = None) -> float:
    """Seconds of a step between nodes: of a ring the mean over its hops, else of the longest."""
    wide, of = network(node), span or span_of(node, None)
    if peers == "next":
        nodes, stride = of.between
        leaves = -(-nodes * stride // wide.nodes_per_leaf)
        further = min(leaves, nodes) / nodes if leaves > 1 else 0.0
    else:
        ends = (0, node.ranks - 1)
        further = float(any(crossing_share(node, gpu, peers, of) > 0 for gpu in ends))
    return wide.latency + further * wide.spine_latency


def mirrored(
    node: Node, gpu: int, peers: Peers, size: float, span: Span | None = None
) -> tuple[Draw, ...]:
    """Draws of *gpu* for *size* bytes that every GPU sends to *peers*; as much arrives."""
    return _draws(gpu, gpu, size, crossing_share(node, gpu, peers, span) * size)


def point_to_point(node: Node, source: int, destination: int, size: float) -> tuple[Draw, ...]:
    """Draws of *size* bytes from one GPU to one in another node."""
    return _draws(source, destination, size, 0.0 if same_leaf(node, source, destination) else size)


def _draws(source: int, destination: int, size: float, across: float) -> tuple[Draw, ...]:
    """Demands of *size* bytes, of which *across* cross the spine."""
    by_nic = ((source, NIC_OUT), size), ((destination, NIC_IN), size)
    by_leaf = ((source, LEAF_UP), across), ((destination, LEAF_DOWN), across)
    return (*by_nic, *by_leaf) if across else by_nic


def network_capacities(node: Node, gpu: int, port: Port) -> tuple[tuple[Capacity, int], ...]:
    """Capacities that *gpu* uses with *port* (to its NIC maybe the host link too), with its
    sharers.
    """
    if port.kind == "leaf":
        leaf = Capacity("leaf", leaf_of(node, gpu), port.direction)
        return ((leaf, gpus_per_leaf(node, gpu)),)
    nic = (of_gpu(nic_of(node, gpu), port), gpus_per_nic(node))
    if network(node).gpu_path != "host_link":
        return (nic,)
    return (nic, (Capacity("gpu", gpu, "host", direction=port.direction), 1))


def leaf_switch_rate(node: Node, leaf: int) -> float:
    """:func:`leaf_rate` of leaf switch number *leaf*."""
    return leaf_rate(node, next(gpu for gpu in range(node.ranks) if leaf_of(node, gpu) == leaf))

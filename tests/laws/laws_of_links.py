"""A law about links and NICs: what GPUs send is what they receive, and what the tasks ask for."""

from __future__ import annotations

import pytest
from law_network import between_nodes
from law_runs import REL, Trial, law

from c3sim.models.capacity import Capacity, Port, of_gpu
from c3sim.models.links import SWITCH_PORTS, reverse, route
from c3sim.spec.hardware import Node
from c3sim.spec.task import Command, Stores
from c3sim.spec.workload import Collective, Commands, Copy, Gemm

# Bytes that each GPU originates, in units of the message size S, on n GPUs (nccl-tests sizes). A
# ring all-reduce passes every one of n parts n-1 times in its reduce-scatter and n-1 times in its
# all-gather; the others send each part once.
SENT = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
}


@law()
def bytes_sent_equal_bytes_received(trial: Trial) -> None:
    """Every GPU simulated. A GPU between sender and receiver passes on what it gets, so at each GPU
    what leaves and what arrives differ by what the workload makes it send and receive, and links
    carry bytes x hops in all. Between nodes, NICs send and receive what the tasks ask for, and leaf
    switches what of it crosses the spine.
    """
    node, gpus, outcome = trial.node, trial.node.ranks, trial.unfolded
    moved = _without_answers(node, trial.seen_unfolded.moved())
    sent, received, hops = [0.0] * gpus, [0.0] * gpus, 0.0
    for g in range(gpus):
        for capacity, amount in moved.items():
            if capacity.owner_name != f"gpu{g}":
                continue
            if capacity.kind == "port":  # into a switch, and out of it
                sent[g] += amount * (capacity.direction == "out")
                received[g] += amount * (capacity.direction == "in")
            if capacity.kind == "link":
                sent[g] += amount
                received[node.peer(g, capacity.number)] += amount
    net = [0.0] * gpus
    for name, task in trial.workload.tasks.items():
        wire = _wire(task, node)
        for source, destination, payload in _transfers(task, node):
            size = payload / wire * task.repeat
            net[destination] -= size
            if source is None:  # the switch hands on what has passed the sender's port
                continue
            ways = route(node.links.topology, node.gpus, source, destination)
            hops += size * sum(port != SWITCH_PORTS[1] for _, port in ways)
            net[source] += size
        if isinstance(task, Collective) and task.backend != "dma":
            sent_each = _sent_in_node(node, task, outcome.times[name, 0].detail["algorithm"])
            hops += task.repeat * gpus * sent_each * task.size * _stretch(trial, name)
    assert sum(sent) == pytest.approx(hops, rel=REL)
    if node.nodes > 1:
        carried = [
            sum(amount for name, amount in moved.items() if str(name).endswith(end))
            for end in ("nic.out", "nic.in", ".up", ".down")
        ]
        wanted, crossing = between_nodes(trial)
        assert carried == pytest.approx([wanted, wanted, crossing, crossing], rel=REL)
    scale = max(sum(sent), 1.0)
    assert [s - r for s, r in zip(sent, received, strict=True)] == pytest.approx(
        net, abs=REL * scale
    )


def _without_answers(node: Node, moved: dict[Capacity, float]) -> dict[Capacity, float]:
    """The bytes that links carry for the tasks. With p and q of it in both directions, and a share
    r to answer, they carry m = p + r q and n = q + r p: p = (m - r n) / (1 - r^2).
    """
    share, payload = node.links.reverse_share, dict(moved)
    for capacity, amount in moved.items():
        if capacity.kind == "link":
            there = (capacity.owner_number, Port("link", "out", capacity.number))
            back = moved.get(of_gpu(*reverse(node.gpus, there)), 0.0)
            payload[capacity] = (amount - share * back) / (1 - share**2)
    return payload


def _sent_in_node(node: Node, task: Collective, algorithm: str) -> float:
    """The bytes that each GPU sends over links, in units of S. Phases inside a node are a whole
    collective there. A ring through all nodes leaves a node once in g hops; of n - 1 peers g - 1
    are in the own node.
    """
    g, n = node.gpus, node.ranks
    if algorithm == "tree":  # the GPU inside that sends most: up and twice down
        return 3.0
    if algorithm == "switch":  # its part to every reader, and the sum of its own to all
        return (g + 1) / g if task.op == "all_reduce" else 1.0  # all n parts pass each port
    if n == g or algorithm == "hierarchical":
        return SENT[task.op](g)
    return SENT[task.op](n) * (1 - 1 / g if algorithm == "ring" else (g - 1) / (n - 1))


def _transfers(task: object, node: Node) -> list[tuple[int | None, int, float]]:
    """(source, destination, bytes) between GPUs of a node that a task asks of the DMA engines, or
    of a kernel that copies, or stores an equal part at every peer (a GEMM: of whole tiles).
    """
    gpus, everyone = node.gpus, range(node.ranks)
    if (
        isinstance(task, Copy)
        and task.executor != "nic"
        and "peer" in (task.source, task.destination)
    ):
        pairs = [(g, node.peer(g, task.peer)) for g in (everyone if task.gpus == "all" else (0,))]
        return [
            (p, g, task.bytes) if task.source == "peer" else (g, p, task.bytes) for g, p in pairs
        ]
    if isinstance(task, Stores):
        size = task.bytes / (gpus - 1)
        return [(g, node.peer(g, offset), size) for g in everyone for offset in range(1, gpus)]
    if isinstance(task, Gemm) and task.results == "peers":
        size = task.m * task.n * task.result_element / gpus
        return [(g, node.peer(g, offset), size) for g in everyone for offset in range(1, gpus)]
    if isinstance(task, Collective) and task.backend == "dma":
        size = task.size / (node.ranks if task.algorithm == "direct" else gpus)
        return [(g, node.peer(g, offset), size) for g in everyone for offset in range(1, gpus)]
    if isinstance(task, Commands):
        return [
            pair
            for c in task.program
            for g in (everyone if task.gpus == "all" else (0,))
            for pair in _moved(c, g, node)
        ]
    return []


def _moved(command: Command, gpu: int, node: Node) -> list[tuple[int | None, int, float]]:
    """(source, destination, bytes on the wire) between GPUs of one command of *gpu*; of what a
    switch hands on to several, the source of the first alone.
    """
    if command.bytes is None or command.peer == "host":
        return []
    peers = [node.peer(gpu, offset) for offset in command.peers or (command.peer,)]
    shares = node.gpu.dma_engines.link_efficiency
    push, pull = (command.bytes / shares.get(way, 1.0) for way in ("push", "pull"))
    once = command.op == "broadcast" and node.links.multicast
    out: list[tuple[int | None, int, float]] = [
        (None if once and number else gpu, peer, push) for number, peer in enumerate(peers)
    ]
    back = [(peer, gpu, push if command.op == "swap" else pull) for peer in peers]
    if command.op == "swap":
        return out + back
    return back if command.direction == "pull" else out


def _wire(task: object, node: Node) -> float:
    """Payload share of the bytes that engines put on a link: of reads from a peer where the
    receiver's engine moves them.
    """
    by_kernel = isinstance(task, Copy) and task.executor == "kernel"
    if by_kernel or not isinstance(task, Copy | Collective):  # of commands: _moved
        return 1.0
    given = "pull" if isinstance(task, Copy) and task.source == "peer" else "push"
    return node.gpu.dma_engines.link_efficiency.get(task.direction or given, 1.0)


def _stretch(trial: Trial, name: str) -> float:
    """Wire bytes per payload byte: the protocol's flags, and the mean number of hops of an
    algorithm that sends straight to every peer. (Neighbours only: 1. A ring of 4 has peers 1, 2 and
    1 hops away: 4/3.)
    """
    node, detail = trial.node, trial.unfolded.times[name, 0].detail
    efficiency = (
        node.collective_library(trial.workload.tasks[name].backend)
        .protocols[detail["protocol"]]
        .efficiency
    )
    hops, op = 1.0, trial.workload.tasks[name].op
    direct = detail["algorithm"] == "direct" or (detail["algorithm"], op) == (
        "hierarchical",
        "all_to_all",
    )
    if direct and node.links.topology != "switch":
        routes = [
            len(route(node.links.topology, node.gpus, 0, peer)) for peer in range(1, node.gpus)
        ]
        hops = sum(routes) / len(routes) if routes else 1.0
    return hops / efficiency

"""Laws about rates: what an observer of the fluid layer sees of every flow at every instant."""

from __future__ import annotations

import random

import pytest
from law_cases import REL, Case, every_case
from law_network import between_nodes
from law_observer import limit, observed

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.models.gemm import plan_gemm
from c3sim.models.links import route
from c3sim.models.memory import ARRAYS
from c3sim.specs.commands import Command
from c3sim.specs.hardware import Node
from c3sim.specs.workload import DTYPE_BYTES, Collective, Commands, Copy, Gemm, StreamKernel


def _drawn(rates: list[tuple[Flow, float]]) -> dict[str, tuple[float, list[Flow]]]:
    """Capacity -> (bytes per second drawn on it, its users)."""
    found: dict[str, tuple[float, list[Flow]]] = {}
    for flow, rate in rates:
        for capacity, amount in flow.amounts:
            drawn, users = found.get(capacity, (0.0, []))
            found[capacity] = (drawn + rate * amount, [*users, flow])
    return found


@every_case("rates_never_exceed_capacity")
def test_rates_never_exceed_capacity(case: Case) -> None:
    """Nor does any flow exceed its own cap."""
    _, seen = observed(case)
    for snapshot in seen.snapshots:
        for capacity, (drawn, users) in _drawn(snapshot.rates).items():
            assert drawn <= limit(case.node, capacity, users) * (1 + REL), (snapshot.time, capacity)
        for flow, rate in snapshot.rates:
            assert 0 <= rate <= _cap(flow, snapshot.states) * (1 + REL), (snapshot.time, flow.name)


def _cap(flow: Flow, states: dict[str, object]) -> float:
    if not callable(flow.cap):
        return flow.cap
    return flow.cap(None if flow.domain is None else states[flow.domain])


@every_case("every_flow_is_capped_or_has_a_bottleneck")
def test_every_flow_is_capped_or_has_a_bottleneck(case: Case) -> None:
    """Max-min fairness: a flow below its cap uses a full capacity, none of whose users is at a
    higher level.
    """
    _, seen = observed(case)
    for snapshot in seen.snapshots:
        drawn = _drawn(snapshot.rates)
        full = {
            c
            for c, (used, users) in drawn.items()
            if used >= limit(case.node, c, users) * (1 - REL)
        }
        level = {flow: rate / flow.weight for flow, rate in snapshot.rates}
        for flow, rate in snapshot.rates:
            if rate >= _cap(flow, snapshot.states) * (1 - REL):
                continue
            bottlenecks = [
                c
                for c, _ in flow.amounts
                if c in full and level[flow] >= max(level[user] for user in drawn[c][1]) * (1 - REL)
            ]
            assert bottlenecks, (snapshot.time, flow.name)


@every_case("integral_of_rate_equals_work")
def test_integral_of_rate_equals_work(case: Case) -> None:
    """From the records alone: what each flow did between its first rate and its end is what it had
    to do, and what the flows of a kernel did is all of its work: no tile is lost, none is done
    twice.
    """
    _, seen = observed(case)
    assert seen.ended_flows or all(task.kind == "host" for task in case.workload.tasks.values())
    for flow, integral in seen.ended_flows:
        assert integral == pytest.approx(flow.work, rel=REL), flow.name
    for name, task in case.workload.tasks.items():
        if isinstance(task, Gemm | StreamKernel):
            requested = sum(
                integral * amount
                for flow, integral in seen.ended_flows
                if flow.tags.task == name and flow.tags.gpu == 0
                for capacity, amount in flow.amounts
                if capacity == "gpu0.l2"
            )
            assert requested == pytest.approx(task.repeat * _requested(case, task), rel=REL), name


def _requested(case: Case, task: Gemm | StreamKernel) -> float:
    """Bytes that all workgroups of a kernel ask of L2: the arrays once; or per tile of a GEMM its
    rows of A, its columns of B (both K / split long) and its part of C, of which a split GEMM
    writes fp32 sums.
    """
    if isinstance(task, StreamKernel):
        return sum(ARRAYS[task.pattern]) * task.bytes * task.passes
    plan, element = plan_gemm(case.node.gpu, task), DTYPE_BYTES[task.dtype]
    rows, columns = min(plan.tile[0], task.m), min(plan.tile[1], task.n)
    shared = rows / plan.cluster[1] + columns / plan.cluster[0]  # tiles of a cluster read it once
    operands = shared * task.k / plan.split_k * element
    return plan.tiles * (operands + rows * columns * (element if plan.split_k == 1 else 4))


def test_splitting_a_flow_changes_nothing() -> None:
    """A flow's weight is its outstanding requests; n parts of 1/n of weight, cap and work share as
    the whole did.

    Random systems of 2 to 6 flows over 1 to 4 capacities; the first flow is split into 2 to 5. All
    flows end when they did before, and all parts end together.
    """
    draw = random.Random(6)
    for _ in range(200):
        capacities = [draw.uniform(1, 10) for _ in range(draw.randint(1, 4))]
        flows = []
        for _ in range(draw.randint(2, 6)):
            uses = draw.sample(range(len(capacities)), draw.randint(1, len(capacities)))
            flows.append(
                (
                    draw.uniform(1, 20),
                    draw.uniform(0.5, 8),
                    draw.uniform(0.1, 5),
                    [(u, draw.uniform(0.5, 2)) for u in uses],
                )
            )  # work, cap, weight, uses
        parts = draw.randint(2, 5)
        work, cap, weight, uses = flows[0]
        split = [(work / parts, cap / parts, weight / parts, uses)] * parts + flows[1:]
        whole = _ends(capacities, flows)
        assert _ends(capacities, split) == pytest.approx([whole[0]] * parts + whole[1:], rel=REL)


def _ends(
    capacities: list[float], flows: list[tuple[float, float, float, list[tuple[int, float]]]]
) -> list[float]:
    env = Clock()
    fluid = Fluid(env)
    for index, value in enumerate(capacities):
        fluid.capacity(str(index), value)
    ends = [0.0] * len(flows)
    for i, (work, cap, weight, uses) in enumerate(flows):
        flow = Flow(
            str(i), work, cap=cap, weight=weight, amounts=[(str(c), amount) for c, amount in uses]
        )
        fluid.start(flow, lambda flow: ends.__setitem__(int(flow.name), env.now))
    env.run()
    return ends


def test_a_bystander_may_speed_somebody_up() -> None:
    """A tempting law that is false: whoever comes slows everybody down.

    A uses link 1 (capacity 2), B links 1 and 2. Alone they halve link 1 and have a rate of 1 each.
    C comes on link 2 (capacity 1): now B has 1/2 there, and A has 2 - 1/2 = 3/2. A's 3 units take 2
    s instead of 3 s.
    """
    a, b, c = (
        (3.0, 9.0, 1.0, [(0, 1.0)]),
        (9.0, 9.0, 1.0, [(0, 1.0), (1, 1.0)]),
        (9.0, 9.0, 1.0, [(1, 1.0)]),
    )
    assert _ends([2.0, 1.0], [a, b])[0] == pytest.approx(3.0)
    assert _ends([2.0, 1.0], [a, b, c])[0] == pytest.approx(2.0)


# Bytes on links
# ---------------------------------------------------------------------------------------------

# What each GPU originates, in units of the message size S, on n GPUs (nccl-tests sizes). A ring
# all-reduce
# passes every one of n parts n-1 times in its reduce-scatter and n-1 times in its all-gather; the
# others send
# each part once.
SENT = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
}


@every_case("bytes_sent_equal_bytes_received")
def test_bytes_sent_equal_bytes_received(case: Case) -> None:
    """Every GPU simulated. A GPU between sender and receiver passes on what it gets, so at each GPU
    what leaves and what arrives differ by what the workload makes it send and receive, and links
    carry bytes x hops in all. Between nodes, NICs send and receive what the tasks ask for, and leaf
    switches what of it crosses the spine.
    """
    node, gpus = case.node, case.node.ranks
    outcome, seen = observed(case, fold=False)
    moved = seen.moved()
    sent, received, hops = [0.0] * gpus, [0.0] * gpus, 0.0
    for g in range(gpus):
        for name, amount in moved.items():
            owner, _, port = name.partition(".")
            if owner != f"gpu{g}":
                continue
            if port.startswith("port."):  # into a switch, and out of it
                sent[g] += amount * (port == "port.out")
                received[g] += amount * (port == "port.in")
            if port.startswith("link["):
                offset = int(port[len("link[") : port.index("]")])
                sent[g] += amount
                received[node.peer(g, offset)] += amount
    net = [0.0] * gpus
    for name, task in case.workload.tasks.items():
        wire = _wire(task, node)
        for source, destination, payload in _transfers(task, node):
            size, ways = payload / wire, route(node.links.topology, node.gpus, source, destination)
            hops += size * task.repeat * sum(port != "port.in" for _, port in ways)
            net[source] += size * task.repeat
            net[destination] -= size * task.repeat
        if isinstance(task, Collective) and task.backend != "dma":
            sent_each = _sent_in_node(node, task, outcome.times[name, 0].detail["algorithm"])
            hops += task.repeat * gpus * sent_each * task.size * _stretch(case, name, outcome)
    assert sum(sent) == pytest.approx(hops, rel=REL)
    if node.nodes > 1:
        carried = [
            sum(amount for name, amount in moved.items() if name.endswith(end))
            for end in ("nic.out", "nic.in", ".up", ".down")
        ]
        wanted, crossing = between_nodes(case, outcome)
        assert carried == pytest.approx([wanted, wanted, crossing, crossing], rel=REL)
    scale = max(sum(sent), 1.0)
    assert [s - r for s, r in zip(sent, received, strict=True)] == pytest.approx(
        net, abs=REL * scale
    )


def _sent_in_node(node: Node, task: Collective, algorithm: str) -> float:
    """What each GPU sends over links, in units of S. Phases inside a node are a whole collective
    there. A ring through all nodes leaves a node once in g hops; of n - 1 peers g - 1 are in the
    own node.
    """
    g, n = node.gpus, node.ranks
    if algorithm == "tree":  # the GPU inside that sends most: up and twice down
        return 3.0
    if n == g or algorithm == "hierarchical":
        return SENT[task.op](g)
    return SENT[task.op](n) * (1 - 1 / g if algorithm == "ring" else (g - 1) / (n - 1))


def _transfers(task: object, node: Node) -> list[tuple[int, int, float]]:
    """(source, destination, bytes) between GPUs of a node that a task asks of the DMA engines, or
    of a copy kernel.
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


def _moved(command: Command, gpu: int, node: Node) -> list[tuple[int, int, float]]:
    """(source, destination, bytes) between GPUs of one command of *gpu*."""
    if command.bytes is None or command.peer == "host":
        return []
    peers = [node.peer(gpu, offset) for offset in command.peers or (command.peer,)]
    out = [(gpu, peer, command.bytes) for peer in peers]
    back = [(peer, gpu, command.bytes) for peer in peers]
    if command.op == "swap":
        return out + back
    return back if command.direction == "pull" else out


def _wire(task: object, node: Node) -> float:
    """Payload share of the bytes that engines put on a link: of reads from a peer where the
    receiver's engine moves them.
    """
    if not isinstance(task, Copy | Collective):
        return node.gpu.dma_engines.link_efficiency["push"]
    if isinstance(task, Copy) and task.executor == "kernel":
        return 1.0
    given = "pull" if isinstance(task, Copy) and task.source == "peer" else "push"
    return node.gpu.dma_engines.link_efficiency.get(task.direction or given, 1.0)


def _stretch(case: Case, name: str, outcome: object) -> float:
    """Wire bytes per payload byte: the protocol's flags, and the mean number of hops of an
    algorithm that sends straight to every peer. (Neighbours only: 1. A ring of 4 has peers 1, 2 and
    1 hops away: 4/3.)
    """
    node, detail = case.node, outcome.times[name, 0].detail
    efficiency = (
        node.collective_library(case.workload.tasks[name].backend)
        .protocols[detail["protocol"]]
        .efficiency
    )
    hops, op = 1.0, case.workload.tasks[name].op
    direct = detail["algorithm"] == "direct" or (detail["algorithm"], op) == (
        "hierarchical",
        "all_to_all",
    )
    if direct and node.links.topology != "switch":
        routes = [
            len(route(node.links.topology, node.gpus, 0, peer)) for peer in range(1, node.gpus)
        ]
        hops = sum(routes) / len(routes)
    return hops / efficiency

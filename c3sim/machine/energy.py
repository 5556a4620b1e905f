"""Energy by what it is spent on: the activity of every flow times the energies of the node file.

While a flow proceeds at rate r with the clock at factor f, it takes the power

    P = r (e_core f^x + e_uncore) + N p_cu f^(1+x) + p_dma        [W]

    e_core, e_uncore   J per unit of work, in the clocked domain at full clock and outside it
    N, p_cu            compute units held, and the power of a held one at full clock
    p_dma              power of a busy DMA engine, if one moves the flow
    x                  joins clock and voltage (models/power.py)

A :class:`Bill` keeps the terms apart, each under the name of the energy in the node file
(``gpu.energy.NAME``), and says which GPU is charged: at either end of a link, in the memory that is
read or written. A GPU takes its idle power on top, which belongs to no task. Where no power was
measured the result is unvalidated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from c3sim.machine.traffic import Traffic
from c3sim.spec.hardware import Gpu, Node

if TYPE_CHECKING:
    from c3sim.engine.recorder import Segment


_flow = attrgetter("flow")
#: (GPU, name of the energy, J per unit of progress)
Spent = list[tuple[int, str, float]]


class Bill(NamedTuple):
    """Energy of a flow: J per unit of its progress by name of the energy, and W while it runs."""

    core: tuple[tuple[str, float], ...] = ()  # at the maximum clock, on the flow's own GPU
    uncore: tuple[tuple[int, str, float], ...] = ()  # (GPU, name, J)
    held: float = 0.0  # W of the compute units held, at the maximum clock
    busy: float = 0.0  # W of the DMA engine

    @property
    def core_energy(self) -> float:
        return sum([joules for _, joules in self.core])

    @property
    def uncore_energy(self) -> float:
        """Energy outside compute units, of all GPUs: who starts a transfer pays for both ends, as
        it receives as much.
        """
        return sum([joules for _, _, joules in self.uncore])


def bill_of(
    node: Node,
    gpu: int,
    traffic: Traffic,
    work: float,
    compute_units: float,
    home: Callable[[int], int],
) -> Bill:
    """The bill of a flow of *gpu* that moves *traffic* per unit of its *work*.

    *home* gives the simulated GPU that stands for a GPU. A flow on a DMA engine is one command, or
    as many as its packets are.
    """
    energy, here = node.gpu.energy, home(gpu)
    core = (
        ("flop", traffic.core_energy),
        ("vector_byte", traffic.vector * energy.vector_byte),
        ("l2_byte", max(traffic.l2, traffic.vector) * energy.l2_byte),
    )
    spent: dict[tuple[int, str], float] = {}
    parts = _memory_energy(node, here, traffic, home) + _link_energy(node, here, traffic, home)
    for where, name, joules in parts + _engine_energy(node, here, traffic, work):
        if joules:
            spent[where, name] = spent.get((where, name), 0.0) + joules
    return Bill(
        core=tuple([entry for entry in core if entry[1]]),
        uncore=tuple([(where, name, joules) for (where, name), joules in spent.items()]),
        held=compute_units * energy.compute_unit,
        busy=0.0 if traffic.engine is None else energy.dma_engine,
    )


def _memory_energy(node: Node, here: int, traffic: Traffic, home: Callable[[int], int]) -> Spent:
    """Energy of reads and writes of *here*, and of those it makes at peers."""
    energy, has_cache = node.gpu.energy, node.gpu.memory_side_cache is not None
    found = [
        (here, "cache_byte", traffic.cache * energy.cache_byte * has_cache),
        (here, "hbm_byte", (traffic.hbm_read + traffic.hbm_write) * energy.hbm_byte),
    ]
    for peer, read, written in traffic.remote:
        there, moved = home(peer), read + written
        found += [
            (there, "cache_byte", moved * energy.cache_byte * has_cache),
            (there, "hbm_byte", moved * energy.hbm_byte),
            (there, "l2_byte", moved * _through_l2(node)),
        ]
    return found


def _link_energy(node: Node, here: int, traffic: Traffic, home: Callable[[int], int]) -> Spent:
    """Energy of links at both ends, of a switch port at its GPU, of a NIC only the way to it."""
    energy, found = node.gpu.energy, list[tuple[int, str, float]]()
    for (sender, port), amount in traffic.ports:
        ends = [sender]
        if port.kind == "link" and port.number is not None:
            first = sender - sender % node.gpus
            ends = [sender, first + (sender - first + port.number) % node.gpus]
        found += [(home(end), "link_byte", amount * energy.link_byte) for end in ends]
    for _, amount in traffic.host:
        found += [(here, "host_link_byte", amount * energy.host_link_byte)]
    if node.scale_out is not None and node.scale_out.gpu_path == "host_link":
        for (where, port), amount in traffic.network:
            if port.kind == "nic":
                found += [(home(where), "host_link_byte", amount * energy.host_link_byte)]
    return found


def _engine_energy(node: Node, here: int, traffic: Traffic, work: float) -> Spent:
    """Energy of a DMA engine's reads, writes and commands."""
    if traffic.engine is None:
        return []
    energy = node.gpu.energy
    moved = max(traffic.cache, traffic.hbm_read + traffic.hbm_write)
    moved += sum([read + written for _, read, written in traffic.remote])
    moved += sum([amount for _, amount in traffic.host])
    commands = math.ceil(work / node.gpu.dma_engines.max_packet_payload)
    return [
        (here, "dma_byte", moved * energy.dma_byte),
        (here, "l2_byte", (traffic.hbm_read + traffic.hbm_write) * _through_l2(node)),
        (here, "dma_command", commands * energy.dma_command / work),
    ]


def _through_l2(node: Node) -> float:
    """J per byte in L2 of what links, host, engines move, where L2 is the last cache to memory."""
    return 0.0 if node.gpu.memory_side_cache is not None else node.gpu.energy.l2_byte


def flow_powers(gpu: Gpu, home: int, segment: Segment) -> list[tuple[int, str, float]]:
    """(simulated GPU, name of the energy, W) of a flow of *home*, without idle power."""
    bill, rate, factor = segment.flow.tags.bill, segment.rate, segment.factor
    scale = factor**gpu.clock.voltage_exponent
    powers = [(where, name, rate * joules) for where, name, joules in bill.uncore]
    if bill.core:
        powers = [(home, name, rate * joules * scale) for name, joules in bill.core] + powers
    if bill.held:
        powers += [(home, "compute_unit", bill.held * factor * scale)]
    if bill.busy:
        powers += [(home, "dma_engine", bill.busy)]
    return powers


def task_accounts(gpu: Gpu, segments: Iterable[Segment]) -> dict[str, dict[str, float]]:
    """Energy [J] of each task on the simulated GPUs by name of the energy, without idle power.

    The terms of a flow are summed over its *segments*, which follow each other.
    """
    accounts: dict[str, dict[str, float]] = {}
    exponent = gpu.clock.voltage_exponent
    for flow, of_flow in groupby(segments, _flow):
        done = clocked = held = time = 0.0  # work, the same by f^x, s by f^(1+x), s
        for _, start, end, rate, factor, _ in of_flow:
            span, scale = end - start, factor**exponent
            done += rate * span
            clocked += rate * scale * span
            held += factor * scale * span
            time += span
        bill, account = flow.tags.bill, accounts.setdefault(flow.tags.task, {})
        spent = [(name, clocked * joules) for name, joules in bill.core]
        spent += [(name, done * joules) for _, name, joules in bill.uncore]
        if bill.held:
            spent += [("compute_unit", held * bill.held)]
        if bill.busy:
            spent += [("dma_engine", time * bill.busy)]
        for name, joules in spent:
            account[name] = account.get(name, 0.0) + joules
    return accounts


def idle_energy(node: Node, wall: float) -> float:
    """Energy [J] that all GPUs take in *wall* s whatever they do."""
    return node.gpu.clock.idle_power * wall * node.ranks

"""Choosing a strategy from isolated times only: the two published heuristics, and DMA by estimate.

With Tg, Tc the times alone of the compute tasks and of the collectives, and slow_g(n), slow_c(k)
their slowdowns alone on n CUs and with k channels on k CUs (N CUs in all):

    sp         launch by ascending workgroup count. The first kernel holds the CUs it fills, h of
               them, to its end; the other one proceeds on N - h meanwhile, on all CUs afterwards
    rp         k that minimises max(Tg slow_g(N - k), Tc slow_c(k))
    conccl     max(Tg, time of the collective alone on DMA engines)
    conccl_rp  the same with Tg slow_g(N - dies), where memory-bound GEMMs gain by it

The strategy with the smallest estimate is recommended, the first of them on a tie. Nothing that
overlaps is simulated. Source of the first two: arXiv 2412.14335.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from c3sim.errors import InputError
from c3sim.processes.kernels.grids import grid_shapes
from c3sim.simulation.runs import isolated
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.strategies.masks import memory_bound_streams, reserved, withheld
from c3sim.strategies.rewrites import collectives, compute_tasks, on_dma


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The *strategy* with the smallest of the *estimates* [s]."""

    strategy: str
    estimates: Mapping[str, float]


def recommend(base: Workload, node: Node, counts: Sequence[int]) -> Recommendation:
    """The strategy with the smallest estimate for *base*; *counts*: numbers of CUs to try."""
    estimates = {"sp": _prioritised(base, node)}
    for count, (slow_g, slow_c) in slowdown_table(base, node, counts).items():
        estimates[f"rp:{count}"] = max(
            _compute(base, node) * slow_g, _communication(base, node) * slow_c
        )
    try:
        moved = on_dma(base, node)
    except InputError:
        pass  # the collective reduces: not for DMA engines
    else:
        estimates["conccl"] = max(_compute(base, node), _communication(moved, node))
        fewer = withheld(moved, node, memory_bound_streams(moved, node))
        estimates["conccl_rp"] = max(_compute(fewer, node), _communication(moved, node))
    return Recommendation(min(estimates, key=lambda name: estimates[name]), estimates)


def slowdown_table(
    base: Workload, node: Node, counts: Sequence[int]
) -> dict[int, tuple[float, float]]:
    """For each number of CUs reserved: slowdowns alone of compute tasks and of collectives."""
    table = {}
    for count in counts:
        parted = reserved(base, node, count)
        slow_g = _compute(parted, node) / _compute(base, node)
        table[count] = (slow_g, _communication(parted, node) / _communication(base, node))
    return table


def sp_estimate(first: float, second: float, slowdown: float) -> float:
    """When both are done [s]: *second* runs slowed down until *first* ends, then at full speed."""
    done = first / slowdown
    return max(first, second * slowdown) if done >= second else first + second - done


def _compute(workload: Workload, node: Node) -> float:
    return sum(isolated(node, workload, name).end for name in compute_tasks(workload))


def _communication(workload: Workload, node: Node) -> float:
    return sum(isolated(node, workload, name).end for name in collectives(workload))


def _prioritised(base: Workload, node: Node) -> float:
    """Estimate for sp [s]: who goes first has its CUs alone, the others what is left."""
    units, shapes = node.gpu.compute_unit_count, grid_shapes(base, node)
    compute_groups = max(shapes[name].workgroups for name in compute_tasks(base))
    collective_groups = max(shapes[name].workgroups for name in collectives(base))
    compute, communication = _compute(base, node), _communication(base, node)
    held = min(collective_groups, compute_groups)
    if held >= units:
        return compute + communication
    if collective_groups <= compute_groups:
        slowdown = _compute(reserved(base, node, held), node) / compute
        return sp_estimate(communication, compute, slowdown)
    slowdown = _communication(reserved(base, node, units - held), node) / communication
    return sp_estimate(compute, communication, slowdown)

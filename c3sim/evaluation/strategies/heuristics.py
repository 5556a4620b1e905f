"""Choosing a strategy from isolated times only: the two published heuristics, and DMA by estimate.

An estimate is the least time of the workload, its longest chain or what one resource has to do
(simulation/critical_path.py), from times alone as the strategy runs the tasks::

    rp         k CUs reserved, for the k with the least estimate
    conccl     collectives alone on DMA engines
    conccl_rp  the same, compute tasks alone on N - dies CUs where memory-bound GEMMs gain by it
    sp         launch by ascending workgroup count. With Tg, Tc the sums of the times alone of
               compute tasks and of collectives: the first kind holds the CUs it fills, h of them,
               to its end; the other one proceeds on N - h meanwhile, on all CUs afterwards. What
               that takes beyond max(Tg, Tc) is added to the least time, up to Tg + Tc in all

Of a pair of tasks that wait for nothing these are the published rules: for rp the k that minimises
max(Tg slow_g(N - k), Tc slow_c(k)), with slow_g(n), slow_c(k) the slowdowns alone on n CUs and with
k channels on k CUs.

The strategy with the smallest estimate is recommended, the first of them on a tie. Nothing that
overlaps is simulated. Source of the first two: arXiv 2412.14335.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from c3sim.errors import InputError
from c3sim.evaluation.strategies.rewrites import (
    collectives,
    compute_tasks,
    memory_bound_streams,
    on_dma,
    reserved,
    withheld,
)
from c3sim.simulation.critical_path import least_of, precedence
from c3sim.simulation.runs import each_isolated
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import plan


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The *strategy* with the smallest of the *estimates* [s]."""

    strategy: str
    estimates: Mapping[str, float]


def recommend(base: Workload, node: Node, counts: Sequence[int]) -> Recommendation:
    """The strategy with the smallest estimate for *base*; *counts*: numbers of CUs to try."""
    chains = precedence(plan(base, node))

    def least(workload: Workload) -> float:
        return least_of(chains, each_isolated(node, workload))

    estimates = {"sp": _prioritised(base, node, least(base))}
    estimates |= {name: least(way) for name, way in others(base, node, counts).items()}
    return Recommendation(min(estimates, key=lambda name: estimates[name]), estimates)


def others(base: Workload, node: Node, counts: Sequence[int]) -> dict[str, Workload]:
    """*base* under each of the strategies but ``sp``, by name, whose tasks are run alone."""
    ways = {f"rp:{count}": reserved(base, node, count) for count in counts}
    try:
        moved = on_dma(base, node)
    except InputError:
        return ways  # the collective reduces: not for DMA engines
    withholding = withheld(moved, node, memory_bound_streams(moved, node))
    return ways | {"conccl": moved, "conccl_rp": withholding}


def sp_estimate(first: float, second: float, slowdown: float) -> float:
    """The time [s] at which both are done: *second* runs slowed down until *first* ends, then at
    full speed.
    """
    done = first / slowdown
    return max(first, second * slowdown) if done >= second else first + second - done


def _compute(workload: Workload, node: Node) -> float:
    alone = each_isolated(node, workload, compute_tasks(workload))
    return sum(run.end for run in alone.values())


def _communication(workload: Workload, node: Node) -> float:
    alone = each_isolated(node, workload, collectives(workload))
    return sum(run.end for run in alone.values())


def _prioritised(base: Workload, node: Node, least: float) -> float:
    """Estimate for sp [s]: who goes first has its CUs alone, the others what is left."""
    units, shapes = node.gpu.compute_unit_count, plan(base, node).shapes
    compute_groups = max(shapes[name].workgroups for name in compute_tasks(base))
    collective_groups = max(shapes[name].workgroups for name in collectives(base))
    compute, communication = _compute(base, node), _communication(base, node)
    held = min(collective_groups, compute_groups)
    if held >= units:
        together = compute + communication
    elif collective_groups <= compute_groups:
        slowdown = _compute(reserved(base, node, held), node) / compute
        together = sp_estimate(communication, compute, slowdown)
    else:
        slowdown = _communication(reserved(base, node, units - held), node) / communication
        together = sp_estimate(compute, communication, slowdown)
    return min(least + together - max(compute, communication), compute + communication)

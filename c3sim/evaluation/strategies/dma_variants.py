"""Variants of the collectives on DMA engines, and those that isolated runs recommend beside compute
tasks.

A variant is a command program (``tasks/engine_collective.py``), on one or several engines where
that is free, prelaunched or not. With T_g and T_v the times alone of the compute tasks and of a
collective by variant v, M_g and M_v the times that the memory of a GPU takes for what each reads
and writes:

    takes        T_v (1 + M_g / T_g): it waits for all the memory time that compute takes meanwhile
    least        the least time of the workload (simulation/critical_path.py), every collective with
                 its quickest variant
    hidden       no chain through the collective that takes so long, and no sum over collectives, is
                 longer than *least*; those before it have what was chosen for them
    recommended  of the hidden variants the one with the least M_v, of equal ones the quickest
                 alone: ending sooner gains nothing, and what it moves costs the compute tasks
                 memory and power. If none is hidden, as on the critical path, the quickest alone.
                 The first on a tie

Prelaunch is one for all collectives: what gives the shorter least time, then the better worst rank.
Nothing that overlaps is simulated: a runtime has to know times alone, bytes and the bandwidth of
the memory. M counts operands and results of compute tasks once, as if caches held them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from c3sim.evaluation.strategies.rewrites import (
    collective_of,
    compute_tasks,
    on_engines,
    with_tasks,
)
from c3sim.models.groups import ranks_in
from c3sim.models.memory import memory_given
from c3sim.simulation.critical_path import Precedence, earliest, least_time, precedence, tails
from c3sim.simulation.run import TaskRun
from c3sim.simulation.runs import alone as without_others
from c3sim.simulation.runs import each_isolated, isolated
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.collective import NEEDS
from c3sim.spec.workload import Collective, Workload
from c3sim.tasks.plan import kind_of, plan

FIGURES = 9  # of least times that are compared
ONLY = {"bcst": "all_gather", "swap": "all_to_all"}


@dataclass(frozen=True, slots=True)
class Variant:
    """A command *program*, on so many *engines* where it leaves that open, *prelaunched* or not."""

    program: str
    engines: int | None = None
    prelaunched: bool = False

    @property
    def name(self) -> str:
        """Name in output: ``pcpy``, ``b2b:2_pl``."""
        return (
            self.program + (f":{self.engines}" if self.engines else "") + "_pl" * self.prelaunched
        )


@dataclass(frozen=True, slots=True)
class RecommendedVariants:
    """The variant of each collective, and by name the times alone [s] of all of them."""

    variants: Mapping[str, Variant]
    alone: Mapping[str, Mapping[str, float]]


def variants(node: Node, op: str) -> tuple[Variant, ...]:
    """Variants that the engines of *node* can run for *op*: pcpy first, each prelaunched after
    itself.

    Back to back on 1, 2, 4 ... engines: fewer than the peers (one for each is pcpy), and no more
    than there are.
    """
    commands, most = node.gpu.dma_engines.commands, min(node.gpus - 2, node.gpu.dma_engines.count)
    names = [
        name for name, command in NEEDS.items() if command in commands and ONLY.get(name, op) == op
    ]
    if node.nodes > 1:
        names = ["pcpy"]  # the others are for the GPUs of one node
    counts = [2**power for power in range(1, 10) if 2**power <= most] if "b2b" in names else []
    programs = [(name, None) for name in names] + [("b2b", count) for count in counts]
    prelaunch = (False, True) if "poll" in commands else (False,)
    return tuple(Variant(name, engines, late) for name, engines in programs for late in prelaunch)


def with_variants(workload: Workload, chosen: Mapping[str, Variant]) -> Workload:
    """*workload*, on DMA engines already, with these variants; prelaunch is the host's."""
    changes = {name: {"variant": v.program, "engines": v.engines} for name, v in chosen.items()}
    prelaunched = any(v.prelaunched for v in chosen.values())
    return with_tasks(workload, changes).changed(host__prelaunched=prelaunched)


def recommended_variants(workload: Workload, node: Node) -> RecommendedVariants:
    """For every collective of *workload* that is on DMA engines."""
    alone = {name: _alone(workload, node, name) for name in on_engines(workload)}
    others = each_isolated(node, workload, [name for name in workload.tasks if name not in alone])
    compute = sum(others[name].end for name in compute_tasks(workload))
    tasks = [workload.tasks[name] for name in compute_tasks(workload)]
    memory = sum(_memory_time(node, *kind_of(task).touched(task)) for task in tasks)
    choice = _Choice(
        plan=precedence(plan(workload, node)),
        ready={name: run.ready for name, run in others.items()} | dict.fromkeys(alone, 0.0),
        others={name: run.end - run.ready for name, run in others.items()},
        alone={name: {v: run.end for v, run in runs.items()} for name, runs in alone.items()},
        moved={
            name: {v: _moved_time(node, collective_of(workload, name), v) for v in runs}
            for name, runs in alone.items()
        },
        disturbed=1.0 + memory / compute if compute else math.inf,  # not behind nothing
    )
    ways = dict.fromkeys(v.prelaunched for runs in alone.values() for v in runs)
    _, _, chosen = min((choice.under(prelaunched) for prelaunched in ways), key=lambda way: way[:2])
    times = {name: {v.name: time for v, time in of.items()} for name, of in choice.alone.items()}
    return RecommendedVariants(chosen, times)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Choice:
    """Inputs of the choice [s]: lengths of the *others* alone, of each collective by
    variant those *alone* and those of a GPU's memory for what is *moved*; *disturbed*: how many
    times longer a collective takes that waits for the memory of compute.
    """

    plan: Precedence
    ready: Mapping[str, float]
    others: Mapping[str, float]
    alone: Mapping[str, Mapping[Variant, float]]
    moved: Mapping[str, Mapping[Variant, float]]
    disturbed: float

    def under(self, prelaunched: bool) -> tuple[float, tuple[float, ...], dict[str, Variant]]:
        """With all collectives *prelaunched* or none: least time, worst rank, the choice."""
        able = {
            name: [variant for variant in of if variant.prelaunched == prelaunched]
            for name, of in self.alone.items()
        }
        quick = {name: min(self.alone[name][v] for v in of) for name, of in able.items()}
        lengths = {**self.others, **quick}
        limit = least_time(self.plan, self.ready, lengths)
        behind, chosen = tails(self.plan, lengths), dict[str, Variant]()
        begin, left = dict[str, float](), limit - sum(quick.values())
        worst: tuple[float, ...] = (0.0,)
        for name in self.plan.order:
            begin[name] = earliest(self.plan, name, self.ready, begin, lengths)
            if name in able:
                room = min(limit - begin[name] - behind[name], left + quick[name])
                rank, chosen[name] = self._ranked(name, able[name], room)
                worst = max(worst, rank)
                hidden = self.disturbed if rank[0] == 0.0 else 1.0
                lengths[name] = self.alone[name][chosen[name]] * hidden
                left -= lengths[name] - quick[name]
        plain = {name: self.alone[name][variant] for name, variant in chosen.items()}
        total = least_time(self.plan, self.ready, {**self.others, **plain})
        return float(f"{total:.{FIGURES}g}"), worst, chosen

    def _ranked(
        self, name: str, able: Sequence[Variant], room: float
    ) -> tuple[tuple[float, ...], Variant]:
        """The best of the variants that *name* is *able* to run as, with its rank; less is better.

        *room*: how long [s] it may take without making anything longer.
        """

        def rank(variant: Variant) -> tuple[float, ...]:
            time = self.alone[name][variant]
            if time * self.disturbed <= room:
                return (0.0, self.moved[name][variant], time)
            return (1.0, time)

        best = min(able, key=rank)
        return rank(best), best


def _alone(workload: Workload, node: Node, name: str) -> dict[Variant, TaskRun]:
    """The collective *name* alone, as each variant."""
    ways = as_variants(workload, node, name).items()
    return {variant: isolated(node, way, name) for variant, way in ways}


def as_variants(workload: Workload, node: Node, name: str) -> dict[Variant, Workload]:
    """The collective *name* by itself, as each variant."""
    only, task = without_others(workload, name), collective_of(workload, name)
    return {v: with_variants(only, {name: v}) for v in variants(node, task.op)}


def _moved_time(node: Node, task: Collective, variant: Variant) -> float:
    return _memory_time(node, *moved_bytes(task, variant.program, ranks_in(node, task)))


def moved_bytes(task: Collective, program: str, gpus: int) -> tuple[float, float]:
    """Bytes read from and written to the memory of one GPU: a broadcast reads once for two peers,
    what is reduced is read where it is added as well, and an all-reduce gathers afterwards.
    """
    chunk, peers = task.size * task.repeat / gpus, gpus - 1
    if task.op in ("reduce_scatter", "all_reduce"):
        gathered = float(task.op == "all_reduce")
        return chunk * peers * (2 + gathered), chunk * peers * (1 + gathered)
    return chunk * ((peers + 1) // 2 if program == "bcst" else peers), chunk * peers


def _memory_time(node: Node, read: float, written: float) -> float:
    """Time [s] of one GPU's memory for these bytes."""
    return (read + written) / memory_given(node.gpu, written / (read + written))

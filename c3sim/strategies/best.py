"""Of a strategy's candidates, the one with the shortest simulated wall time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from c3sim.errors import InputError
from c3sim.simulation.runs import Run, run_once
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.strategies.rewrites import yardstick
from c3sim.strategies.table import Candidate, apply


@dataclass(frozen=True, slots=True)
class Chosen:
    """The best *candidate*, its *run*, the *walls* [s] of all, and the workload whose isolated
    times are the yardstick.
    """

    candidate: Candidate
    run: Run
    walls: Mapping[str, float]
    yardstick: Workload

    @property
    def workload(self) -> Workload:
        return self.candidate.workload


def choose(strategy: str, workload: Workload, node: Node) -> Chosen:
    """The best candidate of *strategy*, the first of them on a tie. Raises InputError."""
    candidates = apply(strategy, workload, node)
    runs = [run_once(node, candidate.workload) for candidate in candidates]
    best = min(range(len(runs)), key=lambda i: runs[i].wall)
    walls = {candidate.name: run.wall for candidate, run in zip(candidates, runs, strict=True)}
    return Chosen(candidates[best], runs[best], walls, _yardstick(workload, node))


def _yardstick(workload: Workload, node: Node) -> Workload:
    """As written where there is no rewriting it: one stream for all, or a collective that no
    library has.
    """
    try:
        return yardstick(workload, node)
    except InputError:
        return workload

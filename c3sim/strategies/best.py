"""Of a strategy's candidates, the one with the shortest simulated wall time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from c3sim.simulation.run import Run
from c3sim.simulation.runs import run_once
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.strategies.table import Candidate, candidates_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Best:
    """The best *candidate*, its *run*, and by name the *walls* [s] of all candidates."""

    candidate: Candidate
    run: Run
    walls: Mapping[str, float]

    @property
    def workload(self) -> Workload:
        return self.candidate.workload


def best_candidate(strategy: str, workload: Workload, node: Node) -> Best:
    """The best candidate of *strategy*, the first of them on a tie. Raises InputError."""
    candidates = candidates_of(strategy, workload, node)
    runs = [run_once(node, candidate.workload) for candidate in candidates]
    best = min(range(len(runs)), key=lambda number: runs[number].end)
    walls = {candidate.name: run.end for candidate, run in zip(candidates, runs, strict=True)}
    return Best(candidate=candidates[best], run=runs[best], walls=walls)


def best_workload(strategy: str, workload: Workload, node: Node) -> Workload:
    """That of the best candidate, without a run where there is one alone. Raises InputError."""
    candidates = candidates_of(strategy, workload, node)
    if len(candidates) == 1:
        return candidates[0].workload
    return best_candidate(strategy, workload, node).workload

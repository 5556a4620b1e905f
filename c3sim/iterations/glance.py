"""The first look at a run: its wall time and what ran when, before all else is known.

Of a workload it is the run itself. Of an iteration it is an estimate, in less time: one layer and
two are simulated where the result takes two and three, and the sides are not run alone. Where
launches take longer than the GPU's work, they are the wall time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from c3sim.evaluation.evaluate import best_of
from c3sim.evaluation.strategies.table import strategy_name
from c3sim.iterations.build import WHOLE, Model, plan
from c3sim.iterations.described import changes_of
from c3sim.iterations.measured import RunsOfPieces, layers_to_run
from c3sim.iterations.runs import Change, numbers_of
from c3sim.simulation.run import Run
from c3sim.simulation.runs import run_once
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described, Iteration
from c3sim.spec.reading.loading import with_model
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import kind_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Glance:
    """*wall_s* [s]; *run* of *workload*, with the class of each task in a model, if it is of one.
    Of an iteration an estimate: *layers* of a GPU, of which *drawn* were run; else 0.
    """

    wall_s: float
    run: Run
    workload: Workload
    classes: Mapping[str, str]
    layers: int = 0
    drawn: int = 0


def glance(workload: Workload, node: Node, strategy: str) -> Glance:
    """First look at an iteration whose models have been checked. Raises InputError(s)."""
    strategy = strategy_name(strategy)
    if isinstance(workload, Described):
        loaded = with_model(workload.iteration)
        change = changes_of(workload, node, strategy)
        return _of_iteration(loaded.iteration, loaded.model, node, change)
    best = best_of(workload, node, strategy)
    tasks = best.workload.tasks
    details = {name: kind_of(task).detail(task) for name, task in tasks.items()}
    classes = {name: detail["operator"] for name, detail in details.items() if detail}
    return Glance(wall_s=best.run.end, run=best.run, workload=best.workload, classes=classes)


def _of_iteration(iteration: Iteration, model: Model, node: Node, change: Change) -> Glance:
    planned = plan(iteration, model, node)
    layers, few = planned.own_layers, layers_to_run(planned)[0]
    few, more = few - 1, few
    if layers <= few + more:
        few = more = layers

    def pieces(*, eager: bool) -> RunsOfPieces:
        how: dict[str, Any] = {"eager": eager, "sides": "none", "known": {}, "trace": False}
        return RunsOfPieces(planned=planned, change=change, few=few, more=more, **how)

    def run(workload: Workload) -> Run:
        return run_once(node, workload, energy=False, settled=runs.in_loop("whole"))

    runs = pieces(eager=False)
    (small, low), (drawn, workload) = (runs.piece(WHOLE, each) for each in (few, more))
    shown = run(workload)
    one = numbers_of(drawn, shown)
    if few != more:
        one = numbers_of(small, run(low)).at(one, few, more, layers)
    wall = one.wall
    if planned.in_turns:  # of one micro batch with the model's begin and end on every stage
        turns = planned.micro_batches + (planned.stages - 1) / planned.chunks
        wall = turns * (wall - one.busy["optimizer"]) + one.busy["optimizer"]
    if iteration.launch == "eager" and one.host > one.wall:
        wall *= one.host / one.wall
        drawn, more = small, few
        shown = run(pieces(eager=True).piece(WHOLE, few)[1])
    return Glance(
        wall_s=wall,
        run=shown,
        workload=drawn.workload,
        classes=drawn.classes,
        layers=layers,
        drawn=more,
    )

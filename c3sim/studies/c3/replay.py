"""Mean fractions of ideal of a study's cases under draws, over processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from c3sim.errors import InputError
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.overlap import overlap
from c3sim.experiments.jobs import Workers, in_batches
from c3sim.experiments.points import Settings, node_with
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.paths import is_of_workload, set_si
from c3sim.result import Result
from c3sim.simulation.runs import forget, isolated
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.strategies.rewrites import baseline
from c3sim.studies.c3.draws import Draw, Yardstick
from c3sim.studies.cases import Case
from c3sim.studies.kind import Options

Fractions = Mapping[str, float]  # strategy -> mean fraction of ideal
#: By each yardstick of a draw; none where the values of the draw exclude each other.
Measured = Sequence[Fractions]
#: Runs from which other processes pay: starting them takes about as long.
WORTH_IT = 500


@dataclass(frozen=True, kw_only=True)
class Rerun:
    """A *case*, and for each strategy the one to run: itself, or its best candidate so far."""

    case: Case
    strategies: Mapping[str, str]


def replay(
    reruns: Sequence[Rerun], draws: Sequence[Draw], options: Options, *, what: str
) -> list[Measured]:
    """Of each draw the means over *reruns*, in order."""
    runs = len(draws) * sum(len(each.strategies) for each in reruns)
    jobs = options.n_jobs if options.n_jobs or runs >= WORTH_IT else 1
    workers = Workers(jobs=jobs or _cores())
    found: list[Measured] = [()] * len(draws)
    done = 0
    options.report(what, done, len(draws))
    batches = in_batches(partial(_means, tuple(reruns)), list(enumerate(draws)), workers)
    with closing(batches):
        for batch in batches:
            for number, means in batch:
                found[number] = means
            done += len(batch)
            options.report(what, done, len(draws))
    return found


def _cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


def _means(
    reruns: Sequence[Rerun], draws: Sequence[tuple[int, Draw]]
) -> list[tuple[int, Measured]]:
    found: list[tuple[int, Measured]] = []
    for number, draw in draws:
        try:
            found.append((number, means_of(reruns, draw)))
        except InputError:
            found.append((number, ()))
        # the next draw has another node
        forget()
    return found


def means_of(reruns: Sequence[Rerun], draw: Draw) -> list[Fractions]:
    """The means over *reruns* under *draw*, by each of its yardsticks. Raises InputError: values
    that exclude each other.
    """
    values: list[dict[str, list[float]]] = [{} for _ in draw.yardsticks]
    nodes = _Nodes()
    for each in reruns:
        workload, node = nodes.models(each.case, draw.settings)
        results = {
            strategy: evaluate_run(workload, node, candidate, noted=False, stretched=False)
            for strategy, candidate in each.strategies.items()
        }
        for yardstick, of_strategy in zip(draw.yardsticks, values, strict=True):
            alone = _alone(each.case, draw, yardstick, nodes)
            for strategy, result in results.items():
                fraction = _fraction(result, yardstick, alone)
                if fraction is not None:
                    of_strategy.setdefault(strategy, []).append(fraction)
    return [
        {strategy: fmean(known) for strategy, known in of_strategy.items()}
        for of_strategy in values
    ]


def _alone(case: Case, draw: Draw, yardstick: Yardstick, nodes: _Nodes) -> list[float]:
    """Isolated times under the conditions of *yardstick*; none where they are those of the runs."""
    if not yardstick.isolated:
        return []
    workload, node = nodes.models(case, (*draw.settings, *yardstick.isolated))
    base = baseline(workload, node)
    return [isolated(node, base, name).end for name in base.tasks]


def _fraction(result: Result, yardstick: Yardstick, alone: Sequence[float]) -> float | None:
    if alone:
        return overlap(alone, result.wall_s).fraction
    return result.own_fraction if yardstick.own else result.fraction_of_ideal


class _Nodes:
    """Nodes with values set; cases that share a node share them."""

    def __init__(self) -> None:
        self._known: list[tuple[Node, Settings, Node]] = []

    def models(self, case: Case, settings: Settings) -> tuple[Workload, Node]:
        """Workload and node of *case* with *settings*. Raises InputError."""
        of_node = tuple(pair for pair in settings if not is_of_workload(pair[0]))
        node = next((n for old, of, n in self._known if old == case.node and of == of_node), None)
        if node is None:
            node = node_with(case.node, case.workload, of_node)
            self._known.append((case.node, of_node, node))
        workload = case.workload
        for path, value in settings:
            if is_of_workload(path):
                _, workload = set_si(node, workload, path, value)
        check_on_node(workload, node)
        return workload, node

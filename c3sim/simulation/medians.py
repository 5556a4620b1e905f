"""The median over the ways in which ranks may begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from c3sim.simulation.drift import Case
from c3sim.simulation.run import Exposure, Outcome, Run, TaskRun

ROUNDING = 1e-9  # of probabilities


def median_run(cases: Sequence[Case]) -> Run:
    """End and times of tasks: medians, of the slowest rank; all else: of the case whose end is
    nearest to the median.
    """
    if len(cases) == 1:
        return cases[0].run
    weights = [case.draw.probability for case in cases]
    end = weighted_median([case.run.end for case in cases], weights)
    middle = min(
        (case for case in cases), key=lambda case: (abs(case.run.end - end), -case.draw.probability)
    ).run
    times = {
        (name, 0): _median_task([case.run.task(name) for case in cases], weights)
        for name in dict.fromkeys(task for task, _ in middle.times)
    }
    outcomes = tuple(
        Outcome(probability=case.draw.probability, end=case.run.end, arrivals=case.draw.arrivals)
        for case in cases
    )
    events = sum(case.run.events for case in cases)
    exposed, computing = (
        weighted_median([case.run.exposure[part] for case in cases], weights) for part in (0, 1)
    )
    return replace(
        middle,
        times=times,
        end=end,
        events=events,
        exposure=Exposure(exposed, computing),
        outcomes=outcomes,
    )


def _median_task(runs: Sequence[TaskRun], weights: Sequence[float]) -> TaskRun:
    return TaskRun(
        ready=weighted_median([run.ready for run in runs], weights),
        start=weighted_median([run.start for run in runs], weights),
        end=weighted_median([run.end for run in runs], weights),
        detail=runs[0].detail,
    )


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    """Half of the weight lies on either side; between two values, their mean."""
    return weighted_quantile(values, weights, 0.5)


def weighted_quantile(values: Sequence[float], weights: Sequence[float], share: float) -> float:
    """The least value that at least *share* of the weight reaches; where exactly that reaches it,
    the mean of it and the next.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    wanted, reached = share * sum(weights), 0.0
    for place, index in enumerate(order):
        reached += weights[index]
        if abs(reached - wanted) <= ROUNDING and place + 1 < len(order):
            return 0.5 * (values[index] + values[order[place + 1]])
        if reached >= wanted:
            return values[index]
    return values[order[-1]]

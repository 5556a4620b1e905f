"""Predicts what a measurement record measured and sets the two side by side.

A slowdown divides the concurrent time by what the same source measured alone; the predicted one, by the predicted
isolated time. Times are in microseconds, as in the records. A load that was measured over and over has a mean power,
and time and energy of a turn (loops.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from c3sim.errors import C3simError, InputError
from c3sim.input.checks.on_node import check_on_node
from c3sim.simulation.runs import alone
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.record import Record
from c3sim.specs.workload import Workload
from c3sim.strategies.best import best_candidate

from .baselines import NOTHING, Plain
from .loops import UNITS, measured_loop, predicted_loop


@dataclass(frozen=True, slots=True)
class Case:
    """One figure: *predicted* against *measured*, times in us, slowdowns as ratios (*unit_us* is
    then the isolated time), power in W, energy in J.
    """

    id: str
    suite: str
    role: str
    # isolated_gemm, isolated_collective, isolated_copy, isolated_stream, wall, gemm_slowdown, ...
    metric: str
    task: str  # empty for the wall time
    workload: str
    predicted: float
    measured: float
    unit_us: float = 1.0
    plain: Plain = NOTHING
    repeats: int = 1  # lines behind the measured value, which is their mean
    differences: tuple[float, ...] = ()  # |a - b| / mean of each pair of them
    node: str = ""

    @property
    def error(self) -> float:
        """Signed relative error."""
        return self.predicted / self.measured - 1

    @property
    def unit(self) -> str:
        """Of *predicted* and *measured*: us, W, J, or none for a ratio."""
        return "" if self.metric.endswith("_slowdown") else UNITS.get(self.metric, "us")

    @property
    def name(self) -> str:
        """The workload and, if the figure is one task's, the task."""
        return f"{self.workload}: {self.task}" if self.task else self.workload


def compare(node: Node, records: Iterable[Record]) -> list[Case]:
    """Every figure of every record, predicted on *node*, without the plain predictors."""
    return [case for record in records for case in compare_one(node, record)]


def compare_one(node: Node, record: Record) -> list[Case]:
    """Every figure of *record*. Raises InputError, with the record's id, when it cannot be run on
    *node*.
    """
    try:
        return _cases(node, record)
    except C3simError as error:
        text = "; ".join(str(error).split("\n"))
        raise InputError(
            f"record {record.id} of suite {record.suite!r} cannot be run on {node.name}: {text}"
        ) from None


def as_run(node: Node, record: Record) -> Workload:
    """The workload of *record* under its strategy. Raises InputError."""
    check_on_node(record.workload, node)
    if record.strategy == "as_written":
        return record.workload
    return best_candidate(record.strategy, record.workload, node).workload


def _cases(node: Node, record: Record) -> list[Case]:
    measured, workload = record.measured, as_run(node, record)
    blank = Case(
        record.id, record.suite, record.role, "", "", workload.name, 0.0, 1.0, node=record.node
    )
    isolated = {task: _time(node, alone(workload, task), task) for task in measured.isolated}
    found = [
        replace(
            blank,
            metric=f"isolated_{workload.tasks[task].kind}",
            task=task,
            predicted=isolated[task],
            measured=value,
        )
        for task, value in measured.isolated.items()
    ]
    found += _loop(node, workload, record, blank)
    if not measured.tasks and measured.wall_us is None:
        return found
    together = simulate(node, workload)
    if measured.wall_us is not None:
        metric = "sequence" if _is_sequence(workload) else "wall"
        found.append(
            replace(blank, metric=metric, predicted=together.end * 1e6, measured=measured.wall_us)
        )
    for task, times in measured.tasks.items():
        kind, end = workload.tasks[task].kind, together.task(task).end
        assert end is not None  # the run is over
        time = replace(
            blank, metric=f"{kind}_time", task=task, predicted=end * 1e6, measured=times.time_us
        )
        found.append(time)
        if task in measured.isolated:
            base = measured.isolated[task]
            predicted, value = time.predicted / isolated[task], time.measured / base
            found.append(
                replace(
                    time,
                    metric=f"{kind}_slowdown",
                    predicted=predicted,
                    measured=value,
                    unit_us=base,
                )
            )
    return found


def _loop(node: Node, workload: Workload, record: Record, blank: Case) -> list[Case]:
    """Power of a load over and over, and time and energy of a turn."""
    measured = measured_loop(record)
    if measured is None:
        return []
    predicted = predicted_loop(node, workload).figures
    return [
        replace(blank, metric=metric, predicted=predicted[metric], measured=value)
        for metric, value in measured.figures.items()
    ]


def _is_sequence(workload: Workload) -> bool:
    """Whether all tasks run one after the other, in one stream."""
    streams = {task.stream for task in workload.tasks.values()}
    return len(streams) == 1 and None not in streams


def _time(node: Node, workload: Workload, task: str) -> float:
    """The end of *task* [us]."""
    end = simulate(node, workload).task(task).end
    assert end is not None  # the run is over
    return end * 1e6

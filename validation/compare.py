"""Predicts what a measurement record measured and sets the two side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from c3sim.simulation import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.record import Record
from c3sim.specs.workload import Workload

__all__ = ["Case", "compare", "only"]


@dataclass(frozen=True, slots=True)
class Case:
    """One figure: *predicted_us* against *measured_us*; slowdowns are ratios, not times."""

    id: str
    suite: str
    role: str
    metric: str  # isolated_gemm, isolated_collective, isolated_copy, isolated_stream, wall, gemm_slowdown, ...
    name: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Signed relative error."""
        return self.predicted / self.measured - 1


def only(workload: Workload, task: str) -> Workload:
    """*workload* with *task* alone, its dependencies on others dropped."""
    kept = workload.tasks[task].model_copy(update={"after": ()})
    host = workload.host.model_copy(update={"order": ()})
    return workload.model_copy(update={"tasks": {task: kept}, "host": host})


def compare(node: Node, records: Iterable[Record]) -> list[Case]:
    """Every figure of every record, predicted on *node*. Slowdowns use what the same source measured alone."""
    cases = []
    for record in records:
        cases.extend(_cases(node, record))
    return cases


def _cases(node: Node, record: Record) -> list[Case]:
    measured, workload, found = record.measured, record.workload, []

    def add(metric: str, task: str, predicted: float, value: float) -> None:
        name = f"{workload.name}: {task}" if task else workload.name
        found.append(Case(record.id, record.suite, record.role, metric, name, predicted, value))

    alone = {
        task: simulate(node, only(workload, task)).task(task).end * 1e6  # type: ignore[operator]
        for task in {*measured.isolated, *measured.tasks}
    }
    for task, value in measured.isolated.items():
        add(f"isolated_{workload.tasks[task].kind}", task, alone[task], value)
    if measured.tasks or measured.wall_us is not None:
        together = simulate(node, workload)
        if measured.wall_us is not None:
            add("wall", "", together.end * 1e6, measured.wall_us)
        for task, times in measured.tasks.items():
            kind = workload.tasks[task].kind
            end = together.task(task).end * 1e6  # type: ignore[operator]
            add(f"{kind}_time", task, end, times.time_us)
            if task in measured.isolated:
                add(f"{kind}_slowdown", task, end / alone[task], times.time_us / measured.isolated[task])
    return found

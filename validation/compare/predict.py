"""Predicts the figures of measured records: of one, or of many on every core.

A slowdown divides the predicted concurrent time by the predicted isolated time. A concurrent time
is predicted in two ways: with the model's own isolated times, and as the predicted slowdown times
the *measured* isolated time. Times are in microseconds, as in the records.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from c3sim.errors import C3simError, InputError
from c3sim.evaluation.strategies.table import best_candidate
from c3sim.simulation.run import Run
from c3sim.simulation.runs import alone
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.record import Record
from c3sim.spec.schedules import expanded
from c3sim.spec.workload import Workload

from .loops import UNITS, predicted_loop
from .measurements import FigureKey, measured_figures, timed_tasks

BATCH = 25  # records handed to a process at once: they share isolated runs
WORTH_PROCESSES = 4.0  # seconds of work below which starting processes costs more than it saves

#: The fields of a record that its predictions follow from.
ASKED = {"id", "suite", "node", "strategy", "workload", "measured", "observed"}

Progress = Callable[[int], None]  # how many more records are done


class Predicted(NamedTuple):
    """Figures predicted with the model's *own* isolated times, and those *given* the measured ones.

    ``given`` lacks the figures of tasks alone, and those whose isolated time was not measured.
    """

    own: dict[FigureKey, float]
    given: dict[FigureKey, float]


def as_run(node: Node, record: Record) -> Workload:
    """The workload of *record* under its strategy. Raises InputError."""
    check_on_node(record.workload, node)
    if record.strategy == "as_written":
        return record.workload
    return best_candidate(record.strategy, record.workload, node).workload


def predict_record(
    node: Node, record: Record, known: dict[tuple[str, str], float] | None = None
) -> Predicted:
    """The figures that *record* has, predicted on *node*.

    *known* keeps times of tasks alone, which many records of one node share. Raises InputError,
    with the record's id, when it cannot be run there.
    """
    try:
        return _predict(node, record, {} if known is None else known)
    except C3simError as error:
        text = "; ".join(str(error).split("\n"))
        raise InputError(
            f"record {record.id} of suite {record.suite!r} cannot be run on {node.name}: {text}"
        ) from None


def predict(
    nodes: Mapping[str, Node],
    records: Sequence[Record],
    jobs: int = 0,
    progress: Progress = lambda count: None,
) -> list[Predicted]:
    """The predicted figures of each record, in order. *nodes*: by the name the records use.

    *jobs* processes, 0 for as many as there are cores. The first batch is timed; the rest goes to
    other processes only if that is quicker. The result does not depend on it.
    """
    from c3sim.experiments.kept import kept_of

    texts = [record.model_dump_json(include=ASKED) for record in records]  # quick to tell apart
    predicted: dict[int, Predicted] = kept_of(dict(nodes), texts)
    missing = [(n, record) for n, record in enumerate(records) if n not in predicted]
    progress(len(predicted))
    for batch in _batches(nodes, missing, jobs or os.cpu_count() or 1):
        predicted.update(batch)
        progress(len(batch))
    return [predicted[number] for number in range(len(records))]


def _predict(node: Node, record: Record, known: dict[tuple[str, str], float]) -> Predicted:
    workload = as_run(node, record)
    split = expanded(workload, node)  # the whole, or its pieces, may have been measured alone
    isolated = {
        task: _isolated(node, split if task in split.tasks else workload, task, known)
        for task in record.measured.isolated
    }
    keys = measured_figures(record)
    loop = predicted_loop(node, workload).figures if ("power", "") in keys else {}
    run = simulate(node, workload) if _runs_together(record) else None
    own: dict[FigureKey, float] = {}
    given: dict[FigureKey, float] = {}
    for metric, task in keys:
        if metric.startswith("isolated_"):
            own[metric, task] = isolated[task]
        elif metric in UNITS:
            own[metric, task] = loop[metric]
        else:
            assert run is not None  # the other figures are of a concurrent run
            _together(record, run, (metric, task), isolated, Predicted(own, given))
    return Predicted(own, given)


def _runs_together(record: Record) -> bool:
    """True if some figure of *record* is of its tasks in one run."""
    measured = record.measured
    return measured.wall_us is not None or any((measured.tasks, measured.lasting))


def _together(
    record: Record, run: Run, key: FigureKey, isolated: Mapping[str, float], found: Predicted
) -> None:
    """Put the figure *key* of *run*, which all tasks of *record* have in common, into *found*."""
    metric, task = key
    end = (run.task(task).end if task else run.end) * 1e6
    if metric.endswith("_moving"):
        found.own[key] = end - run.task(task).waited * 1e6
        return
    if metric.endswith("_lasting"):
        found.own[key] = end - run.task(task).start * 1e6
        if task in isolated:
            alone_us = record.measured.isolated[task]
            found.given[key] = found.own[key] / isolated[task] * alone_us
        return
    slowdown = metric.endswith("_slowdown")
    found.own[key] = end / isolated[task] if slowdown else end
    rescaled = found.own[key] if slowdown else _given(record, run, isolated, task)
    if rescaled is not None:
        found.given[key] = rescaled


def _isolated(
    node: Node, workload: Workload, task: str, known: dict[tuple[str, str], float]
) -> float:
    """Time [us] of *task* alone."""
    lonely = alone(workload, task)
    # The parts of a workload that decide its run; names and descriptions do not.
    conditions = lonely.model_dump_json(include={"buffers", "tasks", "streams", "host"})
    key = node.name, conditions
    if key not in known:
        known[key] = simulate(node, lonely).task(task).end * 1e6
    return known[key]


def _given(record: Record, run: Run, isolated: Mapping[str, float], task: str) -> float | None:
    """End [us] of *task*, or without one of the run: predicted slowdowns times measured isolated
    times; None where one of these is missing.
    """
    measured, names = record.measured.isolated, [task] if task else timed_tasks(record)
    if not all(name in measured for name in names):
        return None
    return max(run.task(name).end * 1e6 / isolated[name] * measured[name] for name in names)


def _batches(
    nodes: Mapping[str, Node], records: Sequence[tuple[int, Record]], jobs: int
) -> Iterator[list[tuple[int, Predicted]]]:
    from c3sim.experiments.jobs import Workers, in_batches

    began = time.perf_counter()
    known: dict[tuple[str, str], float] = {}
    for start in range(0, len(records), BATCH):
        spent = time.perf_counter() - began
        left = spent / start * (len(records) - start) if start else 0.0
        if jobs > 1 and left > WORTH_PROCESSES:
            yield from in_batches(
                partial(_batch, nodes), records[start:], Workers(jobs=jobs), BATCH
            )
            return
        yield _batch(nodes, records[start : start + BATCH], known)


def _batch(
    nodes: Mapping[str, Node],
    records: Sequence[tuple[int, Record]],
    known: dict[tuple[str, str], float] | None = None,
) -> list[tuple[int, Predicted]]:
    known = {} if known is None else known
    for _, record in records:
        if record.node not in nodes:
            raise InputError(
                f"record {record.id} of suite {record.suite!r} ran on {record.node!r}, "
                "of which there is no model"
            )
    return [(n, predict_record(nodes[record.node], record, known)) for n, record in records]

"""A point of a sweep once more: the command line that runs it, and its timeline and explanation.

It names packaged files, and sets with ``--set`` what differs from them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.errors import C3simError, InputError
from c3sim.iterations.described import subject
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable
from c3sim.result import Result
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import get_value, paths_of, unit_of
from c3sim.spec.units import format_si, parse_quantity
from c3sim.spec.workload import Workload

FILE = "FILE.yaml"  # stands for a workload or node that is not packaged
_TEXTS: tuple[str, ...] = ("name", "description", "source", "workload.node")
_TEXTS += ("workload.name", "workload.description", "workload.source")


def bases(table: ResultTable, models: Models, members: Sequence[str] = ()) -> dict[str, str]:
    """Scenario -> arguments that all its points share: ``WORKLOAD --node NODE --set ...``.

    *members*: the scenarios of a point that is the mean over several.
    """
    shared: dict[str, str] = {}
    axes = {column.name for column in table.having("axis")}
    for position, named in enumerate(table.frame.get("scenario", [""] * len(table))):
        for scenario in (named,) if not members or named in members else members:
            if scenario in shared:
                continue
            try:
                workload, node, _ = models({**table.row(position), "scenario": scenario})
            except C3simError:
                continue  # another point of the scenario may load
            shared[scenario] = shlex.join(_base(workload, node, axes, table.study))
    return shared


def arguments_of(column: Column) -> list[str]:
    """For each distinct value of an axis the arguments that set it, quoted for a shell."""
    return [
        shlex.join(["--set", f"{column.name}={setting(value, column.unit)}"])
        for value in column.distinct()
    ]


def setting(value: Any, unit: str) -> str:
    """*value* exactly as ``--set`` takes it, in a short unit where that gives the same number."""
    if isinstance(value, bool) or value is None or isinstance(value, list | tuple | dict):
        return json.dumps(value)
    if isinstance(value, str):
        return value
    plain = repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if unit in ("", "1"):
        return plain
    for text in (format_si(value, unit), f"{plain} {unit}"):
        try:
            if parse_quantity(text, unit) == value:
                return text
        except InputError:
            continue
    return plain


def _base(workload: Workload, node: Node, axes: set[str], study: Mapping[str, Any]) -> list[str]:
    plain_workload = _first(subject, workload.name, study.get("workload"))
    plain_node = _first(lambda name: load_node(name), node.name, study.get("node"))
    settings = []
    if plain_workload and paths_of(node, plain_workload[1]) != paths_of(node, workload):
        plain_workload = None  # another workload has that name
    if plain_node and paths_of(plain_node[1], workload) != paths_of(node, workload):
        plain_node = None
    if plain_workload and plain_node:
        for path in paths_of(node, workload):
            if path in axes or path in _TEXTS:
                continue
            value = get_value(node, workload, path)
            if value != get_value(plain_node[1], plain_workload[1], path):
                settings += ["--set", f"{path}={setting(value, unit_of(node, workload, path))}"]
    for path, value, style in workload.changes if isinstance(workload, Described) else ():
        if path not in axes:
            unit = unit_of(node, workload, path) if style == "si" else ""
            settings += ["--set", f"{path}={setting(value, unit)}"]
    names = [found[0] if found else FILE for found in (plain_workload, plain_node)]
    return [names[0], "--node", names[1], *settings]


def _first(load: Any, *names: Any) -> tuple[str, Any] | None:
    """The first of *names* that can be loaded, with its model."""
    for name in names:
        try:
            if name:
                return str(name), load(name)
        except C3simError:
            continue
    return None


WORTH_IT = 60  # points; starting other processes takes as long as some tens of them
Row = Mapping[str, Any]
# of a row of results: its workload, node and strategy
Models = Callable[[Row], tuple[Workload, Node, str]]
# of a row of results: its result with timeline, and its explanation as plain data
Resimulate = Callable[[Row], tuple[Result, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Resimulator:
    """Runs a row again; *models* builds its workload and node."""

    models: Models

    def __call__(self, row: Row) -> tuple[Result, Mapping[str, Any]]:
        from c3sim.iterations.described import evaluate, explain

        workload, node, strategy = self.models(row)
        result = evaluate(workload, node, strategy, trace=True)
        return result, explain(workload, node, strategy).to_dict()


def compact_row(row: Row, resimulate: Resimulate) -> dict[str, Any]:
    """The run of *row* as the page shows it, or ``problem``: why it could not be run again."""
    from c3sim.output.page.timeline import compact_run

    try:
        result, explanation = resimulate(row)
    except Exception as error:  # of this point alone: the page says so
        reason = " ".join(str(error).split()) or type(error).__name__
        return {"problem": f"could not be run again: {reason}"}
    return compact_run(result, explanation)


def compact_rows(
    rows: Sequence[Row], resimulate: Resimulate, jobs: int | None
) -> Iterator[dict[str, Any]]:
    """:func:`compact_row` of *rows*, in order. *jobs*: processes; None: all cores where it pays."""
    if jobs == 1 or (jobs is None and len(rows) < WORTH_IT):
        yield from (compact_row(row, resimulate) for row in rows)
        return
    from joblib import delayed

    from c3sim.experiments.jobs import side_by_side

    tasks = (delayed(compact_row)(row, resimulate) for row in rows)
    yield from side_by_side(tasks, jobs or -1)

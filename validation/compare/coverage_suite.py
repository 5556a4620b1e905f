"""The sight of one suite of each number: the rows that are run for it, and what counts as notice.

- Of a suite and role at most ROWS measurements are taken, at even distances.
- Only numbers that a row's run reads can change it (:mod:`.reads`); the others are not tried.
- A first look at FIRST of the rows that read a number tells whether any figure follows it by half a
  point at either value. Only then are the other rows run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from c3sim.errors import C3simError
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.record import Record

from .bounds import Bound, load_bounds
from .coverage import NOTICED, Number, Sight, numbers_of, with_value
from .measurements import FigureKey, Measurement, measured_figures, merge
from .predict import predict_record
from .reads import reading
from .record_files import data_hash, load, nodes_for
from .scores import CALIBRATION

POINT = 0.005  # of a median error; less is no notice
OF_A_FIGURE = 0.02  # of a figure, and more than its repeats differ; less is no notice
ROWS = 24  # measurements of a suite and role that are taken
FIRST = 6  # of them in a first look
PART = 24  # numbers that one process tries at once

Figures = Mapping[FigureKey, float]
#: Suite and id of a record -> metric and absolute relative error of each of its figures.
Errors = Mapping[tuple[str, str], Sequence[tuple[str, float]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The errors of one metric of a suite: median and 90th percentile of the absolute errors, and
    whether the bound holds; without a bound it does not.
    """

    median: float
    p90: float
    held: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A measurement, its figures predicted as the node is, and the numbers that its run reads."""

    measurement: Measurement
    plain: Figures
    reads: frozenset[str]

    def moved(self, figures: Figures) -> Iterator[tuple[FigureKey, float]]:
        """By how much each figure moves, relative to what it was."""
        return ((key, abs(figures[key] / value - 1)) for key, value in self.plain.items() if value)

    def notices(self, figures: Figures) -> bool:
        """True if one of *figures* has moved by more than OF_A_FIGURE and its repeats' distance."""
        return any(
            share >= max((OF_A_FIGURE, *self.measurement.differences(key)))
            for key, share in self.moved(figures)
        )


def coverage(
    files: Sequence[str] = (),
    only: str = "",
    jobs: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
    suites: Collection[str] | None = None,
) -> list[Sight]:
    """The sight that *suites* (left out: all) of *files* have of every number of the nodes that
    they ran on.

    *jobs* processes, 0 for as many as there are cores; *progress*: parts done, of how many.
    """
    from c3sim.experiments.jobs import Workers, of_each

    numbers = numbers_of(nodes_for(load(files)), only)
    parts = parts_of(tuple(files), suites)
    found: dict[tuple[str, str], dict[str, set[str]]] = {each.key: {} for each in numbers}
    work = partial(states_of, tuple(files), only)
    for suite, states in of_each(work, parts, Workers(jobs=jobs or -1), progress):
        for key, state in states.items():
            found[key].setdefault(state, set()).add(suite)
    return [_sight(each, found[each.key]) for each in numbers]


def _sight(number: Number, states: Mapping[str, Collection[str]]) -> Sight:
    """A suite counts by the most telling way in which one of its parts notices."""
    left: set[str] = set()
    suites: dict[str, Any] = {}
    for state in NOTICED:
        here = set(states.get(state, ())) - left
        suites[state] = tuple(sorted(here))
        left |= here
    tried = bool(number.values) and set(states) != {"not tried"}
    return Sight(number=number, tried=tried, read=bool(states), **suites)


def parts_of(
    files: tuple[str, ...], suites: Collection[str] | None = None
) -> list[tuple[str, int]]:
    """Each suite as often as it has parts of its numbers to try, numbered; long suites first."""
    loaded, groups = _loaded(files)
    parts = []
    for suite, group in groups.items():
        if suites is None or suite in suites:
            numbers = numbers_of({one.record.node: loaded[one.record.node] for one in group})
            parts += [(suite, start) for start in range(0, len(numbers), PART)]
    return sorted(parts, key=lambda part: -len(groups[part[0]]))


def states_of(
    files: tuple[str, ...], only: str, part: tuple[str, int]
) -> tuple[str, dict[tuple[str, str], str]]:
    """The suite of *part*, and what it sees of the PART numbers from the start of *part* on that
    its runs read: a state of a :class:`~.coverage.Sight`, by file and path.
    """
    suite, start = part
    loaded, _ = _loaded(files)
    rows = _rows(files, suite)
    nodes = {row.measurement.record.node: loaded[row.measurement.record.node] for row in rows}
    wanted = only and {each.key for each in numbers_of(_all(files), only)}
    states = {}
    for number in numbers_of(nodes)[start : start + PART]:
        readers = [row for row in rows if number.path in row.reads and _has(number, row)]
        if readers and (not only or number.key in wanted):
            states[number.key] = _state(suite, rows, readers, number, loaded)
    return suite, states


def _has(number: Number, row: Row) -> bool:
    return row.measurement.record.node in number.nodes


def _all(files: tuple[str, ...]) -> Mapping[str, LoadedNode]:
    return _loaded(files)[0]


def _state(
    suite: str,
    rows: Sequence[Row],
    readers: Sequence[Row],
    number: Number,
    loaded: Mapping[str, LoadedNode],
) -> str:
    """The sight of *suite* of *number*, which *readers* of its *rows* read."""
    found = {"not tried"}
    for value in number.values:
        try:
            nodes = {name: with_value(loaded[name].node, number, value) for name in number.nodes}
            changed = _changed(nodes, readers)
        except C3simError:
            continue
        found.add("nothing" if changed is None else _notice(suite, rows, changed))
        if "bound" in found:
            break  # nothing tells more
    order = ("bound", "moves", "rows", "nothing", "not tried")
    return next(state for state in order if state in found)


def _changed(nodes: Mapping[str, Node], readers: Sequence[Row]) -> dict[int, Figures] | None:
    """The figures of *readers* on *nodes*, by the row's id; None where a first look sees nothing
    move.
    """
    known: dict[tuple[str, str], float] = {}
    ordered = _first(readers)
    changed: dict[int, Figures] = {}
    for place, row in enumerate(ordered):
        if place == FIRST and not _any_moved(ordered[:FIRST], changed):
            return None
        record = row.measurement.record
        changed[id(row)] = predict_record(nodes[record.node], record, known).own
    return changed if _any_moved(ordered, changed) else None


def _first(readers: Sequence[Row]) -> list[Row]:
    """*readers*, FIRST of them at even distances before the others."""
    first = thinned(readers, FIRST)
    return [*first, *(row for row in readers if not any(row is each for each in first))]


def _any_moved(rows: Sequence[Row], changed: Mapping[int, Figures]) -> bool:
    return any(share >= POINT for row in rows for _, share in row.moved(changed[id(row)]))


def _notice(suite: str, rows: Sequence[Row], changed: Mapping[int, Figures]) -> str:
    plain = _scores(suite, rows, {})
    now = _scores(suite, rows, changed)
    if any(score.held and not now[metric].held for metric, score in plain.items()):
        return "bound"
    if any(abs(now[metric].median - score.median) >= POINT for metric, score in plain.items()):
        return "moves"
    readers = (row for row in rows if id(row) in changed)
    return "rows" if any(row.notices(changed[id(row)]) for row in readers) else "nothing"


def _scores(suite: str, rows: Sequence[Row], changed: Mapping[int, Figures]) -> dict[str, Score]:
    """By metric; the figures of rows that are not among *changed* are as they were."""
    errors = _by_metric(
        each
        for row in rows
        for each in _errors(row.measurement.record, changed.get(id(row), row.plain))
    )
    return {metric: _score(suite, metric, each) for metric, each in errors.items()}


def _errors(record: Record, predicted: Figures) -> Iterator[tuple[str, float]]:
    """The metric and the absolute relative error of each figure of *record*."""
    measured = measured_figures(record)
    for key, value in predicted.items():
        metric = key[0] + ("" if record.role == "validation" else CALIBRATION)
        yield metric, abs(value / measured[key] - 1)


def _by_metric(errors: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for metric, error in errors:
        found.setdefault(metric, []).append(error)
    return found


def _score(suite: str, metric: str, errors: Sequence[float]) -> Score:
    bound = _bounds().get(suite, {}).get(metric)
    median, p90 = float(np.median(errors)), float(np.quantile(errors, 0.9))
    held = bound is not None and median <= bound.limit.median and p90 <= bound.limit.p90
    return Score(median=median, p90=p90, held=held)


@cache
def _bounds() -> Mapping[str, Mapping[str, Bound]]:
    """The packaged bounds, read once in each process: every number that is tried is scored."""
    return load_bounds().suites


@lru_cache(maxsize=4)
def _rows(files: tuple[str, ...], suite: str) -> tuple[Row, ...]:
    """The rows of *suite*, run once as the nodes are, in each process."""
    loaded, groups = _loaded(files)
    rows = []
    for one in groups[suite]:
        node = loaded[one.record.node]
        copy, reads = reading(node.node, frozenset(node.provenance))
        plain = predict_record(copy, one.record).own
        rows.append(Row(measurement=one, plain=plain, reads=frozenset(reads)))
    return tuple(rows)


@lru_cache(maxsize=2)
def _loaded(
    files: tuple[str, ...],
) -> tuple[Mapping[str, LoadedNode], Mapping[str, Sequence[Measurement]]]:
    """Nodes, and the measurements of each suite that are taken, once in each process."""
    records = load(files)
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for one in merge(records):
        groups.setdefault((one.record.suite, one.record.role), []).append(one)
    suites: dict[str, list[Measurement]] = {}
    for (suite, _), group in groups.items():
        suites.setdefault(suite, []).extend(thinned(group, ROWS))
    return nodes_for(records), suites


def thinned(group: Sequence[Any], most: int) -> Sequence[Any]:
    """*group*, or *most* of it at even distances."""
    if len(group) <= most:
        return group
    return [group[place * len(group) // most] for place in range(most)]


def predictions(files: Sequence[str], only: str) -> int:
    """About how many runs :func:`~.coverage.coverage` takes: a first look at a quarter of the
    numbers, which is what a run reads.
    """
    loaded, groups = _loaded(tuple(files))
    wanted = numbers_of(loaded, only)
    runs = 0
    for group in groups.values():
        here = {one.record.node for one in group}
        values = sum(len(each.values) for each in wanted if here & set(each.nodes))
        runs += len(group) + values * min(FIRST, len(group)) // 4
    return runs


def key_of(
    files: tuple[str, ...], suite: str, validated: Errors | None = None
) -> dict[str, object]:
    """The key on which sights of *suite* rest: its rows, and how they are predicted as the nodes
    are; *validated* says how, if all rows have been predicted before.
    """
    loaded, groups = _loaded(files)
    known: dict[tuple[str, str], float] = {}

    def errors(record: Record) -> Iterable[tuple[str, float]]:
        if validated is not None:
            return validated[suite, record.id]
        return _errors(record, predict_record(loaded[record.node].node, record, known).own)

    found = _by_metric(each for one in groups[suite] for each in errors(one.record))
    scores = {metric: _score(suite, metric, each) for metric, each in sorted(found.items())}
    return {
        "data": data_hash(one.record for one in groups[suite]),
        "errors": {
            metric: [round(each.median, 4), round(each.p90, 4)] for metric, each in scores.items()
        },
    }


def errors_of(verdict: Mapping[str, Any]) -> Errors:
    """The errors in a *verdict*, as ``c3sim validate --json`` prints it."""
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for case in verdict["cases"]:
        key = case["suite"], case["id"]
        found.setdefault(key, []).append((case["metric"], abs(case["error"])))
    return found


def suites_of(files: tuple[str, ...]) -> list[str]:
    """The suites of *files*."""
    return list(_loaded(files)[1])

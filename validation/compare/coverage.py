"""What do measurements see? Each number of a node is scaled, and the suites that notice are named.

A suite notices a number where the number times 0.7 or 1.4

- makes a suite miss a bound that it holds (``bound``),
- or moves the median error of one of its metrics by half a point (``moves``).

A number that no suite notices is *unseen*: nothing here would tell if it were wrong. A 0 has no
scale; the far end of its interval takes its place, and without an interval it is not tried. Of
large suites every n-th measurement is predicted (MOST), before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from c3sim.errors import C3simError, InputError
from c3sim.input.leaves import Leaf
from c3sim.input.loading import LoadedNode
from c3sim.input.paths import set_value
from c3sim.specs.hardware import Node
from c3sim.specs.record import Record
from c3sim.specs.workload import Collective, Commands, Copy, Gemm, Task

from .bounds import Bounds, load_bounds
from .figures import Figure, compare
from .measurements import Measurement, merge
from .nodes import NO_WORKLOAD, nodes_for
from .record_files import load
from .scores import score_suites

FACTORS = (0.7, 1.4)
POINT = 0.005  # of a median error; less is no notice
# The number of GPUs is part of a record's conditions: other numbers are other machines.
CONDITIONS = ("gpus",)
MOST = 60  # measurements of a suite and role that are predicted, at even distances

# What a path begins with -> whether a task uses it; a number of any other owner concerns every run.
OWNERS: Mapping[str, Callable[[Task], bool]] = {
    "gpu.gemm_libraries.": lambda task: isinstance(task, Gemm),
    "collective_libraries.": lambda task: isinstance(task, Collective),
    "gpu.operators.": lambda _task: False,  # of descriptions of iterations; no record is one
    "gpu.dma_engines.": lambda task: isinstance(task, Collective | Copy | Commands),
}

# (suite, metric) -> median error, whether its bound holds
Errors = Mapping[tuple[str, str], tuple[float, bool]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """One number of a hardware file, on every node with records that takes it from there."""

    path: str
    leaf: Leaf = field(repr=False)
    nodes: tuple[str, ...]

    @property
    def values(self) -> tuple[float, ...]:
        """What takes its place: SI values other than its own."""
        value, ends = self.leaf.value, self.leaf.interval
        if value == 0:
            return tuple(end for end in ends or () if end)
        if isinstance(value, int):
            steps = (min(value - 1, round(0.7 * value)), max(value + 1, round(1.4 * value)))
            return tuple(step for step in steps if step > 0)
        return tuple(factor * value for factor in FACTORS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """Which suites notice a number."""

    number: Number
    bound: tuple[str, ...]  # suites that miss a bound
    moves: tuple[str, ...]  # suites that only move
    tried: bool

    @property
    def seen(self) -> bool:
        return bool(self.bound or self.moves)

    @property
    def state(self) -> str:
        """``bound``, ``moves``, ``nothing``, or ``not tried``."""
        if not self.tried:
            return "not tried"
        return "bound" if self.bound else "moves" if self.moves else "nothing"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"state": self.state, "bound": list(self.bound), "moves": list(self.moves)}


def numbers_of(nodes: Mapping[str, LoadedNode], only: str = "") -> list[Number]:
    """The numbers of *nodes*, once each; *only* those whose path is *only* or lies below it. Raises
    InputError where there is none.
    """
    known: dict[tuple[str, str], Number] = {}
    for name, loaded in nodes.items():
        for path, leaf in loaded.provenance.items():
            value = leaf.value
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and path not in CONDITIONS and f"{path}.".startswith(_below(only)):
                earlier = known.get((leaf.file, path))
                others = earlier.nodes if earlier else ()
                known[leaf.file, path] = Number(path=path, leaf=leaf, nodes=(*others, name))
    if not known:
        raise InputError(f"no number of {', '.join(nodes)} is {only!r} or lies below it", "--only")
    return list(known.values())


def _below(path: str) -> str:
    return f"{path}." if path else ""


def coverage(
    files: Sequence[str] = (),
    only: str = "",
    jobs: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Sight]:
    """The sight of every number of the nodes that the records of *files* ran on, as they come.

    *jobs* processes, 0 for as many as there are cores; *progress*: numbers done, of how many.
    """
    from joblib import delayed

    from c3sim.experiments.jobs import side_by_side

    records = load(files)
    numbers = numbers_of(nodes_for(records), only)
    work = (delayed(sight)(tuple(files), number) for number in numbers)
    progress(0, len(numbers))
    for done, each in enumerate(side_by_side(work, jobs or -1), 1):
        progress(done, len(numbers))
        yield each


def predictions(files: Sequence[str], only: str) -> int:
    """How many measurements :func:`coverage` predicts: those a number concerns, for each value."""
    loaded, measurements = _loaded(tuple(files))
    return sum(
        len(number.values)
        for number in numbers_of(loaded, only)
        for one in measurements
        if one.record.node in number.nodes and concerns(number, one.record)
    )


def sight(files: tuple[str, ...], number: Number) -> Sight:
    """Which suites of *files* notice *number*."""
    plain = _errors(files, number.nodes, None, 0.0)
    bound: set[str] = set()
    moves: set[str] = set()
    tried = False
    for value in number.values:
        changed = _changed(files, number, value)
        if changed is None:
            continue
        tried = True
        bound |= {suite for suite, metric in _missed(plain, changed)}
        moves |= {suite for suite, metric in _moved(plain, changed)}
    return Sight(
        number=number, bound=tuple(sorted(bound)), moves=tuple(sorted(moves - bound)), tried=tried
    )


def _missed(plain: Errors, changed: Errors) -> Iterable[tuple[str, str]]:
    return (key for key, (_, held) in plain.items() if held and not changed[key][1])


def _moved(plain: Errors, changed: Errors) -> Iterable[tuple[str, str]]:
    return (key for key, (error, _) in plain.items() if abs(changed[key][0] - error) >= POINT)


def _changed(files: tuple[str, ...], number: Number, value: float) -> Errors | None:
    """The errors with *value*; None where it is no allowed value of the number."""
    try:
        return _errors(files, number.nodes, number, value)
    except C3simError:
        return None


def _errors(
    files: tuple[str, ...], names: tuple[str, ...], number: Number | None, value: float
) -> Errors:
    """The errors on the nodes *names*, with *number* set to *value*."""
    plain = _plain(files, names)
    if number is None:
        return _scored(plain)
    loaded, measurements = _loaded(files)
    nodes = {name: with_value(loaded[name].node, number, value) for name in names}
    again = [
        one for one in measurements if one.record.node in nodes and concerns(number, one.record)
    ]
    changed = {id(one) for one in again}
    kept = [figure for figure in plain if id(figure.measurement) not in changed]
    return _scored([*kept, *compare(nodes, again, jobs=1)])


def concerns(number: Number, record: Record) -> bool:
    """Whether a run of *record* can depend on *number*: it has a task that uses its owner, or the
    host profile that it is of.
    """
    if number.path.startswith("host_profiles."):
        return record.workload.host.profile == number.path.split(".")[1]
    for owner, uses in OWNERS.items():
        if number.path.startswith(owner):
            return any(uses(task) for task in record.workload.tasks.values())
    return True


@lru_cache(maxsize=8)
def _plain(files: tuple[str, ...], names: tuple[str, ...]) -> list[Figure]:
    """The figures on the nodes *names* as they are, once in each process."""
    loaded, measurements = _loaded(files)
    nodes = {name: loaded[name].node for name in names}
    return compare(nodes, [one for one in measurements if one.record.node in nodes], jobs=1)


def _scored(figures: Sequence[Figure]) -> Errors:
    return {
        (score.suite, score.metric): (
            score.errors.median,
            score.bound is not None and score.errors.within(score.bound.limit),
        )
        for score in score_suites(figures, _bounds().suites, {})
    }


@lru_cache(maxsize=2)
def _loaded(files: tuple[str, ...]) -> tuple[Mapping[str, LoadedNode], list[Measurement]]:
    """Nodes and measurements of *files*, once in each process; see MOST."""
    records = load(files)
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for one in merge(records):
        groups.setdefault((one.record.suite, one.record.role), []).append(one)
    return nodes_for(records), [one for group in groups.values() for one in thinned(group)]


def thinned(group: Sequence[Measurement]) -> Sequence[Measurement]:
    """*group*, or MOST of it at even distances."""
    if len(group) <= MOST:
        return group
    return [group[place * len(group) // MOST] for place in range(MOST)]


@lru_cache(maxsize=1)
def _bounds() -> Bounds:
    return load_bounds()


def with_value(node: Node, number: Number, value: float) -> Node:
    """*node* with SI *value* in place of a number. Raises InputError for a value out of range."""
    leaf = number.leaf
    text: object = f"{float(value)!r} {leaf.unit}" if leaf.unit else value
    if leaf.unit == "B":
        text = f"{round(value)} B"
    changed, _ = set_value(node, NO_WORKLOAD, number.path, text)
    return changed

"""Domain that a library was calibrated on, and which tasks lie outside of it.

A *domain* is a box: the least and greatest value of each condition over the calibration records
that the library's ``calibrated:`` entries name. Conditions are m, n, k of a GEMM by data type;
size, channels and ranks of a collective by operation; bytes of a copy by DMA engines. The boxes of
the packaged nodes are in ``hwmodels/domains.json`` (``python tools/domains.py``). A library none of
whose numbers was calibrated has no box: the sources of its numbers say what they hold for.

The nearest conditions under which predictions were compared with measurements, and their error.

``hwmodels/trust.json`` (``python tools/trust.py``) has a *cell* for each node, suite and mix of
tasks whose records no fit uses: how many runs, the errors of their wall time (of tasks alone: their
time), the least and greatest value of each condition. The nearest cell to a run has the least

    distance = 8 for each kind of work that only one of both has, 4 for a collective or GEMM that
               is another one there + 8 if one of both alone is a single task
               + 2 on another node of the same GPU + octaves beyond the ends of each condition

and, of equal ones, the most runs. Channels are no condition here: libraries choose them. Numbers
of the node that were changed add their octaves, to all cells alike. The file says too how far off
predictions are of suites that lie so far from all others (*far*).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node
from c3sim.spec.reading import library
from c3sim.spec.reading.hardware import load_node
from c3sim.spec.units import format_si
from c3sim.spec.words import counted
from c3sim.spec.workload import Task, Workload
from c3sim.tasks.kind import ENGINES, Conditions
from c3sim.tasks.plan import kind_of

# condition -> (least, greatest); by the data type, operation or kind of task
Box = Mapping[str, tuple[float, float]]
Domains = Mapping[str, Mapping[str, Box]]  # by owner: the path of the library or engine


def conditions(node: Node, task: Task) -> Conditions | None:
    """Conditions of *task* on *node*; None for a task whose domain is not kept."""
    return kind_of(task).conditions(task, node)


def outside(node: Node, workload: Workload) -> dict[str, str]:
    """Task -> why it lies outside what its library was calibrated on, in words; others left out."""
    texts = {}
    for name, task in workload.tasks.items():
        asked = conditions(node, task)
        if asked is not None and (families := domains(node.name).get(asked.owner)):
            box = families.get(asked.family)
            beyond = [f"no {asked.family}"] if box is None else list(_beyond_box(asked, box))
            if beyond:
                texts[name] = ", ".join(beyond)
    return texts


def _beyond_box(asked: Conditions, box: Box) -> Iterator[str]:
    for name, value in asked.values.items():
        low, high = box[name]
        if not low <= value <= high:
            ends = f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
            yield f"{name} {ends}, not {value:.10g}"


@lru_cache(maxsize=1)
def _stored() -> Mapping[str, Domains]:
    text = (files("c3sim.hwmodels") / "domains.json").read_text(encoding="utf-8")
    stored: Mapping[str, Domains] = json.loads(text)["nodes"]
    return stored


def domains(node: str) -> Domains:
    """Owner -> family -> box of a packaged node; empty for any other."""
    return _stored().get(node, {})


MISSING, ANOTHER, SINGLE, OTHER_NODE = 8.0, 4.0, 8.0, 2.0  # octaves that a difference counts as
LARGEST = 8.0  # octaves of one changed number at most; of one that is none here or there
COUNTS = ("gpus", "scale_out.nodes")
SHOWN = 2  # differences that are written out
#: Metric of a cell -> its words.
METRICS = {
    "wall": "wall time",
    "loop_time": "time of an iteration",
    "sequence": "wall time",
    "gemm_lasting": "time of the GEMM, behind the others,",
}
ALONE = "time alone"

Ends = tuple[float, float]  # the least and greatest value of a condition
# Kind of work, as ``bf16 GEMM`` -> condition -> its ends.
Work = dict[str, dict[str, Ends]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """*count* runs of *suite*; relative errors of *metric*, absolute values."""

    node: str
    gpu: str
    suite: str
    metric: str
    count: int
    median: float
    p90: float
    work: Mapping[str, Mapping[str, Sequence[float]]]

    @property
    def single(self) -> bool:
        return self.metric not in METRICS


def work_of(node: Node, workload: Workload) -> Work:
    """The kinds of work in *workload*, each with the ends of its conditions."""
    found: Work = {}
    for task in workload.tasks.values():
        asked = conditions(node, task)
        ends = found.setdefault(
            f"{asked.family}{_carrier(node, asked)}" if asked else task.kind, {}
        )
        for name, value in asked.values.items() if asked else ():
            if name != "channels":
                low, high = ends.get(name, (value, value))
                ends[name] = (min(low, value), max(high, value))
    return found


def _carrier(node: Node, asked: Conditions) -> str:
    """Text behind the family of a kind of work: DMA engines, or a library of collectives that is
    not the node's first.
    """
    if asked.owner == ENGINES:
        return " on DMA engines"
    of, _, name = asked.owner.partition(".")
    first = next(iter(node.collective_libraries), name)
    return f" by {name}" if of == "collective_libraries" and name != first else ""


def nearest(node: Node, workload: Workload) -> str:
    """A line on the cell that is nearest to *workload* on *node*: its error, what differs, how far
    that is and what errors are at such a distance, and the command that shows more.
    """
    work = work_of(node, workload)
    near = [cell for cell in cells() if cell.gpu == node.gpu.name]
    if not near:
        return f"nearest measurement: none on {node.gpu.name}; what was measured: c3sim validate"
    single = len(workload.tasks) == 1
    octaves, cell = min(
        ((distance(work, node.name, single, cell), cell) for cell in near),
        key=lambda each: (each[0], -each[1].count),
    )
    what = METRICS.get(cell.metric, ALONE)
    runs = counted(cell.count, "run")
    text = (
        f"nearest measurement: {runs} of {' + '.join(_shortened(cell.work))} on {cell.node}; {what}"
        f" {100 * cell.median:.0f} % off in the median,"
        f" {100 * cell.p90:.0f} % at the 90th percentile"
    )
    differs = [f"no {kind}" for kind in work if kind not in cell.work]
    differs += [words for _, words in _beyond(work, cell)]
    changed = list(_changed(node))
    octaves += sum(each for each, _ in changed)
    if differs:
        text += f" (there {', '.join(_shortened(differs))})"
    if changed:
        text += f"; hardware nobody measured: {', '.join(_shortened([w for _, w in changed]))}"
    if octaves >= 1 and (known := _at(octaves)):
        text += (
            f"; {octaves:.0f} octaves away: so far from all others, {known.suites} suites are"
            f" {100 * known.median:.0f} % off in the median, a tenth of them"
            f" {100 * known.p90:.0f} % or more"
        )
    return f"{text}; c3sim validate --suite {cell.suite}"


def distance(work: Work, node: str, single: bool, cell: Cell) -> float:
    """Octaves from *work* on *node*, of a *single* task or of several, to *cell*."""
    far = _other_work(frozenset(work), frozenset(cell.work))
    far += SINGLE * (cell.single != single) + OTHER_NODE * (cell.node != node)
    return far + sum(octaves for octaves, _ in _beyond(work, cell))


# Words of a note on a task outside the domain, about such tasks alone: they vouch for it or do not.
# The laboratory warns of the others.
NEARBY = "measured alone two octaves away at most"
OFF_TOO = "off alone as well, two octaves away at most"
NOWHERE = "no such task was measured alone"
FAR_OFF = 0.15  # median error above which records vouch for nothing: the bound of a p90 of isolated


def alone(node: Node, workload: Workload, name: str) -> str:
    """The error of the nearest records of *name*'s work alone, in words, and how far they are where
    that is more than two octaves. Those of one node say nothing of collectives across several.
    """
    work = work_of(node, workload.changed(tasks={name: workload.tasks[name]}))
    across = any(ends.get("ranks", (0, 0))[1] > node.gpus for ends in work.values())
    near = [
        (sum(octaves for octaves, _ in _beyond(work, cell)), cell)
        for cell in cells()
        if (cell.node == node.name if across else cell.gpu == node.gpu.name)
        and cell.single
        and cell.work.keys() == work.keys()
    ]
    octaves, cell = min(near, key=lambda each: (each[0], -each[1].count), default=(math.inf, None))
    if cell is None:
        return NOWHERE
    runs = counted(cell.count, "run")
    how = NEARBY if cell.median <= FAR_OFF else OFF_TOO
    if octaves > 2:
        how = f"the nearest measured alone lies {octaves:.1f} octaves away"
    return f"{how}: {runs}, {100 * cell.median:.0f} % off in the median, suite {cell.suite}"


def _shortened(words: Collection[str]) -> list[str]:
    """The first of *words*, and how many more there are."""
    more = len(words) - SHOWN
    return [*words][:SHOWN] if more <= 0 else [*[*words][:SHOWN], f"{more} more"]


@lru_cache(maxsize=1)
def _packaged_nodes() -> frozenset[str]:
    return frozenset(library.names("node"))


def _changed(node: Node) -> Iterator[tuple[float, str]]:
    """Numbers of *node* that are not those of the packaged one of its name: octaves, and in
    words. Counts of GPUs are conditions of the work.
    """
    if node.name not in _packaged_nodes():
        return
    packaged = load_node(node.name)
    for path, value, usual in _numbers("", node, packaged):
        if path in COUNTS:
            continue
        times = value / usual if usual > 0 and value > 0 else 0.0
        words = f"{times:.3g} times {path}" if times else f"{path} {value:g}, not {usual:g}"
        yield min(LARGEST, abs(math.log2(times)) if times else LARGEST), words


def _numbers(path: str, here: Any, there: Any) -> Iterator[tuple[str, float, float]]:
    """Path and value of each number *here* that is another *there*, with that."""
    if here is there:
        return
    held, usual = (dict(each) if isinstance(each, Spec) else each for each in (here, there))
    if isinstance(held, Mapping) and isinstance(usual, Mapping):
        for key in filter(usual.__contains__, held):
            yield from _numbers(f"{path}.{key}" if path else str(key), held[key], usual[key])
    elif _is_number(here) and _is_number(there) and here != there:
        yield path, float(here), float(there)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Far:
    """Suites whose nearest other one is *least* octaves away or more: how many, and median and
    90th percentile of their median errors.
    """

    least: float
    suites: int
    median: float
    p90: float


def _at(octaves: float) -> Far | None:
    return next((each for each in reversed(far()) if octaves >= each.least), None)


@lru_cache(maxsize=1024)
def _other_work(here: frozenset[str], there: frozenset[str]) -> float:
    """The distance of kinds of work that are only *here* or only *there*."""
    left, right = (Counter(map(_sort, kinds)) for kinds in (here - there, there - here))
    return sum(
        ANOTHER * min(left[sort], right[sort]) + MISSING * abs(left[sort] - right[sort])
        for sort in left | right
    )


def _sort(kind: str) -> str:
    """``GEMM`` or ``collective``, else *kind* itself."""
    if kind.endswith("GEMM"):
        return "GEMM"
    return "collective" if kind.startswith(("all_", "reduce_scatter")) else kind


def _beyond(work: Work, cell: Cell) -> Iterator[tuple[float, str]]:
    """Conditions of *work* beyond those of *cell*: by how many octaves, and in words. A GEMM or
    collective that is not there is compared with another one that is.
    """
    for kind, conditions_here in work.items():
        there = cell.work.get(kind)
        if there is None:
            alike = (each for each in cell.work if each not in work and _sort(each) == _sort(kind))
            there = cell.work.get(next(alike, ""), {})
        for name, (low, high) in conditions_here.items():
            if name not in there:
                continue
            least, most = there[name]
            octaves = max(0.0, math.log2(least / low), math.log2(high / most))
            if octaves > 0:
                ends = [_written(name, value) for value in dict.fromkeys((least, most))]
                yield octaves, f"{name} {' to '.join(ends)}"


def _written(condition: str, value: float) -> str:
    """Bytes in binary units, counts as they are."""
    return format_si(value, "B") if condition in ("size", "bytes") else f"{value:g}"


@lru_cache(maxsize=1)
def _file() -> Mapping[str, Any]:
    text = (files("c3sim.hwmodels") / "trust.json").read_text(encoding="utf-8")
    stored: Mapping[str, Any] = json.loads(text)
    return stored


@lru_cache(maxsize=1)
def cells() -> tuple[Cell, ...]:
    """Cells of the packaged file."""
    return tuple(Cell(**cell) for cell in _file()["cells"])


@lru_cache(maxsize=1)
def far() -> tuple[Far, ...]:
    """Errors by distance, of the packaged file, the nearest first."""
    return tuple(Far(**each) for each in _file()["far"])

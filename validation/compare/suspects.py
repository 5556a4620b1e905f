"""The numbers of a node that may be behind a suite that misses its bound.

Numbers in files of one's own come first. Then in this order, each once:

1. numbers that the stored coverage (``coverage.json``) says make the suite miss its bound,
2. free parameters that are fitted to the suite,
3. numbers of which the coverage says that they move the suite.

A suite of one's own counts as the packaged one that has the same name behind the first ``_``: plans
of the probe name suites PREFIX_what. For a suite that nothing of this knows: the numbers that its
tasks may use and that make most packaged suites miss their bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from c3sim.spec.reading.library import find
from c3sim.spec.reading.loading import LoadedNode, load_hardware
from c3sim.spec.sourced import Leaf
from c3sim.spec.workload import Collective, Commands, Copy, Gemm, Task

from .bounds import load_bounds
from .coverage_file import stored
from .scores import SuiteScore

# The beginning of a path -> whether a task uses it; a number of any other owner concerns every run.
OWNERS: Mapping[str, Callable[[Task], bool]] = {
    "gpu.gemm_libraries.": lambda task: isinstance(task, Gemm),
    "collective_libraries.": lambda task: isinstance(task, Collective),
    "gpu.operators.": lambda _task: False,  # of descriptions of iterations; no record is one
    "gpu.dma_engines.": lambda task: isinstance(task, Collective | Copy | Commands),
}
HARDWARE = find("gpu", "mi300x").resolve().parent  # packaged files


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A number of a node, and why it is suspected."""

    path: str
    leaf: Leaf
    why: str

    @property
    def words(self) -> str:
        """Path of the suspect, its value, and why."""
        return f"{self.path} = {self.leaf.text} ({self.why})"


def suspects(score: SuiteScore, nodes: Mapping[str, LoadedNode]) -> list[Suspect]:
    """The suspects of *score* on the nodes that its records name, most likely ones first."""
    found: dict[str, Suspect] = {}
    for name in dict.fromkeys(figure.record.node for figure in score.figures):
        loaded = nodes[name]
        known = [*_seen(loaded, score.suite)] or [*_used(loaded, score)]
        for one in sorted(known, key=lambda one: not _own(one.leaf)):
            found.setdefault(one.path, one)
    return list(found.values())


def _seen(loaded: LoadedNode, suite: str) -> Iterator[Suspect]:
    sights = _sights(loaded)
    for path, sight in sights.items():
        if like := _like(sight["bound"], suite):
            yield _suspect(loaded, path, f"scaled by 0.7 or 1.4 it breaks the bound of {like}")
    for path, leaf in loaded.provenance.items():
        if suite in leaf.suites:
            yield _suspect(loaded, path, "fitted to this suite")
    for path, sight in sights.items():
        if like := _like(sight["moves"], suite):
            yield _suspect(loaded, path, f"scaled by 0.7 or 1.4 it moves {like}")


def _used(loaded: LoadedNode, score: SuiteScore) -> Iterator[Suspect]:
    """Numbers that the tasks of *score* may use, first those that most packaged suites notice."""
    tasks = [task for figure in score.figures for task in figure.record.workload.tasks.values()]
    idle = tuple(owner for owner, uses in OWNERS.items() if not any(map(uses, tasks)))
    sights = _sights(loaded)
    for path in sorted(sights, key=lambda path: -len(sights[path]["bound"])):
        if (count := len(sights[path]["bound"])) and not path.startswith(idle):
            yield _suspect(loaded, path, f"scaled by 0.7 or 1.4 it breaks {count} packaged bounds")


def _suspect(loaded: LoadedNode, path: str, why: str) -> Suspect:
    return Suspect(path=path, leaf=loaded.provenance[path], why=why)


def _like(suites: Iterable[str], suite: str) -> str:
    """The one of *suites* that is *suite*, or, of a suite that is not packaged, is like it; empty
    for none.
    """
    if suite in _packaged():
        return suite if suite in suites else ""
    return next((each for each in suites if _plain(each) == _plain(suite) != ""), "")


@lru_cache(maxsize=1)
def _packaged() -> frozenset[str]:
    return frozenset(load_bounds().suites)


def _plain(suite: str) -> str:
    return suite.partition("_")[2]


def _sights(loaded: LoadedNode) -> dict[str, Mapping[str, Any]]:
    """Path -> its stored sight: of this node, of one that takes the number from the same file, or,
    for a number in a file of one's own, of any node that has such a number.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for name, sights in stored().items():
        theirs = load_hardware(name).provenance
        for path, sight in sights.items():
            leaf = loaded.provenance.get(path)
            same = leaf is not None and path in theirs and theirs[path].file == leaf.file
            if leaf is not None and (same or _own(leaf)):
                found.setdefault(path, sight)
    return found


def _own(leaf: Leaf) -> bool:
    """True if the number stands in a file that is not packaged."""
    return not Path(leaf.file).resolve().is_relative_to(HARDWARE)

"""The stored coverage: what a whole run of ``coverage`` found, and what is known of the rest.

``coverage.json``   written by ``python tools/coverage.py``: node -> path -> its sight, and of each
                    suite what its sights rest on: its rows, and how they are predicted. A suite
                    whose rows or predictions have changed since is *stale*, and is run again
``unseen.yaml``     written by hand: node -> patterns of paths that neither a suite notices nor a
                    band draws, and why. A new one of these has to be listed there, or get an
                    interval, or a suite has to see it
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from c3sim.experiments.bands import parameters_of
from c3sim.kit.files import write_text
from c3sim.spec.base import Spec
from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import LoadedNode, load_file, load_hardware

from .coverage import NOTICED, Sight, numbers_of

FOLDER = Path(__file__).parent.parent
FILE = FOLDER / "coverage.json"
UNSEEN = FOLDER / "unseen.yaml"
MOVED = 0.0025  # of a median or 90th percentile of a suite; less leaves its sights as they were

# node -> path -> {"state", "bound", "moves", "rows"}
Stored = Mapping[str, Mapping[str, Mapping[str, Any]]]
Keys = Mapping[str, Mapping[str, Any]]  # suite -> what its sights rest on


class Unseen(Spec):
    """Paths that no suite notices and no band draws, by patterns as in ``gpu.energy.*``; why."""

    paths: tuple[str, ...] = Field(min_length=1)
    reason: str = Field(min_length=1)


class UnseenFile(Spec):
    schema_version: Literal[1] = Field(alias="schema")
    nodes: dict[str, tuple[Unseen, ...]]


@lru_cache(maxsize=1)
def _file() -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return data


def stored() -> Stored:
    """The stored coverage; the first node of those that share a number has it."""
    sights: Stored = _file()["nodes"]
    return sights


def stored_keys() -> Keys:
    """The keys on which the stored sights of each suite rest."""
    keys: Keys = _file()["suites"]
    return keys


def forget() -> None:
    """Read the file again when it is next asked for."""
    _file.cache_clear()


def stale(now: Keys) -> list[str]:
    """The suites whose stored sights do not hold for *now*, and those that are new."""
    return [suite for suite, key in now.items() if not _same(stored_keys().get(suite), key)]


def _same(was: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    if was is None or was["data"] != now["data"] or set(was["errors"]) != set(now["errors"]):
        return False
    return all(
        abs(before - after) <= MOVED
        for metric, errors in now["errors"].items()
        for before, after in zip(was["errors"][metric], errors, strict=True)
    )


def unseen(loaded: LoadedNode) -> Mapping[str, str]:
    """Path of *loaded*, stored for this node, that no suite notices and no band draws -> the listed
    reason, empty for none.
    """
    name, drawn = loaded.node.name, drawn_of(loaded)
    listed = load_file(UNSEEN, UnseenFile).nodes.get(name, ())
    return {
        path: next((each.reason for each in listed if _matches(each, path)), "")
        for path, sight in stored().get(name, {}).items()
        if sight["state"] not in NOTICED and path not in drawn
    }


def drawn_of(loaded: LoadedNode) -> frozenset[str]:
    """Paths of the numbers that ``--uncertainty`` and the bands of studies draw."""
    return frozenset(each.path for each in parameters_of(loaded))


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """The counts of a node's *numbers*: seen by measurements, and of those that are not, drawn by
    the band of an answer.
    """

    numbers: int
    seen: int
    in_band: int

    @property
    def neither(self) -> int:
        return self.numbers - self.seen - self.in_band

    @property
    def percent(self) -> int:
        """The share of the numbers that are neither."""
        return round(100 * self.neither / self.numbers)


def tally(loaded: LoadedNode) -> Tally:
    """The tally of all numbers of *loaded*, those of files that it shares with others too."""
    paths = [each.path for each in numbers_of({loaded.node.name: loaded})]
    dark, drawn = unseen_of(loaded), drawn_of(loaded)
    in_band = sum(path in dark and path in drawn for path in paths)
    seen = sum(path not in dark for path in paths)
    return Tally(numbers=len(paths), seen=seen, in_band=in_band)


def _matches(entry: Unseen, path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in entry.paths)


def unseen_of(loaded: LoadedNode) -> frozenset[str]:
    """Paths of *loaded* whose number no suite notices, stored for this node or for one that takes
    the number from the same file; empty for a node without measurements.
    """
    return frozenset(path for path, sight in _sights_of(loaded) if sight["state"] not in NOTICED)


def seen_by(loaded: LoadedNode) -> Mapping[str, tuple[str, ...]]:
    """Path -> the suites that the number was fitted to, else those that notice it, stored as for
    ``unseen_of``; numbers without any are left out.
    """
    found = {path: leaf.suites for path, leaf in loaded.provenance.items() if leaf.suites}
    for path, sight in _sights_of(loaded):
        suites = tuple(suite for state in NOTICED for suite in sight[state])
        if suites:
            found.setdefault(path, suites)
    return found


def _sights_of(loaded: LoadedNode) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Stored sights of numbers of *loaded*, and of nodes that take them from the same file."""
    for name, sights in stored().items():
        if name == loaded.node.name:
            shared = set(sights)
        elif name in names("node"):
            theirs = load_hardware(name).provenance
            shared = {
                path
                for path, leaf in loaded.provenance.items()
                if path in theirs and theirs[path].file == leaf.file
            }
        else:
            continue
        for path in sorted(shared & set(sights)):
            yield path, sights[path]


def write(
    sights: Iterable[Sight], keys: Keys, suites: Container[str] | None = None, keep: bool = True
) -> None:
    """Store what *suites* (None: all of them) see now, and what that rests on. With *keep* other
    suites and other numbers stay as they are stored.
    """
    before: Mapping[str, Any] = _file() if keep and FILE.exists() else {"suites": {}, "nodes": {}}
    nodes: dict[str, dict[str, Any]] = {name: dict(each) for name, each in before["nodes"].items()}
    for sight in sights:
        here = nodes.setdefault(sight.number.nodes[0], {})
        was = here.get(sight.number.path)
        here[sight.number.path] = _merged(was, sight, suites) if was else sight.to_dict()
    text = ",\n".join(
        f"{json.dumps(part)}: {{\n{body}\n}}"
        for part, body in (
            ("suites", _lines(before["suites"] | dict(keys), " ")),
            ("nodes", ",\n".join(_node_lines(name, nodes[name]) for name in sorted(nodes))),
        )
    )
    write_text(FILE, f'{{"schema": 2,\n{text}\n}}\n')
    forget()


def _merged(
    was: Mapping[str, Any], sight: Sight, suites: Container[str] | None
) -> Mapping[str, Any]:
    """*was* with what *suites* see now in place of what they saw."""
    if suites is None:
        return sight.to_dict()
    others = {state: [each for each in was[state] if each not in suites] for state in NOTICED}
    both: dict[str, Any] = {
        state: tuple(sorted({*others[state], *getattr(sight, state)})) for state in NOTICED
    }
    tried, read = was["state"] != "not tried", was["state"] != "unread"
    return Sight(
        number=sight.number, tried=sight.tried or tried, read=sight.read or read, **both
    ).to_dict()


def _node_lines(name: str, sights: Mapping[str, Any]) -> str:
    return f" {json.dumps(name)}: {{\n{_lines(sights, '  ')}\n }}"


def _lines(entries: Mapping[str, Any], indent: str) -> str:
    return ",\n".join(
        f"{indent}{json.dumps(key)}: {json.dumps(entries[key])}" for key in sorted(entries)
    )


def complaints(nodes: Mapping[str, LoadedNode]) -> Sequence[str]:
    """Mistakes in the stored coverage: numbers it lacks, or that are no more, unseen numbers
    that are not listed, and listed patterns that match none. Fast: nothing is run.
    """
    numbers = {(each.nodes[0], each.path) for each in numbers_of(nodes)}
    known = {(name, path) for name, sights in stored().items() for path in sights}
    wrong = [
        f"{name}: {path} {what}"
        for what, paths in (
            ("has no coverage; run: python tools/coverage.py --only PATH", numbers - known),
            ("is no number any more; take it out of coverage.json", known - numbers),
        )
        for name, path in paths
    ]
    listed = load_file(UNSEEN, UnseenFile).nodes
    for name in stored():
        dark = unseen(nodes[name]) if name in nodes else {}
        wrong += [
            f"{name}: no suite notices {path}, and no band draws it; add a suite, give it an"
            " interval, or list it in unseen.yaml with a reason"
            for path, reason in dark.items()
            if not reason
        ]
        wrong += [
            f"{name}: {pattern} in unseen.yaml matches no such number; take it out"
            for entry in listed.get(name, ())
            for pattern in entry.paths
            if not any(fnmatchcase(path, pattern) for path in dark)
        ]
    return sorted(wrong)

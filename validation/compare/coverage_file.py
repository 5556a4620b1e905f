"""The stored coverage: what a whole run of ``coverage`` found, and what is known of the rest.

``coverage.json``   written by ``python tools/coverage.py``: node -> path -> its sight; a whole run
                    takes minutes, so pages and ``c3sim show`` read the stored one
``unseen.yaml``     written by hand: node -> patterns of paths that no suite notices, and why. A new
                    unseen number has to be listed there, or a suite has to see it
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from c3sim.input.library import names
from c3sim.input.loading import LoadedNode, load_file, load_hardware
from c3sim.output.kit.files import write_text
from c3sim.specs.base import Spec

from .coverage import Sight, numbers_of

FOLDER = Path(__file__).parent.parent
FILE = FOLDER / "coverage.json"
UNSEEN = FOLDER / "unseen.yaml"
SEEN = ("bound", "moves")

# node -> path -> {"state", "bound", "moves"}
Stored = Mapping[str, Mapping[str, Mapping[str, Any]]]


class Unseen(Spec):
    """Paths that no suite notices, by patterns as in ``gpu.energy.*``, and the reason."""

    paths: tuple[str, ...] = Field(min_length=1)
    reason: str = Field(min_length=1)


class UnseenFile(Spec):
    schema_version: Literal[1] = Field(alias="schema")
    nodes: dict[str, tuple[Unseen, ...]]


@lru_cache(maxsize=1)
def stored() -> Stored:
    """The stored coverage; the first node of those that share a number has it."""
    data: Stored = json.loads(FILE.read_text(encoding="utf-8"))["nodes"]
    return data


def unseen(node: str) -> Mapping[str, str]:
    """Path of *node* that no suite notices -> the listed reason, empty for none."""
    listed = load_file(UNSEEN, UnseenFile).nodes.get(node, ())
    return {
        path: next((each.reason for each in listed if _matches(each, path)), "")
        for path, sight in stored().get(node, {}).items()
        if sight["state"] not in SEEN
    }


def _matches(entry: Unseen, path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in entry.paths)


def unseen_of(loaded: LoadedNode) -> frozenset[str]:
    """Paths of *loaded* whose number no suite notices, stored for this node or for one that takes
    the number from the same file; empty for a node without measurements.
    """
    paths: set[str] = set()
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
        paths |= {path for path in shared & set(sights) if sights[path]["state"] not in SEEN}
    return frozenset(paths)


def write(sights: Iterable[Sight], keep: Stored) -> None:
    """Store *sights*; those of other numbers stay as in *keep*."""
    nodes: dict[str, dict[str, Any]] = {name: dict(each) for name, each in keep.items()}
    for sight in sights:
        nodes.setdefault(sight.number.nodes[0], {})[sight.number.path] = sight.to_dict()
    lines = [
        f" {json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(path)}: {json.dumps(each[path])}" for path in sorted(each))
        + "\n }"
        for name, each in sorted(nodes.items())
    ]
    write_text(FILE, '{"schema": 1, "nodes": {\n' + ",\n".join(lines) + "\n}}\n")


def complaints(nodes: Mapping[str, LoadedNode]) -> Sequence[str]:
    """What is wrong with the stored coverage: numbers it lacks, or that are no more, unseen numbers
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
        dark = unseen(name)
        wrong += [
            f"{name}: no suite notices {path}; add one, or list it in unseen.yaml with a reason"
            for path, reason in dark.items()
            if not reason
        ]
        wrong += [
            f"{name}: {pattern} in unseen.yaml matches no unseen number; take it out"
            for entry in listed.get(name, ())
            for pattern in entry.paths
            if not any(fnmatchcase(path, pattern) for path in dark)
        ]
    return sorted(wrong)

"""How far off each suite may be, from ``bounds.yaml``, read strictly: every mistake with file and
line.

``targets`` are the design's figures, by metric. Every suite listed under ``suites`` is held to them; where the model
does not reach one, the suite's own entry for that metric is a regression bound with its reason, and names the gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from c3sim.errors import InputError
from c3sim.input.conform import Conform
from c3sim.input.constraints import nearest_place, raise_all, validate
from c3sim.input.hints import unknown
from c3sim.input.reading import display, read_text
from c3sim.input.yaml_nodes import read_yaml
from c3sim.specs.base import Spec
from c3sim.specs.quantities import Factor

FILE = Path(__file__).parent.parent / "bounds.yaml"
HELD_OUT_AND_NOT = ("", "_calibration")


class Target(Spec):
    """Allowed median and p90 of the absolute relative error, for *metrics* of every suite."""

    metrics: tuple[str, ...]
    median: Factor
    p90: Factor
    reason: str


class Override(Spec):
    """The bound of one metric of one suite where the target is not met; *gap* names a known gap."""

    median: Factor
    p90: Factor
    reason: str
    gap: str


class Gap(Spec):
    """Where the model is known to be wrong, and why that is so, as far as is suspected."""

    what: str
    suspected: str


class File(Spec):
    schema_version: Literal[1] = Field(alias="schema")
    targets: dict[str, Target]
    suites: dict[str, dict[str, Override]]
    known_gaps: dict[str, Gap]


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """What one metric of one suite is held to, why, and what the design aims at."""

    median: float
    p90: float
    reason: str
    target_median: float
    target_p90: float
    gap: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """suite -> metric -> bound, and the known gaps by name."""

    suites: Mapping[str, Mapping[str, Bound]]
    gaps: Mapping[str, Gap]
    targets: Mapping[str, Target]


def load_bounds(path: str | Path = FILE) -> Bounds:
    """The bounds in *path*. Raises InputErrors."""
    shown, errors = display(Path(path)), list[InputError]()
    root = read_yaml(read_text(Path(path)), shown, errors)
    raise_all(errors)
    assert root is not None  # no error was noted
    document = Conform(style="text", file=shown, errors=errors)
    file = validate(document, File, document.model(root, File))
    raise_all(errors)
    assert file is not None  # no error was noted
    raise_all([_place(message, where, document) for message, where in _mistakes(file)])
    return Bounds(
        suites={suite: _bounds(file, suite) for suite in file.suites},
        gaps=file.known_gaps,
        targets=file.targets,
    )


def _place(message: str, where: str, document: Conform) -> InputError:
    return InputError(message, where, document.file, nearest_place(where, document.places))


def _bounds(file: File, suite: str) -> dict[str, Bound]:
    found = {}
    for target in file.targets.values():
        for metric in (name + suffix for name in target.metrics for suffix in HELD_OUT_AND_NOT):
            own = file.suites[suite].get(metric)
            limit = own or target
            found[metric] = Bound(
                median=limit.median,
                p90=limit.p90,
                reason=limit.reason,
                gap=own.gap if own else "",
                target_median=target.median,
                target_p90=target.p90,
            )
    return found


def _mistakes(file: File) -> Iterator[tuple[str, str]]:
    """What no type can say: (message, path)."""
    known = [
        name + suffix
        for target in file.targets.values()
        for name in target.metrics
        for suffix in HELD_OUT_AND_NOT
    ]
    for name in sorted({name for name in known if known.count(name) > 1}):
        yield f"metric {name!r} has two targets; each may have one", "targets"
    limits: list[tuple[str, Target | Override]] = [
        (f"targets.{name}", each) for name, each in file.targets.items()
    ]
    for suite, overrides in file.suites.items():
        for metric, override in overrides.items():
            where = f"suites.{suite}.{metric}"
            limits.append((where, override))
            if metric not in known:
                yield unknown("metric", metric, known), where
            if override.gap not in file.known_gaps:
                yield unknown("known gap", override.gap, file.known_gaps), where + ".gap"
    for where, limit in limits:
        if limit.median > limit.p90:
            yield f"median {limit.median:g} is above p90 {limit.p90:g}; must not be", where
    used = {override.gap for overrides in file.suites.values() for override in overrides.values()}
    for gap in file.known_gaps:
        if gap not in used:
            yield "no suite names this gap; take it out, or say where it shows", f"known_gaps.{gap}"

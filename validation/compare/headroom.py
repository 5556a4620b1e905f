"""Sets the regression bounds of ``bounds.yaml`` anew from the present model: ``python -m
c3sim.validation.compare.headroom --write``.

Only entries that stand in the file change; rows that miss the target without an entry, and entries that the model no
longer needs, are named, because a person has to write, or take out, the reason.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

from c3sim.input.yaml_edit import replace_values
from c3sim.output.files import write_text

from .bounds import FILE, Bounds, load_bounds
from .nodes import nodes_for
from .record_files import load
from .suites import Row
from .verdict import validate


@dataclass(frozen=True, slots=True)
class Advice:
    """*limits*: (suite, metric) -> new median and p90; *needed*: rows without an entry; *idle*:
    entries without need.
    """

    limits: dict[tuple[str, str], tuple[float, float]]
    needed: list[str]
    idle: list[str]


def room(error: float) -> float:
    """A bound for a present *error*: a tenth and one point more, rounded up to half a point."""
    return math.ceil((error * 1.1 + 0.01) * 200 - 1e-9) / 200


def advise(rows: Sequence[Row], bounds: Bounds) -> Advice:
    """What the present figures say about the entries of *bounds*."""
    advice = Advice({}, [], [])
    for row in rows:
        if row.bound is None:
            continue
        name = f"{row.name}.{row.metric}"
        if not row.bound.gap:
            if not row.passed:
                advice.needed.append(
                    f"{name}: {{median: {room(row.median_error):g}, p90: {room(row.p90_error):g}}}"
                )
        elif row.on_target:
            advice.idle.append(name)
        else:
            limits = (
                max(room(row.median_error), row.bound.target_median),
                max(room(row.p90_error), row.bound.target_p90),
            )
            advice.limits[row.name, row.metric] = limits
    return advice


def main() -> None:
    """Print, or write, what :func:`advise` finds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="change bounds.yaml")
    write = parser.parse_args().write
    bounds, records = load_bounds(), load()
    advice = advise(validate(records, nodes_for(records), bounds=bounds).rows, bounds)
    changes: dict[tuple[str, ...], str] = {}
    for (suite, metric), (middle, tail) in advice.limits.items():
        print(f"{suite}.{metric}: median {middle:g}, p90 {tail:g}")
        changes["suites", suite, metric, "median"] = f"{middle:g}"
        changes["suites", suite, metric, "p90"] = f"{tail:g}"
    for name in advice.needed:
        print(f"misses the target and has no entry: {name}")
    for name in advice.idle:
        print(f"meets the target, take the entry out: {name}")
    if write:
        write_text(FILE, replace_values(FILE.read_text(encoding="utf-8"), changes, str(FILE)))


if __name__ == "__main__":
    main()

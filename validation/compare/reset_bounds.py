"""Sets the regression bounds of ``bounds.yaml`` from the present model.

    python -m c3sim.validation.compare.reset_bounds --write

Only entries that stand in the file change; those get the day. Scores that miss the target without
an entry, and entries that the model no longer needs, are named: a person has to write, or take out,
the reason.
"""

from __future__ import annotations

import argparse
import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

from c3sim.kit.files import write_text
from c3sim.spec.reading.yaml_edit import replace_values

from .bounds import FILE, load_bounds
from .record_files import load, nodes_for
from .scores import SuiteScore
from .verdict import validate


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Advice of the present errors on the entries of the file."""

    limits: dict[tuple[str, str], tuple[float, float]]  # (suite, metric) -> new median and p90
    missing: list[str]  # scores that miss the target and have no entry
    needless: list[str]  # entries whose target is met


def with_headroom(error: float) -> float:
    """A bound for a present *error*: a tenth and one point more, rounded up to half a point."""
    return math.ceil((error * 1.1 + 0.01) * 200 - 1e-9) / 200


def advise(scores: Sequence[SuiteScore]) -> Advice:
    """Compare the present errors of *scores* with their bounds."""
    advice = Advice(limits={}, missing=[], needless=[])
    for score in scores:
        if score.bound is None:
            continue
        name = f"{score.suite}.{score.metric}"
        median, p90 = with_headroom(score.errors.median), with_headroom(score.errors.p90)
        target = score.bound.target
        if score.gap and score.on_target:
            advice.needless.append(name)
        elif score.gap:
            limits = max(median, target.median), max(p90, target.p90)
            advice.limits[score.suite, score.metric] = limits
        elif not score.errors.within(score.bound.limit):
            advice.missing.append(f"{name}: {{median: {median:g}, p90: {p90:g}}}")
    return advice


def main() -> None:
    """Print the advice; with --write, change the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="change bounds.yaml")
    write = parser.parse_args().write
    records = load()
    advice = advise(validate(records, nodes_for(records)).scores)
    today, bounds = datetime.date.today().isoformat(), load_bounds().suites
    changes: dict[tuple[str, ...], str] = {}
    for (suite, metric), (median, p90) in advice.limits.items():
        limit = bounds[suite][metric].limit
        if (limit.median, limit.p90) == (median, p90):
            continue
        print(f"{suite}.{metric}: median {median:g}, p90 {p90:g}")
        values = {"median": f"{median:g}", "p90": f"{p90:g}", "since": today}
        changes |= {("suites", suite, metric, key): value for key, value in values.items()}
    for name in advice.missing:
        print(f"misses the target and has no entry: {name}")
    for name in advice.needless:
        print(f"meets the target, take the entry out: {name}")
    if write:
        text = FILE.read_text(encoding="utf-8")
        write_text(FILE, replace_values(text, changes, str(FILE)))


if __name__ == "__main__":
    main()

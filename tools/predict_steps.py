"""Predict steps that others measured under two settings, before anybody here knows what came out.

    python tools/predict_steps.py [--only ID] [--out FILE]

A row is a step, two settings *a* and *b*, and what the source leaves open: the condition chosen,
and the others that such a user may have had. Every open condition goes to its other value alone;
effects on the change from a to b are independent, so they add as squares to each side of the band.
To these is added what steps are off here (MODEL), and a part of the change (OF_CHANGE).
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from math import hypot
from pathlib import Path
from typing import Any

import yaml

from c3sim.api import prepare
from c3sim.errors import InputError, InputErrors
from c3sim.iterations.described import evaluate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node, parse_workload

sys.path.insert(0, str(Path(__file__).parent))
from step_conditions import Open, Row
from steps_of_others import ROWS

#: Points that steps measured here are off in the median (docs/predictions); both sides of a change
#: share a part of it, so this is the upper end.
MODEL = 2.0
#: Part of a change that may come out otherwise; an estimate: no backend was changed in steps here.
OF_CHANGE = 0.25
OUT = Path(__file__).parents[1] / "docs/predictions/steps-of-others.csv"
HEADER = ("id", "change_percent", "low", "high", "decided_by")


@cache
def node_of(name: str) -> Node:
    """A packaged node, or ``NODE x COUNT``: so many of them, with the network of mi300x-cluster."""
    base, _, count = name.partition(" x ")
    node = load_node(base)
    if not count:
        return node
    wide = load_node("mi300x-cluster").scale_out
    assert wide is not None
    return node.changed(scale_out=wide.changed(nodes=int(count)))


def wall(row: Row, of_step: Mapping[str, Any], settings: Mapping[str, Any]) -> float:
    """Wall time [s] of the row's step, with fields *of_step* and *settings* by path."""
    node = node_of(row.node)
    if row.workload is not None:
        subject: Any = parse_workload({"schema": 1, "name": row.id, **row.workload, **of_step})
        return _run(subject, node, settings)
    step = {"schema": 1, "kind": "iteration", "name": row.id, **row.step, **of_step}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "step.yaml"
        file.write_text(yaml.safe_dump(step))
        return _run(file, node, settings)


def _run(subject: Any, node: Node, settings: Mapping[str, Any]) -> float:
    workload, on = prepare(subject, node, settings)
    return evaluate(workload, on, "as_written", noted=False, stretched=False).wall_s


def change(row: Row, other: Open) -> float:
    """Change of the wall time from a to b, in per cent, where *other* is so."""
    both = {**row.both, **other.both}
    step_a = {**other.step, **row.step_a, **other.step_a}
    step_b = {**other.step, **row.step_b, **other.step_b}
    before = wall(row, step_a, {**row.a, **both})
    after = wall(row, step_b, {**row.b, **both, **other.b})
    return 100.0 * (after / before - 1.0)


def predicted(row: Row) -> dict[str, Any]:
    """The row of the file."""
    if row.why_not:
        return {"id": row.id, "decided_by": row.why_not}
    middle = change(row, Open(name="as chosen"))
    print(f"{row.id}: {middle:+.2f}", file=sys.stderr, flush=True)
    below = above = hypot(MODEL, OF_CHANGE * middle)
    largest, name = 0.0, "what steps are off here"
    for other in row.open:
        try:
            moved = change(row, other) - middle
        except (InputError, InputErrors) as error:
            print(f"  {other.name}: {error}", file=sys.stderr)
            continue
        print(f"  {other.name}: {moved:+.2f}", file=sys.stderr, flush=True)
        below, above = (hypot(below, moved), above) if moved < 0 else (below, hypot(above, moved))
        if abs(moved) > abs(largest):
            largest, name = moved, other.name
    decided = f"{row.decided_by}; widest: {name} ({largest:+.1f})"
    values = (middle, middle - below, middle + above)
    change_percent, low, high = (f"{value:.1f}" for value in values)
    return {
        "id": row.id,
        "change_percent": change_percent,
        "low": low,
        "high": high,
        "decided_by": decided,
    }


def write(rows: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Put *rows* into the file, in the order of ROWS, beside those that are there."""
    known: dict[str, Mapping[str, Any]] = {}
    if out.exists():
        with out.open(newline="") as file:
            known = {row["id"]: row for row in csv.DictReader(file)}
    known |= {row["id"]: row for row in rows}
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, HEADER, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(known[row.id] for row in ROWS if row.id in known)


def main() -> None:
    parser = argparse.ArgumentParser(description="Predict steps that others measured.")
    parser.add_argument("--only", nargs="*", default=[], help="ids; left out: all")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    for row in ROWS:
        if not asked.only or row.id in asked.only:
            write([predicted(row)], asked.out)


if __name__ == "__main__":
    main()

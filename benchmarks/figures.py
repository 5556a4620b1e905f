"""Figures of a benchmark beside their bounds, as a table or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

__all__ = ["Row", "show"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure; *bound* is what it has to keep, *aim* what would be good."""

    name: str
    value: float
    unit: str
    bound: float | None = None
    aim: float | None = None


def show(name: str, rows: Sequence[Row], *, as_json: bool) -> None:
    """Print the *rows* of benchmark *name*."""
    if as_json:
        document = {
            "benchmark": name,
            "cores": os.cpu_count(),
            "rows": [asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
        return
    print(f"{'':42} {'measured':>10} {'bound':>8} {'aim':>6}  unit   ({os.cpu_count()} cores)")
    for row in rows:
        bound, aim = ("-" if limit is None else f"{limit:g}" for limit in (row.bound, row.aim))
        late = "" if row.bound is None or row.value <= row.bound else "  over its bound"
        print(f"{row.name:42} {row.value:10.2f} {bound:>8} {aim:>6}  {row.unit}{late}")

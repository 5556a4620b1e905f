"""Tables of a study of DMA variants: speedups by size beside the published ones, and the phases of
one copy.

A *study* is ``{"rows": [{"collective", "size_bytes", "variants": {NAME: {"time_us"}}, "rccl": {"time_us"}, "best",
"speedups": {NAME: x}, "published": {NAME: x}}], "phases": [{"size_bytes", "control", "schedule", "copy", "sync"}],
"claims": [{"what", "published", "simulated"}], "errors": {"of", "median", "p90", "max"}}``; shares and errors are 0..1. ``name``, ``node``, ``errors`` may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from c3sim.output.layout import add_row, make_table, stack
from c3sim.output.text import MISSING, figures, percent, size
from c3sim.studies.dma_variants.energy_table import energy_parts

if TYPE_CHECKING:
    from rich.console import Group

PHASES = ("control", "schedule", "copy", "sync")


def variant_parts(study: Mapping[str, Any]) -> list[Any]:
    """All that is printed of *study*, what matters most last."""
    operations = dict.fromkeys(row["collective"] for row in study["rows"])
    return [
        phase_table(study),
        *(variant_table(study, operation) for operation in operations),
        *([claim_table(study)] if study.get("claims") else []),
        *energy_parts(study),
        _remarks(study),
    ]


def variant_table(study: Mapping[str, Any], operation: str) -> Group:
    """A row per size: the time of pcpy, speedups over it, simulated and published, and the best
    variant.
    """
    rows = [row for row in study["rows"] if row["collective"] == operation]
    names = [name for name in rows[0]["variants"] if name != "pcpy"]
    table = make_table(
        ["size", "best"], ["pcpy\n(us)", *(f"{name}\n(x)" for name in names), "rccl\n(x)"]
    )
    for row in rows:
        first = row["variants"]["pcpy"]["time_us"]
        cells = []
        for name in names:
            theirs = row["published"].get(name)
            cells.append(
                f"{row['speedups'][name]:.2f}" + (f" / {theirs:.2f}" if theirs is not None else "")
            )
        against = first / row["rccl"]["time_us"]
        add_row(
            table, size(row["size_bytes"]), row["best"], figures(first, 4), *cells, f"{against:.2f}"
        )
    where = f" on {study['node']}" if study.get("node") else ""
    return stack(
        f"{operation}{where}: speedup over pcpy (x)",
        table,
        "simulated / published; rccl: on compute units",
    )


def phase_table(study: Mapping[str, Any]) -> Group:
    """A row per size: what share of one copy each phase takes, simulated and published."""
    table = make_table(["size"], [f"{name}\n(%)" for name in PHASES])
    published = (study.get("published") or {}).get("phases") or {}
    for row in study["phases"]:
        theirs = published.get(str(row["size_bytes"]), [None] * len(PHASES))
        cells = (
            percent(row[name], 0) + (f" / {known}" if known is not None else "")
            for name, known in zip(PHASES, theirs, strict=True)
        )
        add_row(table, size(row["size_bytes"]), *cells)
    return stack("phases of one copy to a peer", table, "simulated / published (calibration)")


def claim_table(study: Mapping[str, Any]) -> Group:
    """A row per published claim: ratios of times, simulated and published."""
    table = make_table(["ratio of times"], ["simulated\n(x)", "published\n(x)"])
    for claim in study["claims"]:
        add_row(table, claim["what"], f"{claim['simulated']:.2f}", f"{claim['published']:.2f}")
    return stack(
        "published claims",
        table,
        "small: below 32 MiB; geometric means; compute units: the library's kernels",
    )


def _remarks(study: Mapping[str, Any]) -> Any:
    from rich.text import Text

    errors, published = study.get("errors"), study.get("published") or {}
    lines = []
    if errors:
        lines.append(
            f"speedups against {errors['of']} published ones, calibration sizes left out: off by {percent(errors['median'])} % in the"
            f" median, {percent(errors['p90'])} % at the 90th percentile, {percent(errors['max'])} % at most"
        )
    lines += [
        " ".join(str(published[key]).split()) for key in ("source", "note") if published.get(key)
    ]
    return Text("\n".join(lines) or MISSING)

"""A study of DMA variants at a glance: time of each variant over that of compute units by size, and
the phases of a copy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from c3sim.output import look
from c3sim.output.text import size
from c3sim.studies.dma_variants.energy_picture import draw_savings
from c3sim.studies.dma_variants.table import PHASES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Study = Mapping[str, Any]


def plot_variants(study: Study, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw *study* (data as in variant_tables.py) and write it to *path* (PNG, SVG or PDF, by
    suffix) if given.

    Returns the figure. Raises InputError: an unknown suffix, a place that cannot be written.
    """
    return look.picture(lambda: _draw(study), path)


def _draw(study: Study) -> Figure:
    from matplotlib.figure import Figure

    operations = list(dict.fromkeys(row["collective"] for row in study["rows"]))
    energies = operations if study.get("energy") else []
    count = len(operations) + 1 + len(energies)
    figure = Figure(figsize=(13.0, 1.0 + 3.6 * count), layout="constrained")
    panels = figure.subplots(count, 1, squeeze=False)[:, 0]
    for axes, operation in zip(panels, operations, strict=False):
        _speedups(axes, study, operation)
    _phases(panels[len(operations)], study)
    for axes, operation in zip(panels[len(operations) + 1 :], energies, strict=True):
        draw_savings(axes, study["energy"], operation)
        _sizes(axes, [row for row in study["rows"] if row["collective"] == operation])
    where = f" on {study['node']}" if study.get("node") else ""
    source = (study.get("published") or {}).get("source")
    figure.suptitle(
        f"{study.get('name', 'study')}{where}", x=0.01, ha="left", fontsize=14, fontweight="bold"
    )
    if source:
        figure.supxlabel(f"published: {source}", x=0.01, ha="left", fontsize=9, color=look.GREY)
    return figure


def _speedups(axes: Axes, study: Study, operation: str) -> None:
    """A line per variant, dashed where prelaunched; published speedups as points of the same
    colour.
    """
    rows = [row for row in study["rows"] if row["collective"] == operation]
    known = any(row["published"] for row in rows)
    look.panel(
        axes,
        f"{operation}: speedup over pcpy"
        + (" (lines simulated, points published)" if known else ""),
        "x",
    )
    variants = list(rows[0]["variants"])
    colours = look.colours(name.removesuffix("_pl") for name in variants)
    places = range(len(rows))
    for name in variants:
        colour, dashed = colours[name.removesuffix("_pl")], "--" if name.endswith("_pl") else "-"
        axes.plot(places, [row["speedups"][name] for row in rows], dashed, color=colour, label=name)
        points = [
            (i, row["published"][name]) for i, row in enumerate(rows) if name in row["published"]
        ]
        filled = "none" if name.endswith("_pl") else colour
        axes.plot(
            [i for i, _ in points],
            [x for _, x in points],
            "o",
            color=colour,
            markerfacecolor=filled,
        )
    against = [row["variants"]["pcpy"]["time_us"] / row["rccl"]["time_us"] for row in rows]
    axes.plot(places, against, ":", color=look.INK, label="rccl")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
    _sizes(axes, rows)
    axes.legend(frameon=False, fontsize=9.5, ncols=4)


def _phases(axes: Axes, study: Study) -> None:
    """Stacked shares of one copy."""
    look.panel(axes, "Phases of one copy to a peer", "%")
    rows, below = study["phases"], [0.0] * len(study["phases"])
    for name, colour in look.colours(PHASES).items():
        shares = [100 * row[name] for row in rows]
        axes.bar(range(len(rows)), shares, 0.7, bottom=below, color=colour, label=name)
        below = [low + share for low, share in zip(below, shares, strict=True)]
    _sizes(axes, rows)
    axes.legend(
        frameon=False,
        fontsize=9.5,
        ncols=4,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
    )


def _sizes(axes: Axes, rows: list[Mapping[str, Any]]) -> None:
    axes.set_xticks(
        range(len(rows)), [size(row["size_bytes"]) for row in rows], fontsize=8, rotation=45
    )

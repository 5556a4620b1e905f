"""A study of KV fetch at a glance: what one copy costs, and the speedups by hit rate beside the
published ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from c3sim.output import look
from c3sim.output.text import size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Study = Mapping[str, Any]
METHOD = "batched_pl"  # whose speedups are drawn; the other batched ones lie on top of them


def plot_kv(study: Study, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw *study* (data as in kv_tables.py) and write it to *path* (PNG, SVG or PDF, by suffix) if
    given.

    Returns the figure. Raises InputError: an unknown suffix, a place that cannot be written.
    """
    return look.picture(lambda: _draw(study), path)


def _draw(study: Study) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 8.4), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1.0, 1.25))
    _copies(figure.add_subplot(grid[0, :]), study)
    rows = study["rows"]
    groups = dict.fromkeys((row["label"], row["block_bytes"]) for row in rows)
    colours = look.colours(f"{label}, {size(block)}" for label, block in groups)
    latency = [row for row in rows if row["requests"] == 1]
    queue = [row for row in rows if row["requests"] > 1 and row["arrivals_per_second"] is None]
    first = figure.add_subplot(grid[1, 0])
    _speedups(first, latency, "latency", "One request: time to first token", study, colours)
    second = figure.add_subplot(grid[1, 1])
    _speedups(second, queue, "throughput", "A full queue: throughput", study, colours)
    shown: dict[str, Any] = {}  # a line for each name
    for axes in (first, second):
        handles, names = axes.get_legend_handles_labels()
        shown |= dict(zip(names, handles, strict=True))
    figure.legend(
        list(shown.values()),
        list(shown),
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=9.5,
    )
    where = f" on {study['node']}" if study.get("node") else ""
    figure.suptitle(
        f"{study.get('name', 'study')}{where}", x=0.01, ha="left", fontsize=14, fontweight="bold"
    )
    return figure


def _copies(axes: Axes, study: Study) -> None:
    """A line per method over block sizes; reported costs as points of the same colour."""
    look.panel(
        axes, "One copy from host memory, in a row of many (lines simulated, points reported)", "us"
    )
    rows = study["copies"]
    for name, colour in look.colours(rows[0]["per_copy_s"]).items():
        kibs = [row["bytes"] / 1024 for row in rows]
        style = "--" if name.endswith("_pl") else "-"
        axes.plot(
            kibs, [1e6 * row["per_copy_s"][name] for row in rows], style, color=colour, label=name
        )
        known = [
            (row["bytes"] / 1024, 1e6 * row["reported_s"][name])
            for row in rows
            if name in row["reported_s"]
        ]
        axes.plot([x for x, _ in known], [y for _, y in known], "o", color=colour)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("block (KiB)")
    axes.legend(frameon=False, fontsize=9.5, ncols=4)


def _speedups(
    axes: Axes,
    rows: Sequence[Mapping[str, Any]],
    of: str,
    title: str,
    study: Study,
    colours: Mapping[str, str],
) -> None:
    """Speedups of prelaunched batches over copies one by one by hit rate: a line per model, block
    and prompt.
    """
    look.panel(axes, f"{title}, {METHOD} over per_block", "x")
    lines: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for row in rows:
        key = (row["label"], row["block_bytes"], row["prompt_tokens"], row["load"])
        lines.setdefault(key, []).append((100 * row["hit_rate"], row["speedups"][of][METHOD]))
    longest = max((key[2] for key in lines), default=0)
    for (label, block, prompt, _), points in lines.items():
        name = f"{label}, {size(block)}"
        points.sort()
        wide = 2.2 if prompt == longest else 1.1
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axes.plot(xs, ys, "o-", color=colours[name], linewidth=wide, markersize=4, label=name)
    for claim in study["claims"]:
        if claim["of"] == of:
            axes.axhspan(claim["low"], claim["high"], color=look.GREY, alpha=0.3, linewidth=0)
            axes.axhline(claim["high"], color=look.GREY, linewidth=1.0)
            axes.annotate(
                f"published: up to {claim['high']:g}x",
                (0.01, claim["high"]),
                fontsize=9,
                va="bottom",
                xycoords=("axes fraction", "data"),
            )
    axes.axhline(1.0, color=look.INK, linewidth=0.8)
    axes.set_xlabel("hit rate (%); thick: longest prompt")

"""A study of kind ``kv_fetch`` at a glance: costs of one copy, speedups beside published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit import look
from c3sim.output.kit.text import size
from c3sim.studies.kv_fetch.study import Claim, CopyCost, KvFetchResult, Row

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHOD = "batched_pl"  # whose speedups are drawn; the other batched ones lie on top of them
TITLES = {"latency": "One request: time to first token", "throughput": "A full queue: throughput"}


def draw(study: KvFetchResult) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 8.4), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1.0, 1.25))
    _copies(figure.add_subplot(grid[0, :]), study.copies)
    colours = look.colours(dict.fromkeys(_name(row) for row in study.rows))
    one = [row for row in study.rows if row.requests == 1]
    queue = [row for row in study.rows if row.requests > 1 and row.arrivals_per_second is None]
    names: dict[str, Artist] = {}  # of lines, with a line of each
    for column, (measure, rows) in enumerate((("latency", one), ("throughput", queue))):
        axes = figure.add_subplot(grid[1, column])
        claims = [claim for claim in study.claims if claim.of == measure]
        _speedups(axes, measure, rows, colours, claims)
        lines, labels = axes.get_legend_handles_labels()
        names |= dict(zip(labels, lines, strict=True))
    artists = [*names.values()]
    look.key(figure, 3, handles=artists, labels=[*names], loc="outside lower center")
    figure.suptitle(study.title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure


def _name(row: Row) -> str:
    return f"{row.label}, {size(row.block_bytes)}"


def _copies(axes: Axes, rows: Sequence[CopyCost]) -> None:
    """A line per method over block sizes; reported costs as points of the same colour."""
    title = "One copy from host memory, in a row of many (lines simulated, points reported)"
    look.panel(axes, title, "us")
    kibs = [row.size_bytes / 1024 for row in rows]
    for name, colour in look.colours(rows[0].per_copy_s).items():
        costs = [1e6 * row.per_copy_s[name] for row in rows]
        axes.plot(kibs, costs, "--" if name.endswith("_pl") else "-", color=colour, label=name)
        known = [row for row in rows if name in row.reported_s]
        places = [row.size_bytes / 1024 for row in known]
        axes.plot(places, [1e6 * row.reported_s[name] for row in known], "o", color=colour)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("block (KiB)")
    look.key(axes, 4)


def _speedups(
    axes: Axes,
    measure: str,
    rows: Sequence[Row],
    colours: Mapping[str, str],
    claims: Sequence[Claim],
) -> None:
    """Speedups over copies one by one by hit rate: a line per model, block and prompt."""
    look.panel(axes, f"{TITLES[measure]}, {METHOD} over per_block", "x")
    lines: dict[tuple[str, int, str], list[tuple[float, float]]] = {}
    for row in rows:
        line = lines.setdefault((_name(row), row.prompt_tokens, row.load), [])
        line.append((100 * row.hit_rate, row.speedups[measure][METHOD]))
    longest = max((prompt for _, prompt, _ in lines), default=0)
    for (name, prompt, _), points in lines.items():
        points.sort()
        xs, ys = [x for x, _ in points], [y for _, y in points]
        wide = 2.2 if prompt == longest else 1.1
        axes.plot(xs, ys, "o-", color=colours[name], linewidth=wide, markersize=4, label=name)
    for claim in claims:
        axes.axhspan(claim.low, claim.high, color=look.GREY, alpha=0.3, linewidth=0)
        axes.axhline(claim.high, color=look.GREY, linewidth=1.0)
        axes.annotate(
            f"published: up to {claim.high:g}x",
            (0.01, claim.high),
            fontsize=9,
            va="bottom",
            xycoords=("axes fraction", "data"),
        )
    axes.axhline(1.0, color=look.INK, linewidth=0.8)
    axes.set_xlabel("hit rate (%); thick: longest prompt")

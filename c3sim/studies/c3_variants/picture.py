"""A study of DMA variants beside a GEMM at a glance: which wins by size and GEMM, and what each
costs by size.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from c3sim.output import look
from c3sim.output.text import percent, size, time_unit
from c3sim.studies.c3_variants.table import over_ideal, pcpy_loss, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Study = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]
LOWEST, HIGHEST = 0.5, 8.0  # of what is drawn of wall / ideal
DARK, FAINT = (
    0.75,
    0.3,
)  # how much of its colour a variant has that is prelaunched, and one that is not


def plot_c3_variants(study: Study, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw *study* (data as in c3_variant_tables.py) and write it to *path* (PNG, SVG or PDF, by
    suffix) if given.

    Returns the figure. Raises InputError: an unknown suffix, a place that cannot be written.
    """
    return look.picture(lambda: _draw(study), path)


def _draw(study: Study) -> Figure:
    from matplotlib.figure import Figure

    places = settings(study)
    hosts = list(dict.fromkeys(host for host, _ in places))
    tall = max(2.6, 0.38 * len({row["label"] for row in study["rows"]}))
    figure = Figure(figsize=(18.0, 0.8 + tall * len(places)), layout="constrained")
    panels = figure.subplots(len(places), 3, squeeze=False, width_ratios=(1.0, 1.0, 0.7))
    colours = look.colours(_program(name) for row in study["rows"] for name in row["variants"])
    for axes, (host, operation) in zip(panels, places, strict=True):
        rows = [
            row for row in study["rows"] if (row["host"], row["collective"]) == (host, operation)
        ]
        sizes = sorted({row["size_bytes"] for row in rows})
        what = operation if len(hosts) == 1 else f"{operation}, {host}"
        _winners(axes[0], rows, sizes, colours, what, "good")
        _winners(
            axes[1],
            rows,
            sizes,
            colours,
            "" if len(what) > 40 else "without prelaunch",
            "good_not_prelaunched",
        )
        if len(what) > 40:  # the title on the left needs the room
            axes[1].set_title(
                "without prelaunch", loc="right", fontsize=10.5, fontweight="bold", pad=22
            )
        axes[1].set_yticklabels([])
        _walls(axes[2], rows, sizes, colours)
        if host == hosts[0]:
            axes[2].legend(frameon=False, fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    where = f" on {study['node']}" if study.get("node") else ""
    where += f", {hosts[0]}" if len(hosts) == 1 else ""
    about = "best variant beside each GEMM; numbers: how much longer the wall time is with pcpy (%)"
    title = f"{study.get('name', 'study')}{where}: {about}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def _winners(
    axes: Axes, rows: Rows, sizes: Sequence[int], colours: Mapping[str, str], title: str, which: str
) -> None:
    """A cell per GEMM and size: the colour of the first variant that is as good as the best, and
    what pcpy loses.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    def shade(name: str) -> tuple[float, float, float]:
        share = DARK if name.endswith("_pl") else FAINT
        red, green, blue = (1 - share * (1 - part) for part in to_rgb(colours[_program(name)]))
        return red, green, blue

    alone = {row["label"]: row["gemm_isolated_s"] for row in rows}
    labels = list(alone)
    image: Any = [[(1.0, 1.0, 1.0)] * len(sizes) for _ in labels]
    for row in rows:
        y, x, name = labels.index(row["label"]), sizes.index(row["size_bytes"]), row[which][0]
        image[y][x] = shade(name)
        if name != "pcpy":
            lost = pcpy_loss(row, which)
            text = percent(lost, 0 if lost >= 0.1 else 1)
            axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color=look.INK)
    axes.imshow(image, aspect="auto", interpolation="nearest")
    axes.set_yticks(
        range(len(labels)), [f"{label}\n{_time(alone[label])}" for label in labels], fontsize=8
    )
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold", pad=22)
    _sizes(axes, sizes)
    seen = {row[which][0] for row in rows}
    handles = [
        Patch(color=shade(name), label=name + (" is as good" if name == "pcpy" else ""))
        for name in rows[0]["variants"]
        if name in seen
    ]
    where: dict[str, Any] = {
        "loc": "lower left",
        "bbox_to_anchor": (0.0, 1.0),
        "borderaxespad": 0.2,
    }
    axes.legend(handles=handles, frameon=False, fontsize=9, ncols=8, **where)


def _walls(axes: Axes, rows: Rows, sizes: Sequence[int], colours: Mapping[str, str]) -> None:
    """A line per strategy and variant: wall time over the ideal one, mean over the GEMMs."""
    look.panel(axes, "wall time over ideal, mean of GEMMs", "x")

    def line(name: str, style: str, **how: Any) -> None:
        found = [
            [over_ideal(row, name) for row in rows if row["size_bytes"] == bytes_]
            for bytes_ in sizes
        ]
        axes.plot(
            range(len(sizes)),
            [geometric_mean(values) for values in found],
            style,
            label=name,
            **how,
        )

    for name in rows[0]["variants"]:
        width = 0.9 if ":" in name else 1.5
        line(
            name,
            "--" if name.endswith("_pl") else "-",
            color=colours[_program(name)],
            linewidth=width,
        )
    for name in rows[0]["strategies"]:
        if name == "base":
            line(name, ":", color=look.INK, linewidth=1.8)
        elif name != "conccl":  # that is pcpy
            line(name, "-", color=look.INK, linewidth=3.0, alpha=0.45)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, LOWEST), min(high, HIGHEST))
    _sizes(axes, sizes)


def _program(name: str) -> str:
    return name.removesuffix("_pl").partition(":")[0]


def _time(seconds: float) -> str:
    unit, length = time_unit(seconds)
    return f"{seconds / length:.3g} {unit}"


def _sizes(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xticks(range(len(sizes)), [size(bytes_) for bytes_ in sizes], fontsize=8, rotation=45)

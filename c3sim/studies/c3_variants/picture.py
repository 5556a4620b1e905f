"""A study of kind ``c3_variants`` at a glance: the best variant and wall times by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from c3sim.output.kit import look
from c3sim.output.kit.text import percent, time_unit
from c3sim.studies.c3_variants.study import C3VariantsResult, Row
from c3sim.studies.c3_variants.table import Among, by_size, over_ideal, pcpy_loss, settings, winner
from c3sim.studies.show import label_sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOWEST, HIGHEST = 0.5, 8.0  # of what is drawn of wall / ideal
#: How much of its colour a variant has that is prelaunched, and one that is not.
DARK, FAINT = 0.75, 0.3
LONG_TITLE = 40  # characters, from which a title needs the room of the next panel
Colour = tuple[float, float, float]


def draw(study: C3VariantsResult) -> Figure:
    from matplotlib.figure import Figure

    places = settings(study)
    hosts = list(dict.fromkeys(host for host, _ in places))
    tall = max(2.6, 0.38 * len({row.label for row in study.rows}))
    figure = Figure(figsize=(18.0, 0.8 + tall * len(places)), layout="constrained")
    panels = figure.subplots(len(places), 3, squeeze=False, width_ratios=(1.0, 1.0, 0.7))
    colours = look.colours(_program(name) for row in study.rows for name in row.variants)
    for (best, later, walls), ((host, operation), rows) in zip(panels, places.items(), strict=True):
        _winners(best, rows, colours, "good")
        _winners(later, rows, colours, "good_not_prelaunched")
        _titles(best, later, operation if len(hosts) == 1 else f"{operation}, {host}")
        later.set_yticklabels([])
        _walls(walls, rows, colours)
        if host == hosts[0]:
            walls.legend(frameon=False, fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    where = f"{study.title}, {hosts[0]}" if len(hosts) == 1 else study.title
    about = "best variant beside each GEMM; numbers: how much longer the wall time is with pcpy (%)"
    figure.suptitle(f"{where}: {about}", x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def _titles(best: Axes, later: Axes, what: str) -> None:
    """Over both panels of winners; a long one on the left takes room from the other."""
    style: dict[str, Any] = {"fontsize": 10.5, "fontweight": "bold", "pad": 22}
    best.set_title(what, loc="left", **style)
    side: Any = "right" if len(what) > LONG_TITLE else "left"
    later.set_title("without prelaunch", loc=side, **style)


def _winners(axes: Axes, rows: Sequence[Row], colours: Mapping[str, str], among: Among) -> None:
    """A cell per GEMM and size: the colour of the best variant, and what pcpy loses."""
    from matplotlib.patches import Patch

    sizes = [size_bytes for size_bytes, _ in by_size(rows)]
    alone = {row.label: row.gemm_isolated_s for row in rows}
    labels = list(alone)
    image: list[list[Colour]] = [[(1.0, 1.0, 1.0)] * len(sizes) for _ in labels]
    for row in rows:
        y, x, name = labels.index(row.label), sizes.index(row.size_bytes), winner(row, among)
        image[y][x] = _shade(name, colours)
        if name != "pcpy":
            lost = pcpy_loss(row, among)
            text = percent(lost, 0 if lost >= 0.1 else 1)
            axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color=look.INK)
    axes.imshow(image, aspect="auto", interpolation="nearest")
    gemms = [f"{label}\n{_time(alone[label])}" for label in labels]
    axes.set_yticks(range(len(labels)), gemms, fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    label_sizes(axes, sizes)
    winners = {winner(row, among) for row in rows}
    handles = [
        Patch(color=_shade(name, colours), label=name + " is as good" * (name == "pcpy"))
        for name in rows[0].variants
        if name in winners
    ]
    look.above(axes, 8, "left", handles=handles, size=9)


def _walls(axes: Axes, rows: Sequence[Row], colours: Mapping[str, str]) -> None:
    """A line per strategy and variant: wall time over the ideal one, mean over the GEMMs."""
    look.panel(axes, "wall time over ideal, mean of GEMMs", "x")
    of_sizes = by_size(rows)

    def line(name: str, style: str, **how: Any) -> None:
        means = [geometric_mean(over_ideal(row, name) for row in found) for _, found in of_sizes]
        axes.plot(range(len(means)), means, style, label=name, **how)

    for name in rows[0].variants:
        style = "--" if name.endswith("_pl") else "-"
        line(name, style, color=colours[_program(name)], linewidth=0.9 if ":" in name else 1.5)
    for name in rows[0].strategies:
        if name == "base":
            line(name, ":", color=look.INK, linewidth=1.8)
        elif name != "conccl":  # that is pcpy
            line(name, "-", color=look.INK, linewidth=3.0, alpha=0.45)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, LOWEST), min(high, HIGHEST))
    label_sizes(axes, [size_bytes for size_bytes, _ in of_sizes])


def _shade(name: str, colours: Mapping[str, str]) -> Colour:
    from matplotlib.colors import to_rgb

    share = DARK if name.endswith("_pl") else FAINT
    red, green, blue = (1 - share * (1 - part) for part in to_rgb(colours[_program(name)]))
    return red, green, blue


def _program(name: str) -> str:
    return name.removesuffix("_pl").partition(":")[0]


def _time(seconds: float) -> str:
    unit, length = time_unit(seconds)
    return f"{seconds / length:.3g} {unit}"

"""A study of kind ``dma_variants`` at a glance: speedups by size, phases, power saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from c3sim.output.kit import look
from c3sim.studies.dma_variants.energy import EnergyRow
from c3sim.studies.dma_variants.row import PRELAUNCHED, Row
from c3sim.studies.dma_variants.study import DmaVariantsResult
from c3sim.studies.dma_variants.table import PHASES
from c3sim.studies.show import grouped, label_sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(study: DmaVariantsResult) -> Figure:
    from matplotlib.figure import Figure

    rows_of = grouped(study.rows, lambda row: row.collective)
    energies = grouped(study.energy.rows, lambda row: row.collective)
    count = 2 * len(rows_of) + 1
    figure = Figure(figsize=(13.0, 1.0 + 3.6 * count), layout="constrained")
    panels = list(figure.subplots(count, 1, squeeze=False)[:, 0])
    phases = panels.pop(len(rows_of))
    for axes, (operation, rows) in zip(panels, rows_of.items(), strict=False):
        _speedups(axes, operation, rows)
    _phases(phases, study)
    for axes, (operation, found) in zip(panels[len(rows_of) :], energies.items(), strict=True):
        _savings(axes, operation, found, study.energy.published)
        label_sizes(axes, [row.size_bytes for row in found])
    figure.suptitle(study.title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    source = study.published.get("source")
    if source:
        figure.supxlabel(f"published: {source}", x=0.01, ha="left", fontsize=9, color=look.GREY)
    return figure


def _speedups(axes: Axes, operation: str, rows: Sequence[Row]) -> None:
    """A line per variant, dashed where prelaunched; published speedups as points of its colour."""
    known = any(row.published for row in rows)
    title = f"{operation}: speedup over pcpy"
    look.panel(axes, title + (" (lines simulated, points published)" if known else ""), "x")
    colours = look.colours(name.removesuffix(PRELAUNCHED) for name in rows[0].variants)
    places = range(len(rows))
    for name in rows[0].variants:
        colour, prelaunched = colours[name.removesuffix(PRELAUNCHED)], name.endswith(PRELAUNCHED)
        speedups = [row.speedups[name] for row in rows]
        axes.plot(places, speedups, "--" if prelaunched else "-", color=colour, label=name)
        points = [(i, rows[i].published[name]) for i in places if name in rows[i].published]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axes.plot(xs, ys, "o", color=colour, markerfacecolor="none" if prelaunched else colour)
    against = [row.variants["pcpy"].time_us / row.rccl.time_us for row in rows]
    axes.plot(places, against, ":", color=look.INK, label="rccl")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
    label_sizes(axes, [row.size_bytes for row in rows])
    look.key(axes, 4)


def _phases(axes: Axes, study: DmaVariantsResult) -> None:
    look.panel(axes, "Phases of one copy to a peer", "%")
    rows, below = study.phases, [0.0] * len(study.phases)
    for name, colour in look.colours(PHASES).items():
        shares = [100 * row.shares[name] for row in rows]
        axes.bar(range(len(rows)), shares, 0.7, bottom=below, color=colour, label=name)
        below = [low + share for low, share in zip(below, shares, strict=True)]
    label_sizes(axes, [row.size_bytes for row in rows])
    look.above(axes, 4, "right")


def _savings(
    axes: Axes, operation: str, rows: Sequence[EnergyRow], published: Mapping[str, Any] | None
) -> None:
    """Power saved over compute units: a line per variant, the band of pcpy shaded, the published
    saving dashed. Prelaunch changes power little and is left out.
    """
    look.panel(axes, f"{operation}: power saved over compute units, mean over the collective", "%")
    names = [name for name in rows[0].variants if not name.endswith(PRELAUNCHED)]
    places = range(len(rows))
    for name, colour in look.colours(names).items():
        saved = [row.variants[name].over_rccl.power for row in rows]
        axes.plot(places, [100 * each.saving for each in saved], color=colour, label=name)
        lows = [100 * each.low for each in saved if each.low is not None]
        highs = [100 * each.high for each in saved if each.high is not None]
        if name == "pcpy" and lows:
            label = "pcpy, every energy in its interval"
            shade: dict[str, Any] = {"color": colour, "alpha": 0.15, "linewidth": 0}
            axes.fill_between(places, lows, highs, label=label, **shade)
    if published:
        since = [i for i in places if rows[i].size_bytes >= published["large_bytes"]]
        saving = 100 * published["saving_over_rccl"]
        label = f"published, pcpy: {saving:.0f} %"
        axes.plot(since, [saving] * len(since), "--", color=look.INK, label=label)
    look.key(axes, 3, loc="upper left")

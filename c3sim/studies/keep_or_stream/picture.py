"""A study of kind ``keep_or_stream`` at a glance: the gain of each policy in every scenario. Lines
set aside are left out: what they lose hides what the others gain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit import look
from c3sim.studies.keep_or_stream.policies import NONE, TRIED
from c3sim.studies.keep_or_stream.study import KeepOrStreamResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(result: KeepOrStreamResult) -> Figure:
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(row.scenario.split(" ", 1)[1] for row in result.rows))
    figure = Figure(figsize=(13.0, 2.8 * len(kinds)), layout="constrained")
    policies = [policy for policy in TRIED if policy not in (NONE, "gemm_keep_set_aside")]
    colours = look.colours(dict.fromkeys(policies))
    for place, kind in enumerate(kinds):
        axes = figure.add_subplot(len(kinds), 1, place + 1)
        look.panel(axes, f"{kind} operands: gain of wall time", "%")
        for offset, policy in enumerate(policies):
            bands = [
                band
                for band in result.bands
                if band.policy == policy and band.scenario.split(" ", 1)[1] == kind
            ]
            places = [at + 0.12 * (offset - len(policies) / 2) for at in range(len(bands))]
            low, high = ([100 * getattr(band, end) for band in bands] for end in ("p5", "p95"))
            middle = [100 * band.median for band in bands]
            axes.vlines(places, low, high, color=colours[policy], linewidth=2)
            axes.plot(places, middle, "o", color=colours[policy], markersize=3, label=policy)
        axes.axhline(0.0, color=look.INK, linewidth=0.8)
        names = [band.scenario.split(" ", 1)[0] for band in bands]
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
        if place == 0:
            handles, labels = axes.get_legend_handles_labels()
    look.key(figure, 3, handles=handles, labels=labels, loc="outside lower center")
    figure.suptitle(result.title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure

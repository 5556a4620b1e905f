"""A study of kind ``t3`` at a glance: speedups of every sub-layer, what memory moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit import look
from c3sim.studies.t3.study import VARIANTS, T3Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = ("gemm_reads", "gemm_writes", "rs_reads", "rs_writes", "ag_reads", "ag_writes")


def draw(study: T3Result) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 8.4), layout="constrained")
    above, below = figure.subplots(2, 1)
    places = range(len(study.rows))
    names = [f"{row.model} {row.tp}\n{row.sublayer}" for row in study.rows]
    look.panel(above, "Speedup over GEMM, reduce-scatter and all-gather in sequence", "x")
    width = 0.8 / len(VARIANTS)
    for number, (name, colour) in enumerate(look.colours(VARIANTS).items()):
        heights = [row.speedup[name] for row in study.rows]
        left = [place + (number - 1.5) * width for place in places]
        above.bar(left, heights, width, label=name, color=colour)
    above.set_ylim(bottom=0.9)
    look.key(above, 4)
    look.panel(below, "Bytes of memory: left in sequence, right tracked", "GB")
    for shift, variant in ((-0.2, "sequential"), (0.2, "t3")):
        bottom = [0.0 for _ in places]
        for part, colour in look.colours(PARTS).items():
            heights = [getattr(row.traffic[variant], part) / 1e9 for row in study.rows]
            label = part if shift < 0 else None
            left = [place + shift for place in places]
            below.bar(left, heights, 0.36, bottom=bottom, label=label, color=colour)
            bottom = [low + high for low, high in zip(bottom, heights, strict=True)]
    look.key(below, 6)
    for axes in (above, below):
        axes.set_xticks(list(places), names, rotation=90, fontsize=7)
    figure.suptitle(study.title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure

"""A study of kind ``channels`` at a glance: GEMM slowdown and bandwidth over channels, knees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit import look
from c3sim.studies.channels.study import ChannelsResult, Row
from c3sim.studies.show import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(study: ChannelsResult) -> Figure:
    from matplotlib.figure import Figure

    machines = grouped(study.rows, lambda row: (row.node, row.collective))
    colours = look.colours(row.gemm for row in study.rows)
    knees = {(knee.node, knee.collective, knee.gemm): knee.channels for knee in study.knees}
    figure = Figure(figsize=(3.0 * len(machines) + 1.4, 6.2), layout="constrained")
    panels = figure.subplots(2, len(machines), sharex="col", squeeze=False)
    for column, ((node, name), rows) in enumerate(machines.items()):
        of = {gemm: knees[node, name, gemm] for gemm in dict.fromkeys(row.gemm for row in rows)}
        top, bottom = panels[0][column], panels[1][column]
        look.panel(top, f"{node}, {name}", "GEMM longer by (%)" if not column else "")
        look.panel(bottom, "", "bus bandwidth (GB/s)" if not column else "")
        _curves(top, rows, colours, of, lambda row: 100 * (row.gemm_slowdown - 1.0))
        _curves(bottom, rows, colours, of, lambda row: row.bandwidth_beside_bytes_per_s / 1e9)
        alone = [row for row in rows if row.gemm == rows[0].gemm]
        places = [row.channels for row in alone]
        rates = [row.bandwidth_alone_bytes_per_s / 1e9 for row in alone]
        bottom.plot(places, rates, "--", color=look.GREY, label="alone")
        bottom.set_xlabel("channels")
        bottom.set_ylim(bottom=0)
    artists, labels = panels[1][0].get_legend_handles_labels()
    look.key(figure, len(labels), handles=artists, labels=labels, loc="outside lower center")
    title = f"{study.about.name}: what a channel costs and gives; large dots: the knee"
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure


def _curves(
    axes: Axes,
    rows: Sequence[Row],
    colours: Mapping[str, str],
    knees: Mapping[str, int],
    value: Callable[[Row], float],
) -> None:
    """A line per GEMM, its knee a large dot."""
    for gemm, curve in grouped(rows, lambda row: row.gemm).items():
        xs, ys = [row.channels for row in curve], [value(row) for row in curve]
        axes.plot(xs, ys, "o-", color=colours[gemm], markersize=3, linewidth=1.4, label=gemm)
        place = xs.index(knees[gemm])
        axes.plot(xs[place], ys[place], "o", color=colours[gemm], markersize=9)

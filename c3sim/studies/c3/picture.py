"""A study at a glance: each strategy's mean fraction of ideal beside the published one, and every
scenario under it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.output import look
from c3sim.output.text import percent, times
from c3sim.studies.c3.table import published_fractions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, MEANS, ROW, HEADER, FOOTER, GAP = 13.0, 3.3, 0.3, 0.95, 1.45, 0.85  # inches
BAR = 0.6
Study = Mapping[str, Any]


def plot_study(study: Study, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw *study* (data as in study_tables.py) and write it to *path* (PNG, SVG or PDF, by suffix)
    if given.

    Returns the figure. Raises InputError: no strategies to draw, an unknown suffix, a place that
    cannot be written.
    """
    return look.picture(lambda: _draw(study), path)


def _draw(study: Study) -> Figure:
    from matplotlib.figure import Figure

    if not (study.get("strategies") and study.get("scenarios")):
        raise InputError(
            "this study holds no strategies to draw; allowed: a study with the output 'c3'"
        )
    names = list(study["strategies"])
    cells = ROW * len(names)
    height = HEADER + MEANS + GAP + cells + FOOTER
    figure = Figure(figsize=(WIDTH, height))
    left, width = 0.075, 0.915
    means = figure.add_axes((left, 1 - (HEADER + MEANS) / height, width, MEANS / height))
    every = figure.add_axes((left, FOOTER / height, width, cells / height))
    _means(means, study, names)
    _scenarios(every, study, names)
    name, node = study.get("name", "study"), study.get("node")
    title = f"{name} on {node}" if node else str(name)
    figure.text(0.012, 1 - 0.3 / height, title, fontsize=14, fontweight="bold")
    text = f"mean fraction of ideal overlap over {len(study['scenarios'])} scenarios: 0 % one task after the other, "
    text += "100 % the shorter task hidden altogether"
    figure.text(0.012, 1 - 0.56 / height, text, fontsize=10.5)
    source = (study.get("published") or {}).get("source")
    if source:
        figure.text(0.012, 0.1 / height, f"published: {source}", fontsize=9, color=look.GREY)
    return figure


def _means(axes: Axes, study: Study, names: Sequence[str]) -> None:
    """A bar per strategy with its band, the published mean as a diamond, and how many points lie
    between.
    """
    look.panel(axes, "Mean fraction of ideal", "%")
    published, top = published_fractions(study), 0.0
    for place, name in enumerate(names):
        row = study["strategies"][name]
        mean, theirs = row["mean_fraction_of_ideal"], published.get(name)
        label = "simulated" if place == 0 else None
        axes.bar(place, 100 * (mean or 0.0), BAR, color=look.PALETTE[0], label=label)
        ends = [
            100 * value for value in (mean, theirs, *(row.get("band") or ())) if value is not None
        ]
        if row.get("band") and mean is not None:
            _band(axes, place, row["band"], first=place == 0)
        if theirs is not None:
            label = "published" if place == 0 else None
            axes.plot(
                place + 0.38,
                100 * theirs,
                "D",
                color=look.PALETTE[1],
                markeredgecolor=look.INK,
                label=label,
            )
        text = (
            percent(mean)
            if theirs is None or mean is None
            else f"{percent(mean)}  ({100 * (mean - theirs):+.1f})"
        )
        axes.annotate(
            text,
            (place, max([0.0, *ends])),
            (0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=9.5,
        )
        top = max([top, *ends])
    for place, name in enumerate(names):
        fastest = f"best {times(study['strategies'][name].get('max_speedup'))}"
        below: dict[str, Any] = {
            "xycoords": ("data", "axes fraction"),
            "textcoords": "offset points",
        }
        axes.annotate(
            fastest, (place, 0), (0, -30), ha="center", fontsize=9, color="#555555", **below
        )
    axes.set_ylim(min(0.0, axes.get_ylim()[0]), 1.18 * top or 1.0)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_xticks(range(len(names)), names)
    axes.set_title(
        "in brackets: points off the published mean; best: highest speedup of a scenario",
        loc="right",
        fontsize=9.5,
        pad=5,
    )
    axes.legend(loc="upper left", frameon=False, fontsize=9.5, ncols=3)


def _band(axes: Axes, place: int, band: Sequence[float], *, first: bool) -> None:
    low, high = (100 * edge for edge in band)
    label = "other admissible sets of scenarios" if first else None
    line: dict[str, Any] = {"color": look.INK, "linewidth": 1.2}
    axes.plot([place, place], [low, high], label=label, **line)
    for edge in (low, high):
        axes.plot([place - 0.07, place + 0.07], [edge, edge], **line)


def _scenarios(axes: Axes, study: Study, names: Sequence[str]) -> None:
    """A cell per scenario and strategy with its fraction of ideal in per cent; the best of a
    scenario in bold.
    """
    scenarios = study["scenarios"]
    shares = [
        [scenario["strategies"].get(name, {}).get("fraction_of_ideal") for scenario in scenarios]
        for name in names
    ]
    image: Any = [
        [float("nan") if share is None else 100 * share for share in row] for row in shares
    ]
    axes.imshow(image, cmap="cividis", vmin=0, vmax=100, aspect="auto")
    best = [
        max((share for share in column if share is not None), default=None)
        for column in zip(*shares, strict=True)
    ]
    centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
    for y, row in enumerate(shares):
        for x, share in enumerate(row):
            if share is not None:
                weight = "bold" if share == best[x] else "normal"
                ink = look.INK if share > 0.55 else "white"
                axes.text(x, y, percent(share, 0), color=ink, fontweight=weight, **centred)
    labels = [f"{scenario['name']}  {scenario['class']}" for scenario in scenarios]
    axes.set_xticks(range(len(scenarios)), labels, rotation=90, fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(
        "Fraction of ideal per scenario (%), the best in bold",
        loc="left",
        fontsize=10.5,
        fontweight="bold",
        pad=5,
    )

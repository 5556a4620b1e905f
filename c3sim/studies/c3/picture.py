"""A study of kind ``c3`` at a glance: each strategy's mean fraction of ideal beside the published
one, and every scenario under it.
"""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.output.kit import look
from c3sim.output.kit.text import FRACTION_EXPLAINED, percent, times
from c3sim.studies.c3.study import C3Result
from c3sim.studies.c3.summary import Outcome
from c3sim.studies.c3.table import published_fractions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, MEANS, ROW, HEADER, FOOTER, GAP = 13.0, 3.3, 0.3, 1.2, 1.45, 0.85  # inches
COLUMNS = 165  # characters of a line under the title
BAR = 0.6


def draw(study: C3Result) -> Figure:
    """The picture of *study*. Raises InputError: nothing to draw."""
    from matplotlib.figure import Figure

    if not study.scenarios:
        raise InputError("this study has no scenarios to draw")
    cells = ROW * len(study.strategies)
    height = HEADER + MEANS + GAP + cells + FOOTER
    figure = Figure(figsize=(WIDTH, height))
    left, width = 0.075, 0.915
    means = figure.add_axes((left, 1 - (HEADER + MEANS) / height, width, MEANS / height))
    every = figure.add_axes((left, FOOTER / height, width, cells / height))
    _means(means, study)
    _scenarios(every, study)
    figure.text(0.012, 1 - 0.3 / height, study.title, fontsize=14, fontweight="bold")
    text = fill(f"means over {len(study.scenarios)} scenarios; {FRACTION_EXPLAINED}", COLUMNS)
    figure.text(0.012, 1 - 0.42 / height, text, fontsize=10.5, va="top")
    source = study.published.get("source")
    if source:
        figure.text(0.012, 0.1 / height, f"published: {source}", fontsize=9, color=look.GREY)
    return figure


def _means(axes: Axes, study: C3Result) -> None:
    """A bar per strategy with its band and the published mean; below it the largest speedup."""
    look.panel(axes, "Mean fraction of ideal", "%")
    names = list(study.strategies)
    tops = [_bar(axes, study, place, name) for place, name in enumerate(names)]
    for place, means in enumerate(study.strategies.values()):
        axes.annotate(
            f"best {times(means.max_speedup)}",
            (place, 0),
            (0, -30),
            ha="center",
            fontsize=9,
            color="#555555",
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
        )
    axes.set_ylim(min(0.0, axes.get_ylim()[0]), 1.25 * max([0.0, *tops]) or 1.0)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_xticks(range(len(names)), names)
    explained = "in brackets: points off the published mean; best: highest speedup of a scenario"
    axes.set_title(explained, loc="right", fontsize=9.5, pad=5)
    axes.legend(loc="upper left", frameon=False, fontsize=9.5, ncols=3)


def _bar(axes: Axes, study: C3Result, place: int, name: str) -> float:
    """One strategy: a bar, its band, on it the published mean as a diamond, and how many points lie
    between. Returns the top of all that [%]. Labels for the legend come from the first bar.
    """
    means, theirs = study.strategies[name], published_fractions(study).get(name)
    mean, band = means.mean_fraction_of_ideal, means.band
    first = place == 0
    label = "simulated" if first else None
    axes.bar(place, 100 * (mean or 0.0), BAR, color=look.PALETTE[0], label=label)
    if band and mean is not None:
        _band(axes, place, band, "band of what is not known (5 to 95 %)" if first else None)
    if theirs is not None:
        label = "published" if first else None
        dot: dict[str, Any] = {"color": look.PALETTE[1], "markeredgecolor": look.INK}
        axes.plot(place, 100 * theirs, "D", label=label, zorder=3, **dot)
    text = percent(mean)
    if theirs is not None and mean is not None:
        text += f"  ({100 * (mean - theirs):+.1f})"
    ends = (mean, theirs, *(band or ()))
    top: float = max([0.0, *(100 * end for end in ends if end is not None)])
    axes.annotate(text, (place, top), (0, 5), textcoords="offset points", ha="center", fontsize=9.5)
    return top


def _band(axes: Axes, place: int, band: tuple[float, float], label: str | None) -> None:
    low, high = (100 * end for end in band)
    line: dict[str, Any] = {"color": look.INK, "linewidth": 1.2}
    axes.plot([place, place], [low, high], label=label, **line)
    for end in (low, high):
        axes.plot([place - 0.07, place + 0.07], [end, end], **line)


def _scenarios(axes: Axes, study: C3Result) -> None:
    """A cell per scenario and strategy with its fraction of ideal in per cent; the best of a
    scenario in bold.
    """
    names, scenarios = list(study.strategies), study.scenarios
    shares = [[_share(scenario.strategies.get(name)) for scenario in scenarios] for name in names]
    image: Any = [
        [float("nan") if share is None else 100 * share for share in row] for row in shares
    ]
    top = max([1.0, *(share for row in shares for share in row if share is not None)])
    axes.imshow(image, cmap="cividis", vmin=0, vmax=100 * top, aspect="auto")
    best = [
        max((share for share in column if share is not None), default=None)
        for column in zip(*shares, strict=True)
    ]
    centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
    for y, row in enumerate(shares):
        for x, share in enumerate(row):
            if share is not None:
                weight = "bold" if share == best[x] else "normal"
                ink = look.INK if share > 0.55 * top else "white"
                axes.text(x, y, percent(share, 0), color=ink, fontweight=weight, **centred)
    labels = [f"{scenario.name}  {scenario.length_class}" for scenario in scenarios]
    axes.set_xticks(range(len(scenarios)), labels, rotation=90, fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    title = "Fraction of ideal per scenario (%), the best in bold"
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold", pad=5)


def _share(outcome: Outcome | None) -> float | None:
    return None if outcome is None else outcome.fraction_of_ideal

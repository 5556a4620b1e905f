"""The pictures of studies: panels of bars, lines, points or cells, from plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from c3sim.kit import look
from c3sim.kit.grid import SCALES, Column, Row, at, columns_of, shown, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = Sequence[float | None]
WIDTH, HEIGHT = 13.0, 3.2  # inches of the picture, and of a panel without the names of its cells


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """*series* by name, each with a value for every one of *x*, names or numbers.

    *known*: published values of a series, drawn as diamonds; *bands*: two ends of every value;
    *levels*: lines across, by name; *notes*: a word above each of *x*. Cells are drawn from the
    series, a row each, with *notes* left out.
    """

    title: str
    unit: str
    x: Sequence[Any]
    series: Mapping[str, Values]
    kind: Literal["bars", "stacked", "lines", "points", "cells"] = "lines"
    known: Mapping[str, Values] = field(default_factory=dict)
    bands: Mapping[str, Sequence[tuple[float, float] | None]] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()
    log: bool = False
    label: str = ""

    @property
    def numeric(self) -> bool:
        return all(isinstance(each, int | float) for each in self.x)


def panel(
    title: str,
    rows: Sequence[Row],
    x: str,
    column: str,
    known: str = "",
    bands: str = "",
    **more: Any,
) -> Panel:
    """A panel of *rows*: places named by column *x*, and a series for each column that *column*
    stands for, in its unit, as a table has them (:mod:`c3sim.kit.grid`). *known*: columns of
    published values; *bands*: of two ends each, both in that unit and named as the series.
    """
    (place,) = columns_of(rows, [x])
    columns = list(columns_of(rows, [column]))
    unit = columns[0].unit.rstrip("0123456789") if columns else ""
    scale = 100.0 if unit == "%" else SCALES.get(unit, (1.0, 0))[0]

    def scaled(value: Any) -> Any:
        if isinstance(value, Sequence):
            return None if None in value else tuple(scale * end for end in value)
        return None if value is None else scale * value

    def values(columns: Iterable[Column]) -> dict[str, Any]:
        return {each.name: [scaled(at(row, each.path)) for row in rows] for each in columns}

    names = [at(row, place.path) for row in rows]
    return Panel(
        title=title,
        unit=unit,
        x=[shown(name, place.unit) for name in names] if place.unit else names,
        series=values(columns),
        known=values(columns_of(rows, [known] if known else [])),
        bands=values(columns_of(rows, [bands] if bands else [])),
        **more,
    )


def panels_by(title: str, rows: Iterable[Row], x: str, column: str, **more: Any) -> list[Panel]:
    """A panel for each text that *title* gives, as :func:`c3sim.kit.grid.tables_by`."""
    return [panel(name, of, x, column, **more) for name, of in titled(title, rows).items()]


def draw(title: str, panels: Sequence[Panel]) -> Figure:
    """*panels* one below the other."""
    from matplotlib.figure import Figure

    heights = [_height(panel) for panel in panels]
    figure = Figure(figsize=(WIDTH, 0.8 + sum(heights)), layout="constrained")
    rows = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    before: list[str] = []
    for axes, panel in zip(rows, panels, strict=True):
        colours = look.colours(name.removesuffix("_pl") for name in panel.series)
        look.panel(axes, panel.title, panel.unit)
        if panel.kind == "cells":
            _cells(axes, panel)
            continue
        _DRAWN[panel.kind](axes, panel, colours)
        _dress(axes, panel, colours)
        artists, names = axes.get_legend_handles_labels()
        if names and names != before:
            columns = min(6, max(1, 90 // max(map(len, names))))
            look.key(axes, columns, size=8.5, handles=artists, labels=names, loc="best")
        before = names
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure


def _height(panel: Panel) -> float:
    if panel.kind == "cells":
        return 1.6 + 0.3 * len(panel.series)
    return HEIGHT if panel.numeric or max(map(len, map(str, panel.x))) < 12 else HEIGHT + 0.6


def _places(panel: Panel) -> Sequence[float]:
    return panel.x if panel.numeric else range(len(panel.x))


def _bars(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    """Bars side by side, a group for every one of x."""
    width = 0.8 / len(panel.series)
    for number, (name, values) in enumerate(panel.series.items()):
        shift = (number - (len(panel.series) - 1) / 2) * width
        places = [place + shift for place in range(len(panel.x))]
        heights = [value or 0.0 for value in values]
        axes.bar(places, heights, width, label=name, color=colours[name.removesuffix("_pl")])
        _beside(axes, panel, name, places)


def _stacked(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    places, bottom = range(len(panel.x)), [0.0] * len(panel.x)
    for name, values in panel.series.items():
        heights = [value or 0.0 for value in values]
        axes.bar(places, heights, 0.7, bottom=bottom, label=name, color=colours[name])
        bottom = [low + high for low, high in zip(bottom, heights, strict=True)]


def _lines(axes: Axes, panel: Panel, colours: Mapping[str, str], mark: str = "") -> None:
    """A line for each series, dashed where prelaunched; without lines where *mark* is given."""
    places = list(_places(panel))
    for name, values in panel.series.items():
        colour = colours[name.removesuffix("_pl")]
        style = mark or ("--" if name.endswith("_pl") else "-")
        drawn: Any = [float("nan") if value is None else value for value in values]
        axes.plot(places, drawn, style, color=colour, label=name, markersize=5, linewidth=1.5)
        _beside(axes, panel, name, places)


def _points(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    _lines(axes, panel, colours, "o")


_DRAWN = {"bars": _bars, "stacked": _stacked, "lines": _lines, "points": _points}


def _beside(axes: Axes, panel: Panel, name: str, places: Sequence[float]) -> None:
    """The bands of a series, and what is published of it."""
    for place, ends in zip(places, panel.bands.get(name, ()), strict=False):
        if ends is not None:
            axes.plot((place, place), ends, color=look.INK, linewidth=1.2)
    known = [
        (place, value)
        for place, value in zip(places, panel.known.get(name, ()), strict=False)
        if value is not None
    ]
    if known:
        style: dict[str, Any] = {"markerfacecolor": look.PALETTE[1], "markeredgecolor": look.INK}
        first = not any("published" in str(line.get_label()) for line in axes.lines)
        label = "published" if first else None
        axes.plot(*zip(*known, strict=True), "D", markersize=5, zorder=3, label=label, **style)


def _dress(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    for number, (name, level) in enumerate(panel.levels.items()):
        style = ("-", ":", "--")[number % 3]
        axes.axhline(level, color=look.INK, linewidth=0.9, linestyle=style, label=name)
    if panel.log:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:g}")
    elif min(axes.get_ylim()) < 0 < max(axes.get_ylim()):
        axes.axhline(0.0, color=look.INK, linewidth=0.8)
    axes.set_xlabel(panel.label)
    if not panel.numeric:
        _names(axes, panel.x)
    for place, note in zip(_places(panel), panel.notes, strict=False):
        top = (place, 1.0)
        axes.annotate(
            note, top, ha="center", va="top", fontsize=8, xycoords=("data", "axes fraction")
        )


def _names(axes: Axes, names: Sequence[str]) -> None:
    """A name at each place; settings that all of them have stand once, below the axis."""
    texts, shared = without_shared([str(name) for name in names])
    if shared:
        axes.set_xlabel(", ".join([*filter(None, [axes.get_xlabel()]), *shared]), fontsize=8)
    longest = max(map(len, texts), default=0)
    turned = 0 if longest * len(names) < 120 else 45 if longest < 12 else 90
    axes.set_xticks(range(len(texts)), texts, rotation=turned, fontsize=8)


def without_shared(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """*names* without settings that all of them have, ``a, path=1`` and ``b, path=1``, and these;
    of a path whose values differ the values stay: ``a, 1`` and ``b, 2``, beside ``path``.
    """
    parts = [name.split(", ") for name in names]
    if len({len(each) for each in parts}) != 1:
        return list(names), []
    kept, shared = [[each[0] for each in parts]], []
    for column in zip(*(each[1:] for each in parts), strict=True):
        paths = {each.rpartition("=")[0] for each in column}
        if len(paths) > 1 or paths == {""}:
            kept.append(list(column))
        elif len(set(column)) == 1:
            shared.append(column[0])
        else:
            shared += paths
            kept.append([each.rpartition("=")[2] for each in column])
    return [", ".join(each) for each in zip(*kept, strict=True)], shared


def _cells(axes: Axes, panel: Panel) -> None:
    """A cell per series and place, coloured by its value; the best of a column in bold."""
    rows = list(panel.series.values())
    image: Any = [[float("nan") if v is None else v for v in row] for row in rows]
    top = max([1.0, *(value for row in rows for value in row if value is not None)])
    axes.imshow(image, cmap="cividis", vmin=0, vmax=top, aspect="auto")
    best = [
        max((value for value in column if value is not None), default=None)
        for column in zip(*rows, strict=True)
    ]
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            if value is not None:
                weight = "bold" if value == best[x] else "normal"
                ink = look.INK if value > 0.55 * top else "white"
                where: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
                axes.text(x, y, f"{value:z.0f}", color=ink, fontweight=weight, **where)
    _names(axes, panel.x)
    axes.set_yticks(range(len(rows)), list(panel.series), fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)

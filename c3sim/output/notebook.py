"""Results in a notebook: the terminal's tables as HTML, pictures within the text."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from c3sim.kit import look
from c3sim.kit.text import time_unit, times

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from c3sim.evaluation.comparison import Comparison
    from c3sim.evaluation.explanation import Explanation, TaskExplanation
    from c3sim.evaluation.shares import Part
    from c3sim.experiments.sweep import SweepResult

STYLE = (
    "<style>.c3sim table{border-collapse:collapse;margin:.4em 0}.c3sim th,.c3sim td"
    "{padding:.15em .8em .15em 0;text-align:left;vertical-align:top;border-bottom:1px solid #8884}"
    ".c3sim .number{text-align:right;font-variant-numeric:tabular-nums}.c3sim p{margin:.3em 0}"
    ".c3sim img{max-width:100%;height:auto;background:#fff}</style>"
)
DOTS = 110  # of an inch of a picture
MOST_ROWS = 20  # of a frame
FELT = 0.0005  # a share of the isolated time that has a bar
SEEN = 0.01  # a share of the wall time that has a panel


def page(parts: Iterable[str]) -> str:
    """*parts* as one piece of HTML with its style."""
    return f'{STYLE}<div class="c3sim">{"".join(parts)}</div>'


def html_of(renderable: Any) -> str:
    """A table or text of the terminal as HTML that a screen reader can walk through."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if isinstance(renderable, Group):
        return "".join(html_of(part) for part in renderable.renderables)
    if isinstance(renderable, Table):
        return _table(renderable)
    text = renderable.plain if isinstance(renderable, Text) else str(renderable)
    lines = "<br>".join(escape(line) for line in text.splitlines())
    bold = isinstance(renderable, Text) and renderable.style == "bold"
    return f"<p><b>{lines}</b></p>" if bold else f"<p>{lines}</p>" if lines else ""


def _table(table: Table) -> str:
    columns = table.columns
    kinds = [' class="number"' if column.justify == "right" else "" for column in columns]

    def row(tag: str, cells: Iterable[Any]) -> str:
        filled = zip(kinds, cells, strict=True)
        scope = ' scope="col"' if tag == "th" else ""
        made = (f"<{tag}{scope}{kind}>{_cell(cell)}</{tag}>" for kind, cell in filled)
        return f"<tr>{''.join(made)}</tr>"

    rows = zip(*(column.cells for column in columns), strict=True)
    body = "".join(row("td", cells) for cells in rows)
    head = row("th", (column.header for column in columns)) if table.show_header else ""
    caption = f"<caption>{_cell(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


def _cell(cell: Any) -> str:
    from rich.text import Text

    text = cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain
    return escape(text).replace("\n", "<br>")


def image(figure: Figure, words: str) -> str:
    """*figure* within the text; *words* are read where it cannot be seen."""
    buffer = io.BytesIO()
    with look.style():
        figure.savefig(buffer, format="png", dpi=DOTS, facecolor="white")
    data = b64encode(buffer.getvalue()).decode()
    return f'<img alt="{escape(words)}" src="data:image/png;base64,{data}">'


def draw_comparison(results: Comparison) -> Figure:
    """A bar for each strategy, as long as its wall time; a line at the ideal."""

    def draw() -> Figure:
        from matplotlib.figure import Figure

        unit, length = time_unit(max(result.wall_s for result in results))
        figure = Figure(figsize=(8.0, 0.9 + 0.34 * len(results)), layout="constrained")
        axes = figure.subplots()
        names = [result.strategy for result in results]
        walls = [result.wall_s / length for result in results]
        bars = axes.barh(names, walls, color=look.PALETTE[0])
        words = [times(result.speedup) for result in results]
        axes.bar_label(bars, words, label_type="center", color="white")
        ideal = results[0].serial_s / results[0].ideal_speedup / length
        axes.axvline(ideal, color=look.INK, linestyle="--", label="ideal")
        axes.invert_yaxis()
        look.panel_title(axes, f"{results[0].workload} on {results[0].node}")
        axes.set_xlabel(f"wall time ({unit}); speedup over one task after the other")
        look.above(axes, 1, "right")
        axes.spines[["top", "right"]].set_visible(False)
        return figure

    return look.picture(draw, None)


def draw_explanation(explanation: Explanation) -> Figure:
    """For each task its way from the isolated time to the concurrent one: a bar for each cause,
    which begins where the one before ended. Of an iteration the same of its larger parts, from the
    time where nothing is shared.
    """

    def draw() -> Figure:
        from matplotlib.figure import Figure

        steps = {
            f"{name}: {times(task.slowdown)} its isolated time": _steps(task)
            for name, task in explanation.tasks.items()
        } or {name: _steps_of_part(part) for name, part in _larger(explanation).items()}
        unit, length = time_unit(max(bars[-1][2] for bars in steps.values()))
        height = sum(len(each) for each in steps.values())
        figure = Figure(figsize=(8.0, 0.9 * len(steps) + 0.27 * height), layout="constrained")
        heights = [len(each) for each in steps.values()]
        panels = figure.subplots(len(steps), sharex=True, height_ratios=heights, squeeze=False)
        for axes, (title, bars) in zip(panels[:, 0], steps.items(), strict=True):
            for words, start, seconds, colour in bars:
                axes.barh(words, seconds / length, left=start / length, color=colour)
            look.panel_title(axes, title)
            axes.invert_yaxis()
            axes.spines[["top", "right"]].set_visible(False)
        panels[-1, 0].set_xlabel(f"time ({unit})")
        return figure

    return look.picture(draw, None)


Bar = tuple[str, float, float, str]  # words, where it begins [s], how long it is [s], its colour


def _steps(task: TaskExplanation) -> list[Bar]:
    causes = {**task.causes_s, "left_over": task.left_over_s}
    first = ("alone", 0.0, task.isolated_s, look.GREY)
    return [*_chain(first, causes), ("with the others", 0.0, task.time_s, look.INK)]


def _steps_of_part(part: Part) -> list[Bar]:
    first = ("nothing shared", 0.0, part.unshared_s, look.GREY)
    return [*_chain(first, part.causes_s), ("together", 0.0, part.time_s, look.INK)]


def _chain(first: Bar, causes: Mapping[str, float]) -> list[Bar]:
    """*first*, and a bar for each of the *causes* [s] that is felt beside it."""
    bars, end = [first], first[2]
    for cause, seconds in causes.items():
        if abs(seconds) >= FELT * first[2]:
            colour = look.PALETTE[1 if seconds > 0 else 4]
            bars.append((cause.replace("_", " "), end, seconds, colour))
            end += seconds
    return bars


def _larger(explanation: Explanation) -> dict[str, Part]:
    """Parts of an iteration that can be seen beside its wall time."""
    least = SEEN * explanation.wall_s
    return {name: part for name, part in explanation.parts.items() if part.time_s >= least}


def draw_sweep(swept: SweepResult, **options: str | None) -> Figure:
    """Figure that ``c3sim plot`` draws of the sweep's folder."""
    from c3sim.output.pictures.draw import draw_results
    from c3sim.output.results.table import read_results

    return draw_results(read_results(swept.folder), **options)


def sweep_html(swept: SweepResult) -> list[str]:
    """Summary of the sweep, its picture where there is one, and its first rows."""
    from c3sim.errors import InputError

    parts = [html_of(repr(swept))]
    try:
        parts.append(image(draw_sweep(swept), "picture of the sweep"))
    except InputError as error:  # nothing varies, or every point failed
        parts.append(html_of(str(error)))
    return [*parts, swept.to_frame().to_html(max_rows=MOST_ROWS, border=0)]

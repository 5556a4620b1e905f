"""Hands what is returned the means to show itself (:mod:`c3sim.result.shown`): which tables and
pictures belong to which kind of result.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from c3sim.errors import C3simError, InputError
from c3sim.evaluation.comparison import Comparison
from c3sim.evaluation.differences import Differences
from c3sim.evaluation.explanation import Explanation
from c3sim.iterations.result import IterationResult
from c3sim.result import Result, shown
from c3sim.result.shown import Shown, Told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Again", "show_themselves"]


@dataclass(frozen=True)
class Again:
    """A way to repeat a run: *traced* with its timeline, *explained* by cause, where it can be."""

    traced: Callable[[], Result]
    explained: Callable[[], Explanation] | None = None


def show_themselves() -> None:
    """From now on what the interface returns shows itself."""
    shown.HOW.update(html=html, text=text, figure=figure_of, save=_save)


def _save(figure: Figure, path: str | PathLike[str]) -> None:
    from c3sim.kit.look import save

    save(figure, path)


def html(what: Any) -> str:
    """Tables and pictures of *what*."""
    from c3sim.output import notebook

    return notebook.page(_parts(what))


def text(what: Told) -> str:
    """Text that the command line prints of *what*."""
    import io

    from rich.console import Console

    from c3sim.kit.layout import PIPE, show

    lines = io.StringIO()
    for part in tables_of(what):
        plain = Console(file=lines, width=PIPE, color_system=None, force_jupyter=False)
        show(part, plain)
    return "\n".join(line.rstrip() for line in lines.getvalue().splitlines())


def tables_of(what: Told) -> list[Any]:
    """The tables and lines of the command line."""
    from c3sim.experiments.advice import Advices
    from c3sim.experiments.screening import Screening
    from c3sim.experiments.search import SearchResult
    from c3sim.experiments.sensitivity import Sensitivity
    from c3sim.output.tables.advice import advice_table
    from c3sim.output.tables.differences import differences_table, traces_table
    from c3sim.output.tables.screening import screening_table
    from c3sim.output.tables.search import search_table
    from c3sim.output.tables.sensitivity import sensitivity_table

    if isinstance(what, Differences):
        return [traces_table(what) if what.of_traces else differences_table(what)]
    tables: dict[type, Callable[[Any], Any]] = {
        Advices: advice_table,
        Screening: screening_table,
        SearchResult: search_table,
        Sensitivity: sensitivity_table,
    }
    return [tables[type(what)](what)]


def _parts(what: Any) -> list[str]:
    from c3sim.experiments.sweep import SweepResult
    from c3sim.output.notebook import draw_comparison, html_of, image, sweep_html
    from c3sim.output.tables.run import compare_table, explain_table

    if isinstance(what, Result):
        return _of_result(what)
    if not isinstance(what, Shown):  # a figure
        return [image(what, "picture")]
    if isinstance(what, Explanation):
        table = html_of(explain_table(what.to_dict()))
        return [table, image(figure_of(what), "causes of each task")]
    if isinstance(what, Comparison):
        picture = [image(draw_comparison(what), "wall time by strategy")] if what else []
        return [html_of(compare_table(what)), *picture]
    if isinstance(what, SweepResult):
        return sweep_html(what)
    if isinstance(what, Told):
        return [html_of(part) for part in tables_of(what)]
    return _of_study(what)


def _of_result(result: Result) -> list[str]:
    """Summary, timeline, causes."""
    from c3sim.output.notebook import html_of, image
    from c3sim.output.tables.run import explain_table, iteration_table, run_table

    if isinstance(result, IterationResult):
        parts = [html_of(iteration_table(result))]
    else:
        parts = [html_of(run_table(result))]
    with suppress(C3simError):  # a result that was read, not run: it has no timeline
        parts.append(image(figure_of(result), f"timeline of {result.workload}"))
    again: Again | None = result.again
    if again is not None and again.explained is not None and len(result.tasks) > 1:
        parts.append(html_of(explain_table(again.explained().to_dict())))
    return parts


def _of_study(result: Any) -> list[str]:
    from c3sim.experiments.study import named_kind
    from c3sim.kit.grid import rendered
    from c3sim.output.notebook import html_of, image

    kind = named_kind(result.kind)
    parts = [html_of(table) for table in rendered(kind.tables(result))]
    if kind.panels is not None:
        parts.append(image(kind.picture(result), f"picture of {result.title}"))
    return parts


def figure_of(what: Any, **options: Any) -> Figure:
    """The picture of *what*. Raises InputError where there is none."""
    from c3sim.experiments.study import StudyResult, named_kind
    from c3sim.experiments.sweep import SweepResult
    from c3sim.output.notebook import draw_comparison, draw_explanation, draw_sweep

    if isinstance(what, Result):
        from c3sim.output.pictures.timeline import plot_timeline

        known = what.trace is not None or what.again is None
        return plot_timeline(what if known else what.again.traced(), **options)
    if isinstance(what, Explanation):
        return draw_explanation(what)
    if isinstance(what, Comparison) and what:
        return draw_comparison(what)
    if isinstance(what, SweepResult):
        return draw_sweep(what, **options)
    if isinstance(what, StudyResult):
        kind = named_kind(what.kind)
        if kind.panels is not None:
            return kind.picture(what)
    raise InputError(f"{type(what).__name__} has no picture; its figures: .to_frame()")

"""The page put together: one HTML file with the table, its runs, and their commands."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from typing import Any

from c3sim.errors import InputError
from c3sim.evaluation.shares import Progress
from c3sim.kit.files import AnyPath, check_writable, write_text
from c3sim.output.page.command import Models, Resimulate, Resimulator, bases, compact_rows
from c3sim.output.page.data import page_data, picked
from c3sim.output.page.palette import css
from c3sim.output.page.timeline import compact_run
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable, is_tornado, read_results
from c3sim.result import Result

MOST = 300  # points that get a timeline
SIZE = 15_000_000  # bytes of a page; no timeline is added beyond
RUN_SCRIPTS = ("kit", "data", "timeline", "run")  # of the page of one run
SUFFIXES = (".html", ".htm")
SCRIPTS = (
    "kit",
    "data",
    "filters",
    "scales",
    "draw",
    "chart",
    "table",
    "timeline",
    "account",
    "panel",
    "main",
)
SAME = 1e-6  # relative; a wall time that differs by more comes from other code


def write_report(
    results: ResultTable | AnyPath,
    html: AnyPath,
    *,
    command: str = "",
    jobs: int | None = None,
    watcher: Progress | None = None,
) -> int:
    """Write the page of *results*, a table or the file or folder of a sweep, to *html*.

    Returns how many points have a timeline. Raises InputError: no result file, a place that cannot
    be written.
    """
    check_writable(html, SUFFIXES)
    table = results if isinstance(results, ResultTable) else read_results(results)
    if is_tornado(table):
        message = "a sensitivity study has no points to click; draw it as a picture"
        raise InputError(message, file=str(html))
    text, count = render(table, command=command, jobs=jobs, watcher=watcher)
    write_text(html, text)
    return count


def render(
    table: ResultTable,
    resimulate: Resimulate | None = None,
    *,
    command: str = "",
    most: int = MOST,
    jobs: int | None = None,
    watcher: Progress | None = None,
) -> tuple[str, int]:
    """The page as one text, and how many points have a timeline.

    - *resimulate*: runs a row again for its timeline; left out: from the models in the file
    - *command*: the command that made the results
    - *most*: points that are run again at most, in *jobs* processes
    """
    from importlib.metadata import version

    models = models_of(table)
    resimulate = resimulate or (Resimulator(models) if models else None)
    data = page_data(table)
    data |= {"version": version("c3sim"), "command": command, "members": _members(table)}
    data["bases"] = bases(table, models, data["members"]) if models else {}
    room = SIZE - len(_json(data))
    data["runs"] = runs = {}
    if resimulate:
        chosen = _chosen(table, most)
        again = compact_rows([table.row(row) for row in chosen], resimulate, jobs)
        for row, run in zip(chosen, again, strict=True):
            _mark(run, table.columns.get("wall_s"), row)
            room -= len(_json(run))
            if room < 0:
                break
            runs[str(row)] = run
            if watcher:
                watcher("timelines for the page", len(runs), len(chosen))
    return _page(data), sum(1 for run in runs.values() if "tracks" in run)


def models_of(table: ResultTable) -> Models | None:
    """Builds the models of a row from those that the file holds."""
    from c3sim.experiments.points import workload_and_node

    return partial(workload_and_node, table.study) if "models" in table.study else None


def _members(table: ResultTable) -> list[str]:
    """The scenarios in the file. A point of no scenario is a search's mean over them, not a run."""
    return list((table.study.get("models") or {}).get("workloads") or ())


def _chosen(table: ResultTable, most: int) -> list[int]:
    """The points to run again; a point that is a mean over scenarios cannot be."""
    members = _members(table)
    scenarios = table.columns["scenario"].values if members else ()
    return [row for row in picked(table, most) if not members or scenarios[row] in members]


def _mark(run: dict[str, Any], walls: Column | None, row: int) -> None:
    """Note in *run* the wall time of the results where it differs."""
    before = walls.values[row] if walls else math.nan
    if "wall" in run and abs(run["wall"] - before) > SAME * before:
        run["differs"] = before


def write_run(result: Result, html: AnyPath) -> None:
    """Write the page of one run, *result* with its timeline, to *html*. Raises InputError: a place
    that cannot be written.
    """
    from importlib.metadata import version

    check_writable(html, SUFFIXES)
    title = f"{result.workload} on {result.node}, strategy {result.strategy}"
    data = {"title": title, "version": version("c3sim"), "run": compact_run(result)}
    data |= {"columns": [], "points": [], "errors": {}}
    write_text(html, _page(data, "run.html", RUN_SCRIPTS))


def _page(
    data: Mapping[str, Any], body: str = "page.html", scripts: Sequence[str] = SCRIPTS
) -> str:
    """The shell filled in; ``</`` is escaped, so that data cannot end its element."""
    script = "\n".join(part(f"{name}.js") for name in scripts)
    values = {
        "title": escape(f"{data['title']}: c3sim"),
        "css": css() + part("page.css"),
        "body": part(body),
        "script": script,
        "data": _json(data).replace("</", "<\\/").replace("<!--", "<\\u0021--"),
    }
    # every second piece is a name, as in @@title@@; a value is never searched for names
    pieces = part("shell.html").split("@@")
    return "".join(values[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def part(name: str) -> str:
    """A file of ``parts/`` as text."""
    return files("c3sim.output.page").joinpath("parts", name).read_text(encoding="utf-8")

"""``c3sim validate``: predictions beside measurements, and a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import Json, NodeName, Settings, settings

if TYPE_CHECKING:
    from c3sim.validation.compare.verdict import Verdict

BOUND_MISSED = 1

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE|DIR]...",
        help="Record files, or folders of them. Left out: the packaged records.",
    ),
]
Report = Annotated[
    str | None, typer.Option("--report", metavar="FILE.html", help="Write a page to look at.")
]
BoundsFile = Annotated[
    str | None,
    typer.Option("--bounds", metavar="FILE", help="Bounds other than the packaged ones."),
]
Jobs = Annotated[
    int, typer.Option("--jobs", min=0, help="Processes; 0 for as many as there are cores.")
]
Worst = Annotated[
    int, typer.Option("--worst", min=0, help="Worst cases to explain, of each suite and metric.")
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    app.command("validate", short_help="Predictions beside measurements.")(validate)


def validate(
    files: Files = None,
    node: NodeName = None,
    set_: Settings = None,
    bounds: BoundsFile = None,
    report: Report = None,
    worst: Worst = 1,
    jobs: Jobs = 0,
    as_json: Json = False,
) -> None:
    """Predict every measurement record and compare; exit code 1 when a bound is missed.

    A record is one JSON line ('c3sim schema record'); suites without a bound are reported and pass.
    Lines with one id are repeats of one measurement: compared once, by their mean, with the spread
    between them beside the error.

    \b
    Examples:
      c3sim validate                                       the packaged records
      c3sim validate mine.jsonl --report mine.html
      c3sim validate --set gpu.hbm.bandwidth='3.7 TB/s'    does it notice?
    """
    from c3sim.output.files import check_writable

    if report is not None:
        check_writable(report, (".html", ".htm"))
    verdict = _judge(files or [], node, settings(set_), bounds, jobs)
    _show(verdict, report, worst, as_json)
    for score in verdict.missed:
        say(f"suite {score.suite}: {score.metric} misses its bound")
    if not verdict.passed:
        raise typer.Exit(BOUND_MISSED)


def _show(verdict: Verdict, report: str | None, worst: int, as_json: bool) -> None:
    if report is not None:
        from c3sim.validation.pages import write_report

        write_report(verdict, report)
    if as_json:
        from c3sim.validation.compare.explain import explain_worst

        emit_json(verdict.to_dict(explain_worst(verdict, worst)))
    else:
        from c3sim.validation.pages.terminal_page import print_verdict

        print_verdict(verdict, worst)


def _judge(
    files: list[str], node: str | None, changes: dict[str, str], bounds: str | None, jobs: int
) -> Verdict:
    from c3sim.cli.progress import progress
    from c3sim.validation.compare.bounds import FILE, load_bounds
    from c3sim.validation.compare.measurements import merge
    from c3sim.validation.compare.nodes import nodes_for
    from c3sim.validation.compare.record_files import load
    from c3sim.validation.compare.verdict import validate as judge

    limits = load_bounds(bounds or FILE)
    records = load(files)
    nodes = nodes_for(records, node, changes)
    done, total = 0, len(merge(records))
    with progress() as tell:

        def advance(count: int) -> None:
            nonlocal done
            done += count
            tell("records", done, total)

        result: Any = judge(records, nodes, bounds=limits, jobs=jobs, progress=advance)
    verdict: Verdict = result
    return verdict

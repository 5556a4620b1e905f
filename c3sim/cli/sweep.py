"""``c3sim sweep``: every point of a study, over processes, into a folder that a later start can go
on with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from c3sim.cli import complete
from c3sim.cli.emit import emit_json, say
from c3sim.cli.guard import INTERRUPTED
from c3sim.cli.options import Json, NodeName

if TYPE_CHECKING:
    from c3sim.sweeps.sweep import SweepResult

FAILED = 1
StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="Name of a study, or path of its YAML file.",
        autocompletion=complete.studies,
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder of the results. Left out: sweep-NAME, NAME being the study's.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", min=1, metavar="N", help="Processes. Left out: all cores, where it pays."
    ),
]
Backend = Annotated[
    Literal["loky", "dask"],
    typer.Option("--backend", help="Processes of this computer, or Dask's, on a cluster."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler, as tcp://host:8786. Left out: workers started here.",
    ),
]
Resume = Annotated[
    bool, typer.Option("--resume/--fresh", help="Go on with what the folder holds, or start over.")
]
Report = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE.html", help="Write a page to look at, interactive and offline."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    app.command("sweep", short_help="Every point of a study, resumable.")(sweep)


def sweep(
    study: StudyName,
    out: Out = None,
    node: NodeName = None,
    jobs: Jobs = None,
    backend: Backend = "loky",
    scheduler: Scheduler = None,
    resume: Resume = True,
    report: Report = None,
    as_json: Json = False,
) -> None:
    """Run every point of STUDY: scenarios, crossed with its axes, under each of its strategies.

    Results are kept as they come; when the command is interrupted or killed, the same command goes
    on from there. A point that fails is recorded with its error, and the others go on.

    \b
    Examples:
      c3sim sweep my-study.yaml                               into sweep-NAME/results.parquet
      c3sim sweep my-study.yaml --out runs/one --jobs 8
      c3sim sweep my-study.yaml --fresh --report page.html
      c3sim sweep my-study.yaml --backend dask --scheduler tcp://head:8786
    """
    from c3sim.cli.kinds import check_study
    from c3sim.cli.sweep_progress import sweep_progress
    from c3sim.output.kit.files import check_writable
    from c3sim.sweeps.executor import Workers
    from c3sim.sweeps.sweep import Interrupted
    from c3sim.sweeps.sweep import sweep as run_sweep

    if report is not None:
        check_writable(report, (".html", ".htm"))
    check_study(study)
    workers = Workers(jobs=jobs, backend=backend, scheduler=scheduler)
    try:
        with sweep_progress("points") as tell:
            swept = run_sweep(
                study, out, node=_node(node), workers=workers, fresh=not resume, watcher=tell
            )
    except Interrupted as stopped:
        say(f"c3sim: {stopped}")
        raise typer.Exit(INTERRUPTED) from None
    if report is not None:
        _write_page(swept, report, jobs)
    _show(swept, as_json)
    if swept.failed == swept.table.num_rows:
        raise typer.Exit(FAILED)


def _node(name: str | None) -> Any:
    from c3sim.input.loading import load_hardware

    return None if name is None else load_hardware(name).node


def _write_page(swept: SweepResult, path: str, jobs: int | None) -> None:
    from c3sim.cli.command_line import command_line
    from c3sim.cli.progress import progress
    from c3sim.output.page import write_report

    with progress() as tell:
        write_report(swept.folder, path, command=command_line(), jobs=jobs, tell=tell)
    say(f"wrote {path}; open it in a browser")


def _show(swept: SweepResult, as_json: bool) -> None:
    from c3sim.output.tables.sweep import sweep_summary, sweep_table

    if as_json:
        emit_json({**sweep_summary(swept), "rows": swept.table.to_pylist()})
        return
    from c3sim.output.kit.layout import show

    show(sweep_table(swept))

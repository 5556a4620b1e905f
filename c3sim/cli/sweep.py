"""``c3sim sweep``: every point of a study, over processes, into a folder of results."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from typer import Option

from c3sim.cli.consent import Yes, agreeing
from c3sim.cli.emit import emit_json, say
from c3sim.cli.guard import FAILED, INTERRUPTED
from c3sim.cli.options import Jobs, Json, NodeName, Report, StudyName
from c3sim.cli.pages import PAGES, write_page


def sweep(
    study: StudyName,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR",
            help="Folder of the results. Left out: sweep-NAME, NAME being the study's.",
        ),
    ] = None,
    node: NodeName = None,
    jobs: Jobs = None,
    backend: Annotated[
        Literal["loky", "dask"], Option(help="Processes of this computer, or Dask's, on a cluster.")
    ] = "loky",
    scheduler: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="Dask scheduler, as tcp://host:8786. Left out: workers started here.",
        ),
    ] = None,
    resume: Annotated[
        bool, Option("--resume/--fresh", help="Go on with what the folder holds, or start over.")
    ] = True,
    strict: Annotated[
        bool, Option("--strict", help="Exit code 1 if any point failed, not only if all did.")
    ] = False,
    report: Report = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run every point of STUDY: scenarios, crossed with its axes, under each of its strategies.

    Results are kept as they come; when the command is interrupted or killed, the same command goes
    on from there. A point that fails is recorded with its error, and the others go on. A damaged
    part of the results is set aside, and its points are run again.

    \b
    Exit code:
      0  every point was run; failed ones have their error in the column error
      1  all points failed, or with --strict any
      2  bad input
      130  interrupted

    \b
    Examples:
      c3sim sweep my-study.yaml              into sweep-NAME/results.parquet
      c3sim sweep my-study.yaml --out runs/one --jobs 8
      c3sim sweep my-study.yaml --fresh --report page.html
      c3sim sweep my-study.yaml --backend dask --scheduler tcp://head:8786
    """
    from c3sim.cli.progress import sweep_progress
    from c3sim.experiments.jobs import Workers
    from c3sim.experiments.sweep import Interrupted
    from c3sim.experiments.sweep import sweep as run_sweep
    from c3sim.kit.files import check_writable
    from c3sim.kit.layout import show
    from c3sim.output.tables.sweep import sweep_summary, sweep_table
    from c3sim.spec.reading.kinds import check_study
    from c3sim.spec.reading.loading import load_node

    if report is not None:
        check_writable(report, PAGES)
    check_study(study)
    workers = Workers(jobs=jobs, backend=backend, scheduler=scheduler, agree=agreeing(yes))
    try:
        with sweep_progress("points") as watcher:
            result = run_sweep(
                study,
                out,
                node=None if node is None else load_node(node),
                workers=workers,
                fresh=not resume,
                watcher=watcher,
            )
    except Interrupted as interrupted:
        say(f"c3sim: {interrupted}")
        raise typer.Exit(INTERRUPTED) from None
    for path in result.set_aside:
        say(f"{path}: was damaged and is set aside; its points were run again")
    if result.failed:
        of = f"{result.failed} of {result.table.num_rows} points failed"
        say(f"{result.folder}: {of}; column error of results.parquet says why")
    if report is not None:
        write_page(result.folder, report, jobs)
    if as_json:
        emit_json({**sweep_summary(result), "rows": result.table.to_pylist()})
    else:
        show(sweep_table(result))
    if result.failed and (strict or result.failed == result.table.num_rows):
        raise typer.Exit(FAILED)

"""The commands put together."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from c3sim.cli import (
    advise,
    calibrate,
    compare,
    diff,
    explain,
    import_logs,
    lab,
    listing,
    new,
    optimise,
    plot,
    probe,
    probe_run,
    run,
    schema,
    sensitivity,
    show,
    study,
    sweep,
    upgrade,
    validate,
)
from c3sim.cli.guard import LOOK, Guarded

app = typer.Typer(cls=Guarded, **LOOK)


def _version(wanted: bool) -> None:
    if wanted:
        from c3sim import __version__

        typer.echo(f"c3sim {__version__}")
        raise typer.Exit


@app.callback()
def c3sim(
    version: Annotated[
        bool,
        Option("--version", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Simulate a GEMM and a collective that run at the same time on the GPUs of a node, and why.

    \b
    Examples:
      c3sim study conccl --out results                 the main study: tables and a picture
      c3sim compare gemm-beside-all-gather             one pair under every strategy
      c3sim explain gemm-beside-all-gather             where the time went
      c3sim list                                       what can be named

    WORKLOAD, NODE and STUDY are names that 'c3sim list' shows, or paths of YAML files.
    Bad input ends with one line on standard error per mistake, and exit code 2.
    """


app.command("list", short_help="What can be named.")(listing.list_names)
app.command("show", short_help="Every value behind a name, with its source.")(show.show)
app.command("new", short_help="A node or GPU file of your own, to be filled in.")(new.new)
app.command("run", short_help="One workload under one strategy.")(run.run)
app.command("compare", short_help="The strategies side by side.")(compare.compare)
app.command("explain", short_help="Where the time went.")(explain.explain)
app.command("advise", short_help="Which knobs pay: channels, engines, queues, prefetch.")(
    advise.advise
)
app.command("diff", short_help="Two runs, traces or result files, before and after.")(diff.diff)
app.command("lab", short_help="A page in the browser that follows every slider.")(lab.lab)
app.command("study", short_help="A study beside published figures.")(study.study)
app.command("schema", short_help="JSON Schema of a kind of file.")(schema.schema)
app.command("sweep", short_help="Every point of a study, resumable.")(sweep.sweep)
app.command("sensitivity", short_help="Which parameter moves the result most.")(
    sensitivity.sensitivity
)
app.command("optimise", short_help="The best designs, and the front between objectives.")(
    optimise.optimise
)
app.command("plot", short_help="A result file as a picture.")(plot.plot)
app.command("validate", short_help="Predictions beside measurements.")(validate.validate)
app.command("calibrate", short_help="A node's free parameters, fitted to isolated runs.")(
    calibrate.calibrate
)
app.command("import")(import_logs.import_logs)
probe.probe.command("run", short_help="Run a plan, or some of its steps.")(probe_run.run)
app.add_typer(
    probe.probe, name="probe", short_help="Measure a machine: build and run the native harness."
)
app.command("upgrade", short_help="Old hardware files, rewritten.")(upgrade.upgrade)

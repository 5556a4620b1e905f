"""The commands put together: the module of each is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand

from c3sim.cli.guard import LOOK, Guarded

#: Command -> function or group in c3sim/cli that does it, and its line in ``c3sim --help``.
COMMANDS = {
    "list": ("listing.list_names", "What can be named."),
    "show": ("show.show", "Every value behind a name, with its source."),
    "new": ("new.new", "A node or GPU file of your own, to be filled in."),
    "run": ("run.run", "One workload under one strategy."),
    "compare": ("compare.compare", "The strategies side by side."),
    "explain": ("explain.explain", "Where the time went."),
    "advise": ("advise.advise", "Which knobs pay: channels, engines, queues, prefetch."),
    "diff": ("diff.diff", "Two runs, traces or result files, before and after."),
    "lab": ("lab.lab", "A page in the browser that follows every slider."),
    "study": ("study.study", "A study beside published figures."),
    "schema": ("schema.schema", "JSON Schema of a kind of file."),
    "sweep": ("sweep.sweep", "Every point of a study, resumable."),
    "sensitivity": ("sensitivity.sensitivity", "Which parameter moves the result most."),
    "optimise": ("optimise.optimise", "The best designs, and the front between objectives."),
    "plot": ("plot.plot", "A result file as a picture."),
    "validate": ("validate.validate", "Predictions beside measurements."),
    "calibrate": ("calibrate.calibrate", "A node's free parameters, fitted to isolated runs."),
    "import": ("import_logs.import_logs", "Logs as measurement records, a trace as a workload."),
    "upgrade": ("upgrade.upgrade", "Old hardware files, rewritten."),
    "probe": ("probe_run.probe", "Measure a machine: build and run the native harness."),
}


def command(name: str) -> Any:
    """The command or group *name* of ``COMMANDS``, imported."""
    place, short_help = COMMANDS[name]
    module, _, function = place.partition(".")
    found = getattr(import_module(f"c3sim.cli.{module}"), function)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(**LOOK | {"no_args_is_help": False}, add_completion=False)
        alone.command(name, short_help=short_help)(found)
        found = alone
    made = typer.main.get_command(found)
    made.name, made.short_help = name, short_help
    return made


class Commands(Guarded):
    """The group of all commands, each of which is a name and a line until it is called."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, (_, short_help) in COMMANDS.items():
            self.commands[name] = TyperCommand(name, short_help=short_help)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else command(name), rest


app = typer.Typer(cls=Commands, **LOOK)


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
      c3sim study conccl --out results        the main study: tables and a picture
      c3sim compare gemm-beside-all-gather    one pair under every strategy
      c3sim explain gemm-beside-all-gather    where the time went
      c3sim list                              what can be named

    WORKLOAD, NODE and STUDY are names that 'c3sim list' shows, or paths of YAML files.
    Bad input ends with one line on standard error per mistake, and exit code 2.
    """

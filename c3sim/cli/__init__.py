"""The command line: ``c3sim list | show | run | compare | explain | study | schema``.

    app         the commands put together
    guard       errors, interrupts and broken pipes: one line, an exit code, no traceback
    options     arguments and options that several commands share
    complete    names for shell completion
    emit        JSON to standard output, everything else to standard error
    progress    bars for long work
    listing, show, run, compare, explain, study, schema     a command each
    validate, calibrate, import_logs, probe                 the same, with the validation package
    probe_progress                                          what goes on while a plan runs
    kinds, spec_values                                      what show needs

This package only reads arguments and prints. Everything but typer is imported inside a command, so that ``--help``
answers at once.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Entry point of the ``c3sim`` command."""
    from c3sim.cli.app import app

    app(prog_name="c3sim")

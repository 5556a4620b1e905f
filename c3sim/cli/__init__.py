"""The command line: a module for each command reads arguments, calls the package, and prints.

It must not compute results. Everything but typer is imported inside a command: ``--help`` is fast.

    app         the commands put together
    guard       errors, interrupts and broken pipes: one line, an exit code, no traceback
    options     arguments and options that several commands share
    complete    names for shell completion
    kinds       whether a name is a node, workload, study, model or strategy
    emit        JSON to standard output, everything else to standard error
    progress    bars on standard error
    pages       the interactive page, of sweep and plot
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Entry point of the ``c3sim`` command."""
    try:
        from c3sim.cli.app import app

        app(prog_name="c3sim")
    except KeyboardInterrupt:  # before the guard of commands is there
        import sys

        print("c3sim: interrupted; nothing was done", file=sys.stderr)
        sys.exit(130)

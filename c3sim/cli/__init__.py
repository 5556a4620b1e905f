"""The command line: a module for each command reads arguments, calls the package, and prints.

It must not compute results. The module of a command is imported when it is called, and the package
inside its function: with imports at its top, ``c3sim COMMAND --help`` takes five times as long.

    app         the commands put together
    guard       errors, interrupts and broken pipes: one line, an exit code, no traceback
    options     arguments and options that several commands share
    complete    names for shell completion
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

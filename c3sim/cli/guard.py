"""How a command ends: an error of the input is its one line and exit code 2, an interrupt one line
and 130.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperGroup

from c3sim.errors import C3simError

BAD_INPUT, INTERRUPTED, FAILED = 2, 130, 1


class Guarded(TyperGroup):
    """The group of all commands; runs one and turns what it raises into text and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a reader that has gone shows here, not at exit
            return result
        except C3simError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            typer.echo("c3sim: interrupted; nothing more was written", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _silence()
            raise typer.Exit(FAILED) from None
        except OSError as error:  # a full disk behind standard output
            _silence()
            where = f"{error.filename}: " if error.filename else ""
            typer.echo(f"c3sim: {where}{(error.strerror or str(error)).lower()}", err=True)
            raise typer.Exit(FAILED) from None


def _silence() -> None:
    """Standard output takes no more: nothing is written there, not even at exit."""
    with suppress(OSError, ValueError):  # no file behind it: nothing to silence
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Ends of commands: bad input is one line and exit code 2, an interrupt one line and 130."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from c3sim.errors import C3simError, reason_of, short

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
WORDS = "c3sim.words"  # name of what was written behind ``c3sim``
# of a group of commands: plain text, no traceback of typer's
LOOK: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 110},
}


class Guarded(TyperGroup):
    """The group of all commands; turns what a command raises into text and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[WORDS] = list(args)
        with _told():  # help is printed here
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        from c3sim.experiments.kept import resuming
        from c3sim.kit.progress import commanded

        words = ctx.meta.get(WORDS, [])
        lasts = words[:1] == ["lab"]  # as long as somebody looks at it; nothing to go on with
        with _told():
            with (
                nullcontext() if lasts else resuming(words),
                commanded(lambda: f"{ctx.invoked_subcommand}: reading and working"),
            ):
                result = super().invoke(ctx)
            sys.stdout.flush()  # a closed pipe shows here, not at exit
            return result


@contextmanager
def _told() -> Iterator[None]:
    """Turn what is raised inside into a line on standard error and an exit code."""
    try:
        yield
    except C3simError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt as interrupt:
        typer.echo(str(interrupt) or "c3sim: interrupted; nothing more was written", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _silence()
        raise typer.Exit(FAILED) from None
    except OSError as error:  # a full disk behind standard output
        _silence()
        where = f"{short(str(error.filename), 120)}: " if error.filename else ""
        typer.echo(f"c3sim: {where}{reason_of(error)}", err=True)
        raise typer.Exit(FAILED) from None


def _silence() -> None:
    """Redirect standard output, so that nothing is written to it at exit either."""
    with suppress(OSError, ValueError):  # there is no file behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

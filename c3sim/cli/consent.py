"""Work of more than a minute or a GiB is run only where somebody agrees."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from c3sim.cli.guard import BAD_INPUT
from c3sim.errors import InputError
from c3sim.kit.progress import away

if TYPE_CHECKING:
    from c3sim.evaluation.effort import Agree, Effort
    from c3sim.spec.hardware import Node
    from c3sim.spec.workload import Workload

MOST_SECONDS, MOST_BYTES = 60.0, 2.0**30

Yes = Annotated[
    bool, Option("--yes", help="Run it although it takes more than a minute or a GiB of memory.")
]


def agreeing(yes: bool) -> Agree:
    """Asks about an effort; raises InputError, or ends the command, where the answer is no. What is
    no more than it was told to go on with is not asked again.
    """
    seconds, size = MOST_SECONDS, MOST_BYTES

    def agree(effort: Effort) -> None:
        nonlocal seconds, size
        if yes or (effort.seconds <= seconds and effort.bytes <= size):
            return
        text = f"takes about {_time(effort.seconds)}"
        if effort.bytes:
            text += f" and {effort.bytes / 2**30:.2g} GiB of memory"
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise InputError(f"this {text}; add --yes to run it all the same", "--yes")
        with away():
            if not typer.confirm(f"This {text}. Go on?", err=True):
                raise typer.Exit(BAD_INPUT)
        seconds, size = max(seconds, effort.seconds), max(size, effort.bytes)

    return agree


def agree_to_run(
    agree: Agree, workload: Workload, node: Node, runs: float = 1, jobs: int = 1
) -> None:
    """Asks about so many *runs* of *workload* on *node*, by *jobs* processes."""
    from c3sim.iterations.effort import effort_of

    agree(effort_of(workload, node).times(runs, jobs))


def agree_to_iteration(
    agree: Agree, name: str, node: str | None, settings: Mapping[str, object], runs: int = 1
) -> None:
    """Asks about so many *runs* of the iteration *name*, before more than a layer of it is made."""
    from c3sim.iterations.effort import effort_of_description
    from c3sim.spec.reading.loading import load_node, open_iteration

    loaded = open_iteration(name)
    on = load_node(node or loaded.iteration.node)
    agree(effort_of_description(loaded, on, settings).times(runs))


def _time(seconds: float) -> str:
    for name, size in (("years", 365 * 86400.0), ("days", 86400.0), ("hours", 3600.0)):
        if seconds > size:
            return f"{seconds / size:.2g} {name}"
    return f"{seconds / 60:.2g} min"

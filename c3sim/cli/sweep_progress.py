"""The bar of long work over many points: how many, how fast, how long still; on standard error, where somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text

__all__ = ["sweep_progress"]


@contextmanager
def sweep_progress(what: str) -> Iterator[Callable[[int, int, int], None]]:
    """Within it, call the value with how many are done, of how many, and how many of them failed."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Points per second, of late."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.1f}/s")

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn(),
        TextColumn("{task.fields[failed]}"),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        bar = bars.add_task(what, total=None, failed="")

        def tell(done: int, total: int, failed: int = 0) -> None:
            if bars.tasks[0].total is None:
                bars.reset(bar, total=total, completed=done)  # what was found there is no part of the rate
            bars.update(bar, completed=done, failed=f"{failed} failed" if failed else "")

        yield tell

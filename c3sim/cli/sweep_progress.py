"""A bar on standard error for work over many points: how many, how fast, how long still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text

TRUSTED = 1.0  # seconds from the start of a stage until its rate is shown


class Stages:
    """Adds up the stages of a study, each of which counts its points from none done."""

    def __init__(self) -> None:
        self.before = [0, 0, 0]  # done, total, failed of earlier stages
        self.now = [0, 0, 0]

    def at(self, done: int, total: int, failed: int) -> tuple[int, int, int, bool]:
        """Done, total and failed of all stages so far, and whether a stage begins."""
        begins = self.now[1] == 0 or done < self.now[0]
        if begins:
            self.before = [a + b for a, b in zip(self.before, self.now, strict=True)]
        self.now = [done, total, failed]
        sums = [a + b for a, b in zip(self.before, self.now, strict=True)]
        return sums[0], sums[1], sums[2], begins


@contextmanager
def sweep_progress(what: str) -> Iterator[Callable[[int, int, int], None]]:
    """Within it, the yielded function takes how many points are done, of how many, and failed."""
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

    stages, began = Stages(), [0.0]

    def early(task: Task) -> bool:
        return task.get_time() - began[0] < TRUSTED

    class Rate(ProgressColumn):
        """Recent points per second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None or early(task) else f"{speed:.1f}/s")

    class Remaining(TimeRemainingColumn):
        """Time left at that rate."""

        def render(self, task: Task) -> Text:
            return (
                Text("-:--:--", style="progress.remaining") if early(task) else super().render(task)
            )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        Remaining(),
        TextColumn("{task.fields[failed]}"),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        bar = bars.add_task(what, total=None, failed="")

        def tell(done: int, total: int, failed: int = 0) -> None:
            first = bars.tasks[0].total is None
            done, total, failed, begins = stages.at(done, total, failed)
            if begins:
                began[0] = bars.get_time()
            if first:
                # points of an earlier start are no part of the rate
                bars.reset(bar, total=total, completed=done)
            bars.update(
                bar, total=total, completed=done, failed=f"{failed} failed" if failed else ""
            )

        yield tell

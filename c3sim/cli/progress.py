"""Progress on standard error: a bar on a terminal; elsewhere nothing, or lines for a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from c3sim.cli.emit import say

if TYPE_CHECKING:
    from rich.progress import Progress, Task
    from rich.text import Text

    from c3sim.validation.probing.plan import Step
    from c3sim.validation.probing.step import Outcome

TRUSTED = 1.0  # seconds from the start of a stage until its rate is shown


def _bars(*columns: Any, **options: Any) -> Progress:
    """Bars that vanish when they are done; none where standard error is no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    hidden = not console.is_terminal
    return Progress(*columns, console=console, transient=True, disable=hidden, **options)


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Within it, the yielded function takes what is done, how many are done, of how many."""
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with _bars(*columns) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)

        yield tell


class Stages:
    """Adds up the stages of a study, each of which counts its points from none done."""

    def __init__(self) -> None:
        self.before = [0, 0, 0]  # done, total, failed of earlier stages
        self.now = [0, 0, 0]

    def at(self, *now: int) -> tuple[list[int], bool]:
        """Done, total and failed of all stages so far, and whether a stage begins; *now*: of it."""
        begins = self.now[1] == 0 or now[0] < self.now[0]
        if begins:
            self.before = [a + b for a, b in zip(self.before, self.now, strict=True)]
        self.now = list(now)
        return [a + b for a, b in zip(self.before, now, strict=True)], begins


@contextmanager
def sweep_progress(what: str) -> Iterator[Callable[[int, int, int], None]]:
    """Within it, the yielded function takes how many points are done, of how many, and failed."""
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TimeRemainingColumn
    from rich.text import Text

    stages, began = Stages(), 0.0

    def early(task: Task) -> bool:
        return task.get_time() - began < TRUSTED

    class Rate(ProgressColumn):
        """Recent points per second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None or early(task) else f"{speed:.1f}/s")

    class Remaining(TimeRemainingColumn):
        """Time left at that rate."""

        def render(self, task: Task) -> Text:
            unknown = Text("-:--:--", style="progress.remaining")
            return unknown if early(task) else super().render(task)

    counts = (BarColumn(), MofNCompleteColumn(), Rate(), Remaining())
    with _bars("{task.description}", *counts, "{task.fields[failed]}") as bars:
        bar = bars.add_task(what, total=None, failed="")

        def tell(done: int, total: int, failed: int = 0) -> None:
            nonlocal began
            (done, total, failed), begins = stages.at(done, total, failed)
            if begins:
                began = bars.get_time()
            if bars.tasks[0].total is None:
                # points of an earlier start are no part of the rate
                bars.reset(bar, total=total, completed=done)
            note = f"{failed} failed" if failed else ""
            bars.update(bar, total=total, completed=done, failed=note)

        yield tell


class StepLines:
    """A line when a step of a plan begins and when it has ended; rejected lines are explained."""

    def begin(self, number: int, total: int, step: Step) -> None:
        say(f"step {number} of {total}, {step.name}: {step.what or ' '.join(step.words)}")

    def tell(self, records: int, last: str) -> None:
        pass

    def end(self, number: int, total: int, outcome: Outcome) -> None:
        for line in _ended(outcome):
            say(line)


class StepBar(StepLines):
    """A bar over the steps, with the number of records and the probe's last line."""

    def __init__(self, bars: Progress, total: int) -> None:
        self.bars = bars
        self.task = bars.add_task("", total=total, last="")
        self.name = ""

    def begin(self, number: int, total: int, step: Step) -> None:
        self.name = step.name
        self.bars.update(self.task, description=step.name, completed=number - 1, last="")

    def tell(self, records: int, last: str) -> None:
        self.bars.update(self.task, description=f"{self.name}, {records} records", last=last)

    def end(self, number: int, total: int, outcome: Outcome) -> None:
        self.bars.update(self.task, completed=number)
        for line in _ended(outcome):
            self.bars.console.print(line, markup=False, highlight=False, emoji=False)


def _ended(outcome: Outcome) -> list[str]:
    """Remarks about lines that are no records, then one line about the step."""
    how = f"{outcome.result}: {outcome.message}" if outcome.message else outcome.result
    took = f", {outcome.records} records, {outcome.seconds:.1f} s" if outcome.seconds else ""
    return [*outcome.remarks, f"{outcome.step.name}: {how}{took}"]


@contextmanager
def step_progress(total: int) -> Iterator[StepLines]:
    """Within it, the yielded object shows the steps of a plan."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    name = TextColumn("{task.description}", markup=False)
    one_line = Column(no_wrap=True, ratio=1, overflow="ellipsis")
    last = TextColumn("{task.fields[last]}", style="dim", markup=False, table_column=one_line)
    counts = (BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn())
    with _bars(name, *counts, last, expand=True) as bars:
        yield StepLines() if bars.disable else StepBar(bars, total)

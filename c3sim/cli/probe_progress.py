"""Progress of a plan on standard error: a bar on a terminal, a line for each step elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from c3sim.cli.emit import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from c3sim.validation.probing.plan import Step
    from c3sim.validation.probing.step import Outcome


class Lines:
    """A line when a step begins, and one when it has ended; rejected lines are explained."""

    def begin(self, number: int, total: int, step: Step) -> None:
        say(f"step {number} of {total}, {step.name}: {step.what or ' '.join(step.words)}")

    def tell(self, records: int, last: str) -> None:
        pass

    def end(self, number: int, total: int, outcome: Outcome) -> None:
        for line in ended(outcome):
            say(line)


class Bar(Lines):
    """A bar over the steps, with the number of records and the probe's last line."""

    def __init__(self, bars: Progress, total: int) -> None:
        self.bars = bars
        self.task: TaskID = bars.add_task("", total=total, last="")
        self.name = ""

    def begin(self, number: int, total: int, step: Step) -> None:
        self.name = step.name
        self.bars.update(self.task, description=step.name, completed=number - 1, last="")

    def tell(self, records: int, last: str) -> None:
        self.bars.update(self.task, description=f"{self.name}, {records} records", last=last)

    def end(self, number: int, total: int, outcome: Outcome) -> None:
        from rich.text import Text

        self.bars.update(self.task, completed=number)
        for line in ended(outcome):
            self.bars.console.print(Text(line))


def ended(outcome: Outcome) -> list[str]:
    """Remarks about lines that are no records, then one line about the step."""
    how = f"{outcome.result}: {outcome.message}" if outcome.message else outcome.result
    took = f", {outcome.records} records, {outcome.seconds:.1f} s" if outcome.seconds else ""
    return [*outcome.remarks, f"{outcome.step.name}: {how}{took}"]


@contextmanager
def watching(total: int) -> Iterator[Lines]:
    """Within it, the yielded object shows the steps."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.table import Column
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines()
        return

    class Last(ProgressColumn):
        """The last line of the probe, unchanged."""

        def render(self, task: object) -> Text:
            return Text(
                getattr(task, "fields", {}).get("last", ""),
                style="dim",
                no_wrap=True,
                overflow="ellipsis",
            )

    last = Last(table_column=Column(no_wrap=True, ratio=1))
    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn(), last)
    with Progress(*columns, console=console, transient=True, expand=True) as bars:
        yield Bar(bars, total)

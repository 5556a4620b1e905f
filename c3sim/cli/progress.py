"""Progress on standard error: a bar on a terminal; elsewhere nothing, or lines for a plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from c3sim.cli.emit import say
from c3sim.kit.progress import bars as make_bars
from c3sim.kit.progress import progress as progress
from c3sim.kit.progress import sweep_progress as sweep_progress
from c3sim.kit.progress import working as working

if TYPE_CHECKING:
    from rich.progress import Progress

    from c3sim.validation.probing.plan import Step
    from c3sim.validation.probing.step import Outcome


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
    with make_bars(name, *counts, last, expand=True) as bars:
        yield StepLines() if bars.disable else StepBar(bars, total)

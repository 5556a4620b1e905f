"""Bars on standard error while long work goes on: on a terminal and in a notebook, nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threading import Timer

    from rich.progress import Progress, Task
    from rich.text import Text

TRUSTED = 1.0  # seconds from the start of a stage until its rate is shown


def bars(*columns: Any, **options: Any) -> Progress:
    """Bars that vanish when they are done; none where nobody looks. The line of the whole command
    is away for as long.
    """
    from rich.progress import Progress

    class Instead(Progress):
        def start(self) -> None:
            for line in _command:
                line.stop()
            super().start()

        def stop(self) -> None:
            super().stop()
            for line in _command:
                line.start()

    return Instead(*columns, transient=True, **_seen(), **options)


def _seen() -> dict[str, Any]:
    from rich.console import Console

    console = Console(stderr=True)
    return {"console": console, "disable": not (console.is_terminal or console.is_jupyter)}


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Within it, the yielded function takes what is done, how many are done, of how many. Until it
    is first called the line of the command stays.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = bars(*columns)
    tasks: dict[str, TaskID] = {}

    def tell(what: str, done: int, total: int) -> None:
        if not tasks:
            shown.start()
        if what not in tasks:
            tasks[what] = shown.add_task(what, total=total)
        shown.update(tasks[what], completed=done)

    try:
        yield tell
    finally:
        if tasks:
            shown.stop()


class Working:
    """A line that says, from AFTER seconds on, *what* goes on and for how long."""

    AFTER = 1.0

    def __init__(self, what: str | Callable[[], str]) -> None:
        self.what = what
        self._timer: Timer | None = None
        self._shown: list[Progress] = []

    def start(self) -> None:
        from threading import Timer

        self.stop()
        self._timer = Timer(self.AFTER, self._show)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        while self._shown:
            self._shown.pop().stop()

    def aside(self, question: Callable[[Any], None]) -> Callable[[Any], None]:
        """*question*, which may be asked on the terminal: the line is away for as long."""

        def asked(of: Any) -> None:
            self.stop()
            question(of)
            self.start()

        return asked

    def _show(self) -> None:
        bar = _spinner()
        bar.add_task(self.what if isinstance(self.what, str) else self.what(), total=None)
        bar.start()
        self._shown.append(bar)


def _spinner() -> Progress:
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), "{task.description}", TimeElapsedColumn())
    return Progress(*columns, transient=True, redirect_stdout=False, **_seen())


_command: list[Working] = []  # the line of the command that runs


class _Printed:
    """Standard output *to*; before each write the *line* of the command goes."""

    def __init__(self, to: Any, line: Working) -> None:
        self.to, self.line = to, line

    def write(self, text: str) -> int:
        self.line.stop()
        return int(self.to.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.to, name)


@contextmanager
def commanded(what: Callable[[], str]) -> Iterator[None]:
    """Within it a line says *what* goes on whenever nothing else is shown or printed for long."""
    if not sys.stderr.isatty():
        yield
        return
    line, out = Working(what), sys.stdout
    _command.append(line)
    sys.stdout = _Printed(out, line)
    line.start()
    try:
        yield
    finally:
        _command.remove(line)
        line.stop()
        sys.stdout = out


@contextmanager
def away() -> Iterator[None]:
    """Within it the line of the command is not shown: something else is, or a question is asked."""
    for line in _command:
        line.stop()
    try:
        yield
    finally:
        for line in _command:
            line.start()


@contextmanager
def working(what: str) -> Iterator[Working]:
    """Within it a line says, if it takes long, *what* goes on. For work whose end is not known
    beforehand; nothing is printed within it.
    """
    line = Working(what)
    with away():
        line.start()
        try:
            yield line
        finally:
            line.stop()


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
    with bars("{task.description}", *counts, "{task.fields[failed]}") as shown:
        bar = shown.add_task(what, total=None, failed="")

        def tell(done: int, total: int, failed: int = 0) -> None:
            nonlocal began
            (done, total, failed), begins = stages.at(done, total, failed)
            if begins:
                began = shown.get_time()
            if shown.tasks[0].total is None:
                # points of an earlier start are no part of the rate
                shown.reset(bar, total=total, completed=done)
            note = f"{failed} failed" if failed else ""
            shown.update(bar, total=total, completed=done, failed=note)

        yield tell


def in_notebook() -> bool:
    """True if a notebook's kernel runs this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def heard(given: Any, bar: Callable[[], AbstractContextManager[Any]]) -> Iterator[Any]:
    """The caller's watcher; in a notebook, where there is none, the *bar*'s."""
    if given is not None or not in_notebook():
        yield given
    else:
        with bar() as watcher:
            yield watcher

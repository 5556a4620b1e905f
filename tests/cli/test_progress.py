"""The bar of long work: stages add up, so that it never runs past its total."""

import sys

from c3sim.kit import progress as progress_module
from c3sim.kit.progress import Stages, Working, commanded, progress, working


def test_a_further_stage_raises_the_total():
    """175 runs one at a time, one of them failed, then 640 of Sobol's scheme."""
    stages = Stages()
    assert stages.at(0, 175, 0) == ([0, 175, 0], True)
    assert stages.at(175, 175, 1) == ([175, 175, 1], False)
    assert stages.at(0, 640, 0) == ([175, 815, 1], True)
    assert stages.at(520, 640, 2) == ([695, 815, 3], False)


def test_points_that_were_there_are_one_stage():
    stages = Stages()
    assert stages.at(6, 12, 0) == ([6, 12, 0], True) and stages.at(8, 12, 0) == ([8, 12, 0], False)


class Bar:
    """Notes in *events* what a bar is told."""

    def __init__(self, events):
        self.events = events

    def add_task(self, what, total):
        self.events.append(what)

    def update(self, task, completed):
        self.events.append(completed)

    def start(self):
        self.events.append("shown")

    def stop(self):
        self.events.append("away")


def test_long_work_without_stages_says_what_goes_on(monkeypatch):
    """Nothing before AFTER seconds; then a line, away while a question is asked and at the end."""
    events = []
    monkeypatch.setattr(progress_module, "_spinner", lambda: Bar(events))
    with working("simulating"):
        pass
    assert events == []
    monkeypatch.setattr(Working, "AFTER", 0.0)
    with working("simulating") as line:
        line._timer.join()
        line.aside(lambda _: events.append("asked"))(None)
        line._timer.join()
    assert events == ["simulating", "shown", "away", "asked", "simulating", "shown", "away"]


def test_bars_begin_with_what_is_told_first(monkeypatch):
    """Before that the line of the command is all there is: an empty bar would hide it."""
    events = []
    monkeypatch.setattr(progress_module, "bars", lambda *_: Bar(events))
    with progress():
        pass
    with progress() as tell:
        assert events == []
        tell("causes", 1, 10)
        tell("causes", 2, 10)
    assert events == ["shown", "causes", 1, 2, "away"]


def test_a_command_says_that_it_works_unless_something_else_is_shown_or_printed(
    monkeypatch, capsys
):
    """Its line goes when a stage has one of its own, comes back behind it, and goes for output."""
    events = []
    monkeypatch.setattr(progress_module, "_spinner", lambda: Bar(events))
    monkeypatch.setattr(Working, "AFTER", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with commanded(lambda: "show"):
        line = progress_module._command[0]
        line._timer.join()
        with working("simulating") as stage:
            stage._timer.join()
        line._timer.join()
        print("a result")
        events.append("printed")
    shown = ["show", "shown", "away", "simulating", "shown", "away", "show", "shown", "away"]
    assert events == [*shown, "printed"] and capsys.readouterr().out == "a result\n"
    assert not progress_module._command

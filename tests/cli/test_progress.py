"""The bar of long work: stages add up, so that it never runs past its total."""

from c3sim.kit import progress as progress_module
from c3sim.kit.progress import Stages, Working, working


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


def test_long_work_without_stages_says_what_goes_on(monkeypatch):
    """Nothing before AFTER seconds; then a line, away while a question is asked and at the end."""
    events = []

    class Bar:
        def add_task(self, what, total):
            events.append(what)

        def start(self):
            events.append("shown")

        def stop(self):
            events.append("away")

    monkeypatch.setattr(progress_module, "bars", lambda *_: Bar())
    with working("simulating"):
        pass
    assert events == []
    monkeypatch.setattr(Working, "AFTER", 0.0)
    with working("simulating") as line:
        line._timer.join()
        line.aside(lambda _: events.append("asked"))(None)
        line._timer.join()
    assert events == ["simulating", "shown", "away", "asked", "simulating", "shown", "away"]

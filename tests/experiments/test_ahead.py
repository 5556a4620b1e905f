"""Work that nobody could count is asked about once, when some seconds of it are done."""

from __future__ import annotations

import json

import pytest
import yaml
from places import ROOT

import c3sim
from c3sim.evaluation.effort import Effort
from c3sim.experiments import ahead
from c3sim.experiments.ahead import Ahead, AheadOfEach

STUDIES = ROOT / "workloads" / "studies"


class Work:
    """A watcher of ten items, told at times of a clock that stands still otherwise."""

    def __init__(self) -> None:
        self.now, self.asked, self.told = 0.0, [], []
        self.watcher = Ahead(
            self.asked.append, lambda *now: self.told.append(now), lambda: self.now
        )

    def at(self, now: float, done: int) -> None:
        self.now = now
        self.watcher(done, 10)


def test_the_whole_is_told_at_the_pace_of_the_first_seconds_and_once():
    work = Work()
    for now, done in ((0, 0), (3, 1), (6, 2), (30, 9)):
        work.at(now, done)
    assert work.asked == [Effort(30.0, 0.0)]
    assert work.told == [(0, 10), (1, 10), (2, 10), (9, 10)]


def test_each_piece_of_work_has_a_pace_of_its_own():
    """Three items in 30 s each are behind; the piece that follows takes 2 s an item, 20 in all."""
    work = Work()
    watcher = AheadOfEach(work.asked.append, lambda *each: work.told.append(each), lambda: work.now)
    for now, what, done in ((0, "first", 0), (90, "first", 3), (90, "next", 0), (96, "next", 3)):
        work.now = now
        watcher(what, done, 10)
    assert work.asked == [Effort(300.0, 0.0), Effort(20.0, 0.0)]
    assert work.told[1:3] == [("first", 3, 10), ("next", 0, 10)]


def test_what_an_earlier_start_did_is_neither_pace_nor_ahead():
    work = Work()
    for now, done in ((0, 5), (9, 5), (10, 6)):
        work.at(now, done)
    assert work.asked == [Effort(50.0, 0.0)]


def test_work_that_has_ended_by_then_is_not_asked_about():
    work = Work()
    work.at(0, 0)
    work.at(4.9, 10)
    assert work.asked == []


def test_a_long_table_of_sub_layers_is_not_run_unasked(tmp_path, monkeypatch):
    """Its cases are no workloads: 2,400 of a second each."""
    study = yaml.safe_load((STUDIES / "t3.yaml").read_text(encoding="utf-8"))
    study["table"] = study["table"][:1] * 600
    study["assumptions"]["draws"] = 0
    file = tmp_path / "long.yaml"
    file.write_text(json.dumps(study), encoding="utf-8")
    monkeypatch.setattr(ahead, "LOOK_S", 0.0)

    def refuse(effort: Effort) -> None:
        raise TimeoutError(effort.seconds)

    with pytest.raises(TimeoutError) as told:
        c3sim.study(str(file), n_jobs=1, agree=refuse)
    assert told.value.args[0] > 100

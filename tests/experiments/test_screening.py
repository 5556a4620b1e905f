"""Screening, against functions of which the effects are known by hand."""

from __future__ import annotations

import pytest
from made_sampler import sampler_of

import c3sim.api  # noqa: F401  (it hands in how results print)
from c3sim.experiments.bands import Parameter
from c3sim.experiments.influence import question
from c3sim.experiments.jobs import Workers
from c3sim.experiments.points import PointRunner
from c3sim.experiments.screening import Group, Screening, screen
from c3sim.kit.layout import show
from c3sim.output.tables.screening import screening_table

COUNT = 64  # parameters: 32 of memory, 32 of links

PARAMETERS = [
    Parameter(path=path, value=0.5, low=0.0, high=1.0, unit="", whole=False, fitted=False)
    for part in ("gpu.hbm", "links.rate")
    for path in (f"{part}.p{number:02d}" for number in range(COUNT // 2))
]


@pytest.fixture
def screened(monkeypatch):
    """Runs nothing: the output is 10 plus the weighted sum of the parameters."""

    def make(weights: dict[str, float], runs: int) -> tuple[Screening, list[int]]:
        ran: list[int] = []

        def row(self, scenario, strategy, settings):
            ran.append(1)
            at = dict(settings)
            value = 10 + sum(weight * at.get(path, 0.5) for path, weight in weights.items())
            return {"y": value, "error": None}

        return screen(sampler_of(monkeypatch, row), PARAMETERS, "y", runs=runs), ran

    return make


def test_one_of_many_is_found_by_halving(screened):
    """2 groups, then 5 halvings of 32: 1 + 2 x 2 + 5 x 4 = 25 runs, where one at a time takes 129.
    The other 63 are seen not to matter, in groups.
    """
    found, ran = screened({"links.rate.p17": 3.0}, 25)
    assert [(each.name, each.swing) for each in found.single] == [("links.rate.p17", 3.0)]
    assert found.groups == [] and found.idle == 63 and found.count == 64
    assert found.runs == len(ran) == 25
    assert found.share(found.single[0]) == pytest.approx(1.0)
    assert found.spread == pytest.approx(3 / 12**0.5)  # of a uniform variable 3 wide


def test_effects_of_opposite_sign_do_not_hide_each_other(screened):
    """p02 and p03 share every group down to a pair: together they move y by 3.5 or by 0.5."""
    found, _ = screened({"gpu.hbm.p02": 2.0, "gpu.hbm.p03": -1.5, "links.rate.p30": 1.0}, 96)
    swings = {each.name: each.swing for each in found.single}
    assert swings == pytest.approx({"gpu.hbm.p02": 2, "gpu.hbm.p03": 1.5, "links.rate.p30": 1})
    assert list(swings) == ["gpu.hbm.p02", "gpu.hbm.p03", "links.rate.p30"]


def test_what_runs_do_not_suffice_for_stays_a_group(screened):
    """Both halves of both groups matter; after two pairs and no halving nothing is told apart."""
    found, ran = screened({each.path: 1.0 for each in PARAMETERS}, 6)
    assert [each.name for each in found.groups] in (
        ["gpu.hbm.* (32)", "links.rate.* (32)"],
        ["links.rate.* (32)", "gpu.hbm.* (32)"],
    )
    assert found.single == [] and len(ran) == 5


def test_fewer_runs_than_the_first_groups_take_end_with_the_groups(screened):
    """It went on without end: two groups take five runs, and no more are to be had."""
    found, ran = screened({"links.rate.p03": 4.0, "gpu.hbm.p05": 1.0}, 2)
    assert [each.name for each in found.groups] == ["links.rate.* (32)", "gpu.hbm.* (32)"]
    assert found.runs == len(ran) == 5


def test_an_iteration_is_screened_for_its_wall_time_unless_it_is_told_otherwise():
    """From Python as from the command line: an iteration has no fraction of ideal to explain. Of
    one a look at which takes 0.74 s by its estimate, 55 s have room for 74.
    """
    found = {
        name: question(name, workers=Workers(jobs=1), changes={})
        for name in ("llama3-70b-decode", "llama3-405b-training", "gemm-beside-all-gather")
    }
    asked = {name: (each.output, each.screened) for name, each in found.items()}
    assert asked == {
        "llama3-70b-decode": ("wall_s", 96),
        "llama3-405b-training": ("wall_s", 74),
        "gemm-beside-all-gather": ("fraction_of_ideal", 0),
    }


def test_first_looks_tell_apart_and_whole_runs_say_by_how_much(monkeypatch):
    """A step is looked at with few layers, which move by half of what all do; the answer's value
    and the ends of what moves it most are those of whole runs. 60 looks are too few for all
    there is to know: it ends once the first is known.
    """

    def wall(self, scenario, strategy, settings):
        times = 1.0 if self.setup.looks else 2.0
        ran.append(self.setup.looks)
        return times * (10 + 3 * dict(settings).get("links.rate.p17", 0.5))

    ran: list[bool] = []
    monkeypatch.setattr(PointRunner, "_wall", wall)
    asked = question("llama3-70b-training", workers=Workers(jobs=1), changes={})
    found = screen(asked.sampler, PARAMETERS, "wall_s", runs=60)
    assert found.looks and found.base == 23.0
    assert [(each.name, each.swing) for each in found.single] == [("links.rate.p17", 6.0)]
    assert (ran.count(True), ran.count(False)) == (24, 3)
    for given in ({"screened": 96}, {"output": "mfu"}):
        other = question("llama3-70b-training", workers=Workers(jobs=1), changes={}, **given)
        assert not other.sampler.setup.looks


def test_a_group_that_moves_it_most_is_not_passed_over(capsys):
    """A single parameter with a third of its swing is not what to measure first."""
    one = Group(parameters=(PARAMETERS[0],), ends=(10.0, 11.0))
    two = Group(parameters=(PARAMETERS[1], PARAMETERS[2]), ends=(10.0, 13.0))
    for group, said in ((two, "no single parameter yet: gpu.hbm.* (2)"), (one, "measure gpu.hbm")):
        groups = [two] if group is two else []
        found = Screening(
            output="wall_s", strategy="base", base=10, single=[one], groups=groups, idle=0, runs=9
        )
        show(screening_table(found))
        assert said in capsys.readouterr().out.splitlines()[1]  # before the table


def test_it_prints_its_answer_and_names_the_records_that_would_see_a_parameter():
    one = Group(parameters=(PARAMETERS[0],), ends=(10.0, 11.0))
    found = Screening(
        output="wall_s",
        strategy="base",
        base=10,
        single=[one],
        groups=[],
        idle=0,
        runs=9,
        about="a pair on a node",
        measured={PARAMETERS[0].path: ("stream",)},
    )
    head, answer = str(found).splitlines()[:2]
    assert head == "a pair on a node, strategy base"
    assert answer.startswith("measure gpu.hbm.p00 first, as suite stream does: it moves wall_s")
    assert found.to_frame()["suites"].tolist() == [["stream"]]

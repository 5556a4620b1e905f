"""The answers of docs/studies.md and docs/next-engine.md to the packaged questions."""

from __future__ import annotations

import pytest

from c3sim.experiments.plan import make_plan
from c3sim.experiments.points import PointRunner

QUESTIONS = ("engine-count", "links-or-units", "infinity-cache", "reducing-engines", "next-engine")


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_is_a_plan_of_a_minute(name: str) -> None:
    """At some 20 points a second (benchmarks/bench_sweep.py) 300 points take 15 s."""
    assert 30 <= len(make_plan(name).indices) <= 300


def rows(name: str, **wanted: object) -> dict[tuple, dict]:
    """The points of a question with these values (``_`` for a dot), run; by scenario and the values
    of its axes.
    """
    plan = make_plan(name)
    runner = PointRunner(plan.setup)
    found = {}
    for number in range(len(plan.indices)):
        point = plan.point(number)
        values = dict(point.settings)
        known = {
            **{path.replace(".", "_"): value for path, value in values.items()},
            "scenario": point.scenario,
        }
        if all(known[key] == value for key, value in wanted.items()):
            found[(point.scenario, *values.values())] = runner.row(
                point.scenario, point.strategy, point.settings
            )
    return found


def test_engines_step_with_the_copies_that_one_of_them_has() -> None:
    """Seven copies: two for some engine with four to six engines, one with seven or more. (When the
    second one is submitted differs by a few times 5.5 us.)
    """
    walls = {
        key[1]: row["wall_s"]
        for key, row in rows(
            "engine-count", scenario="balanced", gpu_dma_engines_bandwidth=50.8e9
        ).items()
    }
    assert walls[4] == pytest.approx(walls[6], abs=30e-6) and walls[7] == pytest.approx(
        walls[14], abs=30e-6
    )
    assert walls[7] < 0.75 * walls[6]

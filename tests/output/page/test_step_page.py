"""The page of a step: exposed time by group, a row for each stage, where layers are folded."""

from __future__ import annotations

import pytest

from c3sim.iterations.result import IterationResult
from c3sim.output.page.timeline import compact_run

pytestmark = pytest.mark.turns(5)


def test_a_step_has_groups_stages_and_the_place_of_layers_left_out(step: IterationResult) -> None:
    """24 layers in two stages are 12 each; four are simulated, so 8 are folded, behind the second
    of the four forward and behind the third backward. A stage's times fill its wall but for copies.
    """
    shown = compact_run(step)["step"]
    assert {"cp", "tp", "pp"} <= {name for name, _, _ in shown["groups"]}
    assert all(0 <= exposed <= busy for _, busy, exposed in shown["groups"])
    assert [number for number, *_ in shown["stages"]] == [0, 1]
    for _, *times in shown["stages"]:
        assert sum(times) == pytest.approx(step.wall_s * 1e9, rel=0.03)
    assert (shown["left"], len(shown["folds"])) == (8, 2)
    assert 0 < shown["folds"][0] < shown["folds"][1]

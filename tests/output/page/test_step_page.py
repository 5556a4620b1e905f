"""The page of a step: exposed time by group, a row for each stage, where layers are folded."""

from __future__ import annotations

import pytest
from iteration_case import described as loaded_case
from iteration_case import run_described

from c3sim.output.page.timeline import compact_run
from c3sim.spec.reading.loading import load_hardware


def test_a_step_has_groups_stages_and_the_place_of_layers_left_out() -> None:
    """24 layers in two stages are 12 each; four are simulated, so 8 are folded, behind the second
    of the four forward and behind the third backward. A stage's times fill its wall but for copies.
    """
    parallel = {"pp": 2, "cp": 2, "tp": 2, "dp_shard": 1}
    loaded = loaded_case(node="h200-8", layers=24, batch=4, tokens=512, parallel=parallel)
    result = run_described(loaded, load_hardware("h200-8").node, settings={}, trace=True)
    step = compact_run(result)["step"]
    assert {"cp", "tp", "pp"} <= {name for name, _, _ in step["groups"]}
    assert all(0 <= exposed <= busy for _, busy, exposed in step["groups"])
    assert [number for number, *_ in step["stages"]] == [0, 1]
    for _, *times in step["stages"]:
        assert sum(times) == pytest.approx(result.wall_s * 1e9, rel=0.03)
    assert (step["left"], len(step["folds"])) == (8, 2)
    assert 0 < step["folds"][0] < step["folds"][1]

"""Studies of kind training_overlap: what variants hide, layers that fit, the packaged study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import c3sim
from c3sim.errors import InputError
from c3sim.experiments.iterations import iteration_cases, most_layers
from c3sim.experiments.papers.training_overlap import limited_by
from c3sim.experiments.study import Row, StudyResult
from c3sim.iterations.memory import memory_bytes
from c3sim.spec.reading.loading import load_node, load_study

pytestmark = pytest.mark.turns(5)

MINE = """\
schema: 1
name: mine
kind: training_overlap
nodes: [mi300x-8]
iterations: [llama3-70b-training]
scenarios:
  - {name: no overlap, set: {parallel.prefetch: 0, "tasks[kind=collective].stream": compute}}
  - {name: as frameworks do it}
  - {name: engines, set: {"tasks[op=all_gather].backend": dma}}
"""
FORWARD = MINE.partition("  - {name: engines")[0].replace("70b-training", "8b-forward")
FEW_CHANNELS = """\
  - {name: 4 channels, set: {"tasks[kind=collective].channels": 4}}
"""


def study(folder: Path, text: str) -> StudyResult:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return c3sim.study(path, n_jobs=1)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return study(tmp_path_factory.mktemp("study"), MINE)


@pytest.fixture(scope="module")
def rows(result: StudyResult) -> dict[str, Row]:
    return {row.variant: row for row in result.rows}


def test_a_step_is_computing_and_what_it_loses(tmp_path: Path) -> None:
    result = study(tmp_path, FORWARD)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert [row["node"] for row in data["rows"]] == 2 * ["mi300x-8"]
    for row in data["rows"]:
        parts = row["compute_s"] + row["exposed_s"] + row["stretched_s"]
        assert row["wall_s"] == pytest.approx(parts, rel=1e-3)
        assert row["wall_s"] >= row["compute_s"]
    first, second = result.rows
    assert second.hidden == pytest.approx((first.wall_s - second.wall_s) / first.communication_s)
    assert first.hidden == 0.0 < second.hidden <= 1.0


@pytest.mark.long
def test_without_overlap_both_sides_follow_each_other(rows: dict[str, Row]) -> None:
    """MI300X's clock rises slowly, so operators gain a little from the rests between them."""
    row = rows["no overlap"]
    assert row.wall_s == pytest.approx(row.compute_s + row.communication_s, rel=5e-3)
    assert (row.hidden, row.limited_by) == (0.0, "exposed")
    assert -0.03 * row.wall_s < row.stretched_s < 0


@pytest.mark.long
def test_hidden_is_what_is_spared_of_the_communication(rows: dict[str, Row]) -> None:
    first = rows["no overlap"]
    for row in rows.values():
        assert row.hidden == pytest.approx((first.wall_s - row.wall_s) / first.communication_s)
        assert row.hidden <= 1.0
    assert 0 < rows["as frameworks do it"].hidden < rows["engines"].hidden


@pytest.mark.long
def test_engines_take_no_compute_units(rows: dict[str, Row]) -> None:
    """Half of the collectives, by time, are gathers. By engines they give their compute units back;
    the scatters keep theirs, so something is left.
    """
    before, after = rows["as frameworks do it"].removal, rows["engines"].removal
    assert after["compute_units"] < 0.75 * before["compute_units"]


@pytest.mark.long
def test_too_few_channels_leave_communication_exposed(tmp_path: Path) -> None:
    """Four channels move 39 GB/s: a step's 3 x 141 GB, 7/8 of them through links, take 9 s."""
    (row,) = study(tmp_path, MINE.partition("  - {name")[0] + FEW_CHANNELS).rows
    assert row.communication_s == pytest.approx(3 * 141e9 * 7 / 8 / 39e9, rel=0.05)
    assert row.limited_by == "exposed" and row.exposed_s > 0.4 * row.communication_s


def test_limits_name_the_largest_loss() -> None:
    removed = {"compute_units": 0.03, "hbm": 0.01, "clock": 0.02}
    assert limited_by(1.0, 2.0, removed) == "compute_units"
    assert limited_by(2.0, 1.0, removed) == "exposed"


def test_as_many_layers_as_fit_are_no_more() -> None:
    study = load_study("overlap-in-training")
    cases = iteration_cases(study, [load_node(name) for name in study.nodes])
    found: dict[tuple[str, str], int | None] = {}
    for case in cases:
        if case.name == "as frameworks do it":
            most = most_layers(case)
            layers, capacity = most.loaded.iteration.layers, case.node.gpu.hbm.capacity
            found[case.file.split("-")[1], case.node.name] = layers
            assert memory_bytes(most.planned()) <= capacity
            if layers is not None:
                assert memory_bytes(case.with_fields(layers=layers + 1).planned()) > capacity
    # 8 bytes of each of 70 billion parameters: 70 GB on eight GPUs, on four all of an H200's 141
    assert found["70b", "mi300x-8"] is None and found["70b", "h200-8"] is None
    assert 60 < found["70b", "h200-4"] < 80
    # of 405 billion 405 GB on eight: 3.2 billion a layer, 3.2 GB each of what is not for gathering
    assert found["405b", "mi300x-8"] < (206e9 - 3 * 6.4e9) / 3.2e9


def test_a_model_of_which_nothing_fits_is_refused() -> None:
    study = load_study("overlap-in-training")
    case = iteration_cases(study, [load_node(name) for name in study.nodes])[0]
    gpu = case.node.gpu
    small = case.node.changed(gpu=gpu.changed(hbm__capacity=1e9))
    with pytest.raises(InputError, match="not one layer fits a GPU of mi300x-8"):
        most_layers(type(case)(name=case.name, file=case.file, loaded=case.loaded, node=small))

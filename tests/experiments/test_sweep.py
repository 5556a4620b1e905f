"""A sweep's file of results: its format, its numbers, and points that fail."""

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
from sweep_case import STUDY, write

from c3sim.api import run
from c3sim.errors import InputError
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.experiments.points import workload_and_node
from c3sim.experiments.sweep import sweep

COLUMNS = [
    "point",
    "gpu.dma_engines.count",
    "links.bandwidth",
    "scenario",
    "strategy",
    "wall_s",
    "fraction_of_ideal",
    "tasks.gemm.slowdown",
    "tasks.gather.slowdown",
    "area",
    "error",
]


def test_the_file_of_results(whole):
    table = pq.read_table(whole.folder / "results.parquet")
    assert table.column_names == COLUMNS
    rows = table.to_pylist()
    assert [row["point"] for row in rows] == list(range(12))
    assert [
        (row["gpu.dma_engines.count"], row["links.bandwidth"], row["strategy"]) for row in rows
    ] == [(n, b, s) for n in (1.0, 2.0) for b in (10e9, 20e9, 30e9) for s in ("base", "conccl")]
    assert {row["scenario"] for row in rows} == {"small"} and {row["error"] for row in rows} == {
        None
    }
    about = json.loads(table.schema.metadata[b"c3sim"])
    assert (
        about["version"] == 1
        and about["node"] == "teaching-4"
        and about["study"]["name"] == "small"
    )
    assert about["axes"]["links.bandwidth"] == {"unit": "B/s", "label": "links bandwidth"}
    assert about["outputs"]["wall_s"]["unit"] == "s" and set(about["outputs"]) == set(COLUMNS[5:10])
    assert sorted(path.name for path in whole.folder.iterdir()) == [
        "_sweep.json",
        "_timing.json",
        "results.parquet",
    ]
    assert (
        len(pd.read_parquet(whole.folder)) == whole.table.num_rows
    )  # names with _ are passed over


def test_every_point_is_what_run_says(whole):
    for row in whole.table.to_pylist():
        values = {path: row[path] for path in COLUMNS[1:3]}
        settings = {
            "hw.sdma.engines": int(values["gpu.dma_engines.count"]),
            "links.bandwidth": f"{values['links.bandwidth']} B/s",
        }
        one = run(
            "gemm-beside-all-gather", node="teaching-4", strategy=row["strategy"], set=settings
        )
        assert (row["wall_s"], row["fraction_of_ideal"]) == (one.wall_s, one.fraction_of_ideal)
        assert row["tasks.gather.slowdown"] == one.tasks["gather"].slowdown


def test_a_point_can_be_simulated_again_from_the_file_alone(whole):
    table = pq.read_table(whole.folder / "results.parquet")
    study = json.loads(table.schema.metadata[b"c3sim"])["study"]
    for row in table.to_pandas().to_dict(
        "records"
    ):  # as whoever shows a point has it, NumPy's numbers and gaps
        assert evaluate_run(*workload_and_node(study, row)).wall_s == row["wall_s"]


def test_a_failing_point_is_recorded_and_ends_nothing(tmp_path):
    """Channels may not outnumber compute units; those points have an error, others numbers."""
    text = STUDY.replace("hw.sdma.engines: [1, 2]", "task.gather.channels: [2, 4000]")
    found = sweep(write(tmp_path, text), tmp_path / "out")
    assert found.failed == 6
    for row in found.table.to_pylist():
        if row["task.gather.channels"] == 4000:
            assert "must be at most" in row["error"] and row["wall_s"] is None
        else:
            assert row["error"] is None and row["wall_s"] > 0


@pytest.mark.parametrize("where", ["evaluate", "read_output"])
def test_what_is_no_mistake_of_the_user_is_recorded_too(tmp_path, monkeypatch, where):
    """In the run, or in what is run once an output is read."""
    monkeypatch.setattr(f"c3sim.experiments.points.{where}", lambda *_, **__: 1 / 0)
    found = sweep(write(tmp_path), tmp_path / "out")
    assert set(found.table.column("error").to_pylist()) == {"ZeroDivisionError: division by zero"}


def test_words_and_lists_are_texts(tmp_path):
    axes = (
        "axes:\n  links.topology: [ring, full_mesh]\n  gpu.dies.shader_engines: [[4, 3], "
        "[4, 4]]\n  stream.communication.compute_units: [4, 0-5]\n"
    )
    found = sweep(write(tmp_path, STUDY.split("axes:")[0] + axes), tmp_path / "out")
    assert found.failed == 0
    study = found.plan.resolved
    for row in found.table.to_pylist():
        workload, node, strategy = workload_and_node(study, row)
        assert json.loads(row["gpu.dies.shader_engines"]) == list(node.gpu.dies.shader_engines)
        assert (
            str(workload.streams["communication"].compute_units)
            == row["stream.communication.compute_units"]
        )
        assert evaluate_run(workload, node, strategy).wall_s == row["wall_s"]


def test_models_of_another_version_are_one_line(whole):
    """A file of results from before a field was renamed: its node has a field that nobody knows."""
    study = json.loads(whole.table.schema.metadata[b"c3sim"])["study"]
    study["models"]["node"]["gpu"]["old_name"] = 1
    with pytest.raises(InputError, match="models of another version of c3sim"):
        workload_and_node(study, whole.table.to_pylist()[0])

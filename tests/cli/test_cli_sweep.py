"""``c3sim sweep`` as a user meets it: what it prints, where results go, and what wrong input is
told.
"""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli_case import files

STUDY = """\
schema: 1
name: engines
node: teaching-4
workload: gemm-beside-all-gather
strategies: [base, conccl]
axes: {hw.sdma.engines: [1, 2]}
"""


@pytest.fixture
def study(empty):
    Path("study.yaml").write_text(STUDY, encoding="utf-8")
    return "study.yaml"


def test_a_table_and_a_folder(cli, study, empty):
    result = cli("sweep", study)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].rstrip() == "engines on teaching-4"
    assert any(
        line.startswith("fraction_of_ideal") and "dma engines count" in line for line in lines
    )
    assert lines[-1].rstrip() == "results: sweep-engines/results.parquet"
    assert pq.read_table("sweep-engines/results.parquet").num_rows == 4
    assert files(empty) == ["study.yaml", "sweep-engines"]


def test_the_second_time_it_is_there(cli, study):
    cli("sweep", study)
    assert "4 points, all of them were there" in cli("sweep", study).stdout
    assert "4 run in" in cli("sweep", study, "--fresh").stdout


def test_json(cli, study):
    found = json.loads(cli("sweep", study, "--out", "o", "--json").stdout)
    assert found["points"] == 4 and found["failed"] == 0 and found["results"] == "o/results.parquet"
    assert [(row["gpu.dma_engines.count"], row["strategy"]) for row in found["rows"]] == [
        (1.0, "base"),
        (1.0, "conccl"),
        (2.0, "base"),
        (2.0, "conccl"),
    ]


def test_failed_points_are_counted_and_the_first_is_shown(cli, study):
    text = STUDY.replace("hw.sdma.engines: [1, 2]", "task.gather.channels: [2, 4000]")
    Path(study).write_text(text, encoding="utf-8")
    result = cli("sweep", study)
    assert (
        result.exit_code == 0
        and "2 failed; the first, base, gather channels 4000: " in result.stdout
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hw.sdma.engines", "hw.sdma.engins", "study.yaml:6: axes.'hw.sdma.engins': unknown path"),
        ("[1, 2]", "[1, two]", "study.yaml:6: axes.'hw.sdma.engines': 'two' is not a whole number"),
        ("axes:", "axis:", "study.yaml:6: unknown field 'axis'; did you mean 'axes'?"),
    ],
)
def test_a_wrong_study_makes_no_folder(cli, study, empty, old, new, message):
    Path(study).write_text(STUDY.replace(old, new), encoding="utf-8")
    result = cli("sweep", study)
    assert (result.exit_code, result.stdout) == (2, "") and result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1 and files(empty) == ["study.yaml"]


def test_another_study_in_the_same_folder(cli, study):
    cli("sweep", study)
    Path(study).write_text(STUDY.replace("[1, 2]", "[1, 2, 3]"), encoding="utf-8")
    result = cli("sweep", study)
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "sweep-engines: the study changed since this sweep was started; --fresh starts over"
    )


def test_an_out_that_is_a_file(cli, study):
    result = cli("sweep", study, "--out", study)
    assert (result.exit_code, result.stderr) == (
        2,
        "study.yaml: --out: is not a folder; allowed: a folder, or a path where one can be made\n",
    )


def test_the_kind_of_a_study_is_no_matter_to_a_sweep_of_its_points(cli, study):
    """``kind: c3`` asks ``c3sim study`` for means; ``c3sim sweep`` runs the same points."""
    Path(study).write_text(STUDY + "kind: c3\noutputs: [speedup]\n", encoding="utf-8")
    row = json.loads(cli("sweep", study, "--json").stdout)["rows"][0]
    assert set(row) == {
        "point",
        "gpu.dma_engines.count",
        "scenario",
        "strategy",
        "speedup",
        "error",
    }


def test_a_study_without_points_cannot_be_swept(cli, empty):
    result = cli("sweep", "dma-latte")
    assert (
        result.exit_code == 2
        and "kind: a study of kind 'dma_variants' has no points of its own; 'c3sim study' runs it"
        in result.stderr
    )
    assert files(empty) == []


@pytest.mark.parametrize("command", ["sweep", "optimise"])
@pytest.mark.parametrize(
    ("name", "kind"), [("gemm-alone", "a workload"), ("llama3-8b-forward", "an iteration")]
)
def test_a_workload_is_no_study(cli, empty, command, name, kind):
    result = cli(command, name)
    assert result.exit_code == 2
    assert result.stderr == f"{name!r} is {kind} ('c3sim run' runs it), no study\n"

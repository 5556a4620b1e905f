"""``c3sim validate`` and ``c3sim calibrate`` as a user meets them."""

from __future__ import annotations

import json

import pytest
from cli_case import invoke
from made_records import CASE_KEYS, GEMM, SUITE_KEYS, line, pair_line, write

from c3sim.validation.compare.bounds import FILE
from c3sim.validation.compare.record_files import PACKAGED

pytestmark = pytest.mark.slow

STREAMS = str(PACKAGED / "published" / "mi300x" / "babelstream.jsonl")


def test_packaged_records_pass():
    """All of them pass in ``test_bounds.py``; these are the streams of one source."""
    found = invoke("validate", STREAMS, "--worst", "0")
    assert found.exit_code == 0, found.stdout
    assert "5 records, 5 figures: pass" in found.stdout


def test_thirty_per_cent_less_memory_bandwidth_fails_and_names_the_suite():
    found = invoke("validate", STREAMS, "--set", "gpu.hbm.bandwidth=3.71 TB/s", "--worst", "0")
    assert found.exit_code == 1
    assert "suite babelstream: isolated_stream misses its bound" in found.stderr


def test_json_is_one_document_with_the_promised_keys():
    found = invoke("validate", STREAMS, "--json")
    data = json.loads(found.stdout)
    assert found.exit_code == 0 and data["pass"] is True
    assert all(set(row) >= SUITE_KEYS for row in data["suites"])
    assert all(row["worst"][0]["explanation"] for row in data["suites"])
    assert all(set(each) >= CASE_KEYS for each in data["cases"])


def test_any_file_from_any_folder_works_and_an_unknown_suite_has_no_bound(tmp_path):
    write(tmp_path / "a.jsonl", pair_line(250, 800, (400, 900)))
    (tmp_path / "deep").mkdir()
    write(
        tmp_path / "deep" / "b.jsonl",
        line({"gemm": GEMM}, {"isolated": {"gemm": 9999.0}}, name="far off"),
    )
    found = invoke("validate", str(tmp_path), "--json")
    assert found.exit_code == 0, found.stderr
    data = json.loads(found.stdout)
    assert {row["name"] for row in data["suites"]} == {"mine"}
    assert all(row["bound_median"] is row["pass"] is None for row in data["suites"])
    assert len(data["cases"]) == 8
    assert (data["pass"], data["verdict"]) == (None, "no bound")
    printed = invoke("validate", str(tmp_path))
    assert printed.exit_code == 0 and "8 figures: no bound" in printed.stdout


def test_records_of_ones_own_are_compared_and_not_judged_by_the_packaged_bounds(tmp_path):
    """A suite may have a packaged name: 9999 us is far outside every bound of babelstream."""
    far = line({"gemm": GEMM}, {"isolated": {"gemm": 9999.0}}, suite="babelstream")
    mine = str(write(tmp_path / "mine.jsonl", far))
    found = invoke("validate", mine)
    assert found.exit_code == 0 and "no bound" in found.stdout
    assert invoke("validate", mine, "--bounds", str(FILE)).exit_code == 1


def test_one_suite_alone():
    folder = str(PACKAGED / "published" / "mi300x")
    found = invoke("validate", folder, "--suite", "babelstream", "--json")
    assert found.exit_code == 0
    assert {row["name"] for row in json.loads(found.stdout)["suites"]} == {"babelstream"}
    wrong = invoke("validate", folder, "--suite", "bablestream")
    assert wrong.exit_code == 2
    assert "--suite: unknown suite 'bablestream'; did you mean 'babelstream'?" in wrong.stderr


BAD = [
    (("validate", "nowhere.jsonl"), "nowhere.jsonl: does not exist"),
    (("validate", STREAMS, "--set", "gpu.hbm.bandwith=1 TB/s"), "did you mean 'gpu.hbm.bandwidth'"),
    (("validate", STREAMS, "--node", "mi300y"), "mi300y"),
    (("validate", STREAMS, "--report", "page.pdf"), "allowed: .html"),
    (("validate", STREAMS, "--report", "no/such/folder/page.html"), "cannot write"),
    (("calibrate", "mi300x-8", "--only", "gemm_fp"), "did you mean 'gemm_fp8'"),
    (("calibrate", "mi300x-8", "--data", "nowhere"), "does not exist"),
    (("calibrate", "teaching-4"), "nothing to fit"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message):
    found = invoke(*arguments)
    assert found.exit_code == 2
    assert message in found.stderr and len(found.stderr.strip().split("\n")) == 1
    assert found.stdout == ""


def test_a_record_that_cannot_run_names_itself(tmp_path):
    foreign = line(
        {"gemm": {**GEMM, "library": "triton"}}, {"isolated": {"gemm": 100.0}}, node="teaching-4"
    )
    file = write(tmp_path / "a.jsonl", foreign)
    found = invoke("validate", str(file))
    assert found.exit_code == 2, found.stdout
    assert found.stderr.startswith("record ") and "suite 'mine'" in found.stderr


def test_calibrate_prints_yaml_and_leaves_the_files_alone():
    import yaml

    found = invoke("calibrate", "h200-4", "--only", "h200_streams")
    assert found.exit_code == 0, found.stderr
    data = yaml.safe_load(found.stdout)
    assert data["groups"][0]["fitted"] == "h200_streams" and "written" not in found.stderr
    assert "gpu.dma_engines.poll_switch_time" in found.stderr

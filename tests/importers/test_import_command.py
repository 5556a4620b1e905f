"""``c3sim import`` as users call it."""

from __future__ import annotations

import gzip
import json

import pytest
from cli_case import invoke

from c3sim.importers import find_format, formats
from c3sim.importers.values import parse_assumptions
from c3sim.spec.reading.records import load_records


def command(*words):
    return invoke("import", *words)


def test_records_go_to_a_file_that_loads(data, tmp_path):
    out = tmp_path / "runs.jsonl"
    done = command(data / "nccl_all_gather_h200x4.txt", "--node", "nobodys-4", "--out", out)
    assert done.exit_code == 0 and done.stdout == ""
    assert len(load_records(out)) == 42
    assert "unknown node 'nobodys-4'" in done.stderr
    assert "sha256:" in load_records(out)[0].source


def test_a_missing_node_is_asked_for_with_the_one_that_the_header_fits(data):
    """The header lists four H200; the node is suggested, and still not guessed."""
    asked = command(data / "nccl_all_gather_h200x4.txt")
    assert asked.exit_code == 2 and "by its header it may be h200-4" in asked.stderr
    nameless = command(data / "transferbench_a2a_h200x4.txt")
    assert nameless.exit_code == 2 and "'c3sim list' has the packaged" in nameless.stderr


def test_a_node_file_gives_its_name_to_the_records(data, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("schema: 2\nlike: h200-4\nname: my-node\n")
    out = tmp_path / "runs.jsonl"
    done = command(data / "nccl_all_gather_h200x4.txt", "--node", mine, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert {record.node for record in load_records(out)} == {"my-node"}


def test_transferbench_on_nvidia_says_what_its_times_hold(data):
    log = data / "transferbench_scaling_h200x4.txt"
    done = command(log, "--node", "h200-4")
    assert "launch parameters in managed memory" in done.stderr
    tasks = [json.loads(line)["workload"]["tasks"] for line in done.stdout.splitlines()]
    assert {task["copy"]["parameters"] for task in tasks} == {"managed"}


def test_without_out_records_are_printed_one_per_line(data):
    done = command(data / "transferbench_a2a_h200x4.txt", "--node", "h200-4")
    assert [json.loads(line)["suite"] for line in done.stdout.splitlines()] == [
        "transferbench_a2a"
    ] * 4


def test_json_has_records_kernels_and_warnings(data):
    done = command(data / "kineto_h200x4_rank0.json.gz", "--node", "h200-4", "--json")
    shown = json.loads(done.stdout)
    assert done.exit_code == shown["exit_code"] == 0 and len(shown["records"]) == 2
    (file,) = shown["files"]
    assert file["partial"] is False and file["warnings"]
    assert file["overlaps"][0]["both_us"] > 2500 and file["kernels"][0]["concurrent"] == 3


def test_a_partial_log_is_exit_code_1_and_its_records_are_written(data, tmp_path):
    cut = tmp_path / "cut.txt"
    cut.write_text((data / "nccl_all_gather_h200x4.txt").read_text()[:2000])
    out = tmp_path / "runs.jsonl"
    done = command(cut, "--node", "h200-4", "--out", out)
    assert done.exit_code == 1 and "partial" in done.stderr and f"{cut}:" in done.stderr
    records = load_records(out)
    assert records and all(record.source.endswith("from a partial log") for record in records)


def test_a_cut_gzip_file_is_read_as_far_as_it_goes(data, tmp_path):
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes((data / "kineto_h200x4_rank0.json.gz").read_bytes()[:5000])
    done = command(cut, "--node", "h200-4")
    assert done.exit_code == 1 and "gzip data are cut off" in done.stderr


def test_nothing_to_read_is_exit_code_2_and_no_file(data, tmp_path):
    out = tmp_path / "runs.jsonl"
    done = command(data / "nccl_all_gather_h200x4.txt", "--node", "mi300x-8", "--out", out)
    assert done.exit_code == 2 and not out.exists()
    assert "measured on 4 GPUs, but node 'mi300x-8' has 8" in done.stderr


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"hello\n", "in no known format (loops, kineto, "),
        (b"", "the file is empty; must be a log"),
        (b"abc\xff\xfe", "byte 0xff is not UTF-8 text"),
        (gzip.compress(b"x" * 100, mtime=0)[:5] + b"????????????", "damaged gzip data"),
    ],
)
def test_what_is_no_log(content, expected, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    done = command(path, "--node", "mi300x-8")
    assert done.exit_code == 2 and expected in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--format", "ncl-tests"], "unknown format 'ncl-tests'; did you mean 'nccl-tests'?"),
        (["--role", "training"], "got 'training'; must be calibration or validation"),
        (["--assume", "dtyp=bf16"], "unknown assumption 'dtyp'; did you mean 'dtype'?"),
        (["--assume", "m=0"], "--assume m: got '0'; must be a whole number above 0"),
        (["--assume", "dtype=int8"], "unknown data type 'int8'"),
    ],
)
def test_bad_options_are_one_line(options, expected, data):
    done = command(data / "nccl_all_gather_h200x4.txt", "--node", "mi300x-8", *options)
    assert done.exit_code == 2 and expected in done.stderr


def test_a_log_of_other_gpus_and_a_library_the_node_lacks_are_told(data):
    done = command(data / "nccl_all_gather_h200x4.txt", "--node", "teaching-4")
    assert "the log names 4 x NVIDIA H200, but node 'teaching-4' has teaching GPU" in done.stderr
    assert (
        "42 records cannot be run on node 'teaching-4' as it stands: unknown backend 'nccl'"
        in done.stderr
    )


def test_every_fixture_is_recognised_by_its_content(data):
    expected = {
        "nccl_all_gather_h200x4.json": "nccl-tests-json",
        "rccl_all_reduce_from_documentation.json": "nccl-tests-json",
        "rccl_all_reduce_from_documentation.csv": "nccl-tests-csv",
        "kineto_h200x4_rank0.json.gz": "kineto",
        "hipblaslt_bench_from_documentation.log": "hipblaslt-bench",
        "rocblas_bench_from_documentation.log": "rocblas-bench",
        "rocprofv3_kernel_trace_from_documentation.csv": "rocprofv3",
    }
    for path in sorted(path for path in data.iterdir() if path.is_file()):
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        usual = "transferbench" if path.name.startswith("transferbench") else "nccl-tests"
        assert find_format("auto", text, "").name == expected.get(path.name, usual), path.name
        assert len(raw) < 40_000
    assert len({each.name for each in formats()}) == len(formats())


def test_assumed_sizes_may_have_a_unit():
    assert parse_assumptions(["size=512 MiB", "op=AllGather", "dtype=bfloat16"]) == {
        "size": str(2**29),
        "op": "all_gather",
        "dtype": "bf16",
    }


def test_options_of_workloads_are_refused_for_records(data):
    log = data / "transferbench_a2a_h200x4.txt"
    assert "give --as workload" in command(log, "--node", "h200-4", "--iteration", 1).stderr
    assert (
        "must be records, workload or host" in command(log, "--node", "h200-4", "--as", "x").stderr
    )

"""nccl-tests and rccl-tests: text, JSON, CSV."""

from __future__ import annotations

import json

import pytest

from c3sim.importers import nccl_tests as nccl_text
from c3sim.importers.nccl_tests import read_csv, read_json


def names(result) -> list[str]:
    return [record["workload"]["name"] for record in result.records]


def test_every_row_gives_an_out_of_place_and_an_in_place_record(text, given, written):
    result = nccl_text.read(text("nccl_all_gather_h200x4.txt"), given())
    assert not result.remarks and len(written(result)) == 2 * 21
    first, second = written(result)[-2:]
    task = first.workload.tasks["gather"]
    assert (task.op, task.size, task.dtype, task.backend) == ("all_gather", 2**30, "bf16", "nccl")
    assert first.measured.isolated == {"gather": 2473.82}
    assert second.measured.isolated == {"gather": 2430.26}
    assert second.workload.name == "all-gather 1 GiB, in place"
    assert (first.software, first.samples, first.role) == (
        "nccl-tests 2.19.6, NCCL 2.28.9",
        20,
        "validation",
    )
    assert first.source == (
        "a log; 4 x NVIDIA H200, 1 threads, 4 GPUs per thread, 1 warm-up iterations, 20 iterations"
    )
    assert (first.workload.host.threads, first.workload.host.launch) == ("single", "looped")


def test_a_check_that_was_not_made_is_no_wrong_result(text, given, written):
    """In-place all-to-all prints N/A in the column of wrong results."""
    records = written(nccl_text.read(text("nccl_alltoall_h200x4_cut.txt"), given()))
    assert {record.workload.tasks["exchange"].op for record in records} == {"all_to_all"}
    assert sum("in place" in record.workload.name for record in records) == len(records) / 2


def test_columns_of_rccl_tests_and_wrong_results(text, given, written):
    """The second row has three wrong values in place: it is left out, and the line is named."""
    result = nccl_text.read(
        text("rccl_all_reduce_A1_from_documentation.txt"), given(node="mi300x-8", gpus=8)
    )
    records = written(result)
    assert names(result) == ["all-reduce 8 MiB", "all-reduce 8 MiB, in place", "all-reduce 16 MiB"]
    task = records[0].workload.tasks["reduce"]
    assert (task.algorithm, task.protocol, task.channels, task.backend) == (
        "ring",
        "simple",
        56,
        "rccl",
    )
    assert (
        records[0].software
        == "rccl-tests develop:448c4c7, RCCL 2.22.3-develop:f5b15f2, HIP 6.3.42131"
    )
    assert records[0].workload.host.threads == "per_gpu"
    assert result.warnings[0].startswith(
        "line 21: in-place measurement left out: the results were wrong"
    )
    assert not result.partial


def test_a_cut_file_keeps_what_was_read_and_says_so(text, given):
    whole = text("nccl_all_gather_h200x4.txt")
    cut = whole[: whole.index("8388608") + 60]
    result = nccl_text.read(cut, given())
    assert result.partial and len(result.records) == 26
    number = cut.count("\n") + 1
    assert result.warnings[0].startswith(
        f"line {number}: got 7 columns; expected 13: size count type"
    )
    assert "the line is cut off" in result.warnings[0]
    assert "the log ends without '# Out of bounds values'" in result.warnings[1]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "   25.45    0.04",
            "   25.4x    0.04",
            "line 14: '25.4x' is not a number; expected numbers in columns size count",
        ),
        (
            "353.45  379.73",
            "333.45  379.73",
            "line 31: out-of-place algbw is 379.73 GB/s, but size and time give 402.5",
        ),
        (
            "bfloat16    none      -1    25.45",
            "int32    none      -1    25.45",
            "line 14: row left out: data type 'int32'",
        ),
        (
            "all_gather_perf",
            "broadcast_perf",
            "line 14: row left out: 'broadcast_perf' is no collective of the workload",
        ),
        (
            "     2097152        262144  bfloat16    none",
            "     2097152        262144      none",
            "line 25: got 12 columns; expected 13",
        ),
    ],
)
def test_what_is_wrong_in_a_row_is_named_with_its_line(old, new, expected, text, given):
    whole = text("nccl_all_gather_h200x4.txt")
    assert old in whole
    changed = whole.replace(old, new)
    assert any(
        warning.startswith(expected) for warning in nccl_text.read(changed, given()).warnings
    )


def test_a_log_of_another_number_of_gpus_is_not_a_record_of_the_node(text, given):
    result = nccl_text.read(text("nccl_all_gather_h200x4.txt"), given(node="mi300x-8", gpus=8))
    assert not result.records
    assert "measured on 4 GPUs, but node 'mi300x-8' has 8" in result.warnings[0]
    assert "42 of them" in result.warnings[0]


def test_the_collective_is_taken_from_the_file_name_only_with_a_warning(text, given):
    lines = [
        line for line in text("nccl_all_gather_h200x4.txt").split("\n") if "all_gather" not in line
    ]
    named = nccl_text.read("\n".join(lines), given(file="run_all_gather.txt"))
    assert len(named.records) == 42 and "taken from the file name" in named.warnings[0]
    nameless = nccl_text.read("\n".join(lines), given())
    assert nameless.partial and not nameless.records
    assert nccl_text.read("\n".join(lines), given(assume={"op": "all_gather"})).records


def test_two_runs_in_one_file(text, given):
    both = text("nccl_all_gather_h200x4.txt") + text("nccl_alltoall_h200x4_cut.txt")
    ops = {
        next(iter(record["workload"]["tasks"])) for record in nccl_text.read(both, given()).records
    }
    assert ops == {"gather", "exchange"}


def test_json_of_nccl_tests(text, given, written):
    """Its list of devices is incomplete (one of four): the GPUs per thread count. The environment
    is a condition.
    """
    result = read_json(text("nccl_all_gather_h200x4.json"), given(gpus=4))
    records = written(result)
    assert len(records) == 10 and not result.remarks
    assert records[0].measured.isolated == {"gather": 27.4317}
    assert records[0].software.endswith("NCCL 2.28.9, NCCL_NVLS_ENABLE=0")
    assert records[0].workload.tasks["gather"].dtype == "fp32"


def test_json_cut_off_keeps_the_results_before_the_cut(text, given):
    whole = text("nccl_all_gather_h200x4.json")
    result = read_json(whole[: whole.index('"size":67108864') + 100], given())
    assert result.partial and len(result.records) == 6
    assert "the file is cut off; 3 entries before it were read" in result.warnings[0]


def test_json_with_a_missing_figure_names_the_entry(text, given):
    document = json.loads(text("nccl_all_gather_h200x4.json"))
    del document["results"][1]["out_of_place"]["time"]
    result = read_json(json.dumps(document), given())
    assert len(result.records) == 8 and "results[1]: no 'time'" in result.warnings[0]


@pytest.mark.parametrize(("importer", "suffix"), [(read_json, "json"), (read_csv, "csv")])
def test_json_and_csv_of_rccl_tests(importer, suffix, text, given, written):
    result = importer(
        text(f"rccl_all_reduce_from_documentation.{suffix}"), given(node="mi300x-8", gpus=8)
    )
    assert names(result) == ["all-reduce 8 MiB", "all-reduce 8 MiB, in place"]
    assert [record.measured.isolated["reduce"] for record in written(result)] == [91.1, 94.94]


def test_csv_with_the_columns_of_the_text_output(given):
    table = (
        "size,count,type,redop,root,time,algbw,busbw,#wrong,time,algbw,busbw,#wrong\n"
        "8388608,2097152,float,sum,-1,91.10,92.08,161.14,0,94.94,88.36,154.63,0\n"
    )
    result = read_csv(table, given(node="mi300x-8", gpus=8, assume={"op": "all_reduce"}))
    assert names(result) == ["all-reduce 8 MiB", "all-reduce 8 MiB, in place"]
    assert any("busbw / algbw of 1.750 is that of 8" in warning for warning in result.warnings)


def test_csv_cut_off(text, given):
    whole = text("rccl_all_reduce_from_documentation.csv")
    result = read_csv(whole[:-20], given(gpus=8))
    assert result.partial and len(result.records) == 1
    assert result.warnings[0].startswith("line 3: got 11 columns; expected 14")

"""hipblaslt-bench and rocblas-bench."""

from __future__ import annotations

import pytest

from c3sim.importers.blas_bench import read_hipblaslt, read_rocblas


def test_hipblaslt_bench(text, given, written):
    """The macro-tile comes from the kernel name below the values."""
    result = read_hipblaslt(
        text("hipblaslt_bench_from_documentation.log"), given(node="mi300x-8", gpus=8)
    )
    (record,) = written(result)
    task = record.workload.tasks["gemm"]
    assert (task.m, task.n, task.k, task.dtype) == (4096, 4864, 32896, "bf16")
    assert (task.macro_tile, task.inputs, task.library) == ((256, 256), "rotating", "hipblaslt")
    assert record.measured.isolated == {"gemm": 1848.09}
    assert (record.samples, record.software) == (20, "hipBLASLt 1000, hipBLASLt git db8e93b4")
    assert not result.remarks


@pytest.mark.parametrize(
    ("operands", "results", "out"),
    [("bf16_r", "f32_r", "fp32"), ("f8_r", "bf16_r", None), ("f8_r", "f8_r", "fp8")],
)
def test_results_have_the_type_of_the_log(operands, results, out, text, given):
    """c3sim's own answer where a log's is none of it: operands' type, bf16 of fp8."""
    log = text("hipblaslt_bench_from_documentation.log").replace(
        "bf16_r,bf16_r,bf16_r,bf16_r", f"{operands},{operands},{results},{results}"
    )
    (record,) = read_hipblaslt(log, given()).records
    assert record["workload"]["tasks"]["gemm"].get("out_dtype") == out


def test_only_winners_among_tried_solutions(text, given):
    log = text("hipblaslt_bench_from_documentation.log")
    header, values = (
        next(line for line in log.split("\n") if word in line) for word in ("transA", "N,T,")
    )
    slower = values.replace("1848.09", "3696.18").replace("709258", "354629")
    result = read_hipblaslt(f"{header}\n{slower}\n{values}\nWinner:\n{header}\n{values}\n", given())
    assert [record["measured"]["isolated"]["gemm"] for record in result.records] == [1848.09]
    assert "1 winners are taken; 2 lines" in result.warnings[0]


def test_rocblas_bench_takes_the_data_type_from_the_command(text, given, written):
    result = read_rocblas(text("rocblas_bench_from_documentation.log"), given(node="mi300x-8"))
    (record,) = written(result)
    task = record.workload.tasks["gemm"]
    assert (task.m, task.dtype, task.library, task.inputs) == (4000, "fp32", "rocblas", "warm")
    assert (record.samples, record.software) == (10, "rocBLAS 4.2.0.88df9726")


def test_rocblas_bench_never_invents_a_data_type(text, given):
    log = "\n".join(
        line
        for line in text("rocblas_bench_from_documentation.log").split("\n")
        if "./" not in line
    )
    result = read_rocblas(log, given())
    assert not result.records and "does not state the data type" in result.warnings[0]
    (record,) = read_rocblas(log, given(assume={"dtype": "fp32"})).records
    assert record["source"] == "a log; assumed by the user: dtype=fp32"


@pytest.mark.parametrize(
    ("old", "new", "expected", "partial"),
    [
        (",1280\n", "\n", "line 4: got 11 values; expected 12: transa,transb,m,n,k", True),
        (",4000,4000,4000,1,", ",4000,4000,x,1,", "line 4: 'x' is not a whole number", True),
        (
            ",100000,1280",
            ",200000,1280",
            "line 4: the rate (Gflops) does not follow from shape and time",
            True,
        ),
        ("-r f32_r", "-r i8_r", "line 4: GEMM left out: operands of type i8_r", False),
        (
            "N,N,4000,4000,4000,1,4000,0,4000,4000,100000,1280\n",
            "",
            "line 1: no values; expected",
            True,
        ),
    ],
)
def test_damage_is_named_with_its_line(old, new, expected, partial, text, given):
    log = text("rocblas_bench_from_documentation.log")
    assert old in log
    result = read_rocblas(log.replace(old, new), given())
    assert not result.records and result.partial == partial
    assert any(warning.startswith(expected) for warning in result.warnings), result.warnings

"""rocprofv3 kernel traces. The fixture is written from documentation: it was never measured."""

from __future__ import annotations

import pytest

from c3sim.importers import rocprof as rocprofv3

SIZES = {
    "m": "8192",
    "n": "8192",
    "k": "8192",
    "dtype": "bf16",
    "op": "all_reduce",
    "size": str(2**29),
}


def test_overlap_and_slowdowns_need_no_sizes(text, given):
    result = rocprofv3.read(
        text("rocprofv3_kernel_trace_from_documentation.csv"), given(node="mi300x-8")
    )
    assert not result.records and not result.partial
    assert {kernel.kind: kernel.slowdown for kernel in result.kernels} == {
        "gemm": pytest.approx(2200 / 1650),
        "collective": pytest.approx(4300 / 3600),
    }
    assert result.overlaps[0].both_us == 2200
    assert result.overlaps[0].exposed_us == 3600 + 4300 - 2200  # nothing else computes
    assert sum("a kernel trace has no sizes" in warning for warning in result.warnings) == 2


def test_with_sizes_from_the_user_it_gives_records(text, given, written):
    result = rocprofv3.read(
        text("rocprofv3_kernel_trace_from_documentation.csv"), given(node="mi300x-8", assume=SIZES)
    )
    records = {record.suite: record for record in written(result)}
    together = records["rocprofv3_concurrent"]
    assert together.measured.isolated == {"reduce": 3600.0, "gemm": 1650.0}
    assert (
        together.measured.tasks["gemm"].time_us == 2300.0
        and together.measured.tasks["gemm"].start_us == 100.0
    )
    reduce, gemm = together.workload.tasks["reduce"], together.workload.tasks["gemm"]
    assert (reduce.backend, reduce.channels, gemm.macro_tile) == ("rccl", 56, (256, 224))
    assert "assumed by the user: m=8192" in together.source


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda text: text[:-40], "line 5: got 11 values; expected 22; the line is cut off"),
        (
            lambda text: text.replace(",1001650000,", ",10o1650000,"),
            "line 2: '10o1650000' is not a whole number",
        ),
        (
            lambda text: text.replace(",1001650000,", ",900000000,"),
            "line 2: start 1000000000 and end 900000000; expected",
        ),
        (lambda text: text.replace("End_Timestamp", "Ended"), "line 1: no column End_Timestamp"),
        (lambda text: text.split("\n")[0], "line 1: no kernel below the line of column names"),
    ],
)
def test_damage_is_named_with_its_line(change, expected, text, given):
    result = rocprofv3.read(change(text("rocprofv3_kernel_trace_from_documentation.csv")), given())
    assert result.partial
    assert any(warning.startswith(expected) for warning in result.warnings), result.warnings

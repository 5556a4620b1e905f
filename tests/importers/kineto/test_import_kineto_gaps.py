"""Traces that lack something or are damaged: copies of a real one, changed here."""

from __future__ import annotations

import json

from kineto_case import kernels

from c3sim.importers import kineto


def test_a_trace_without_shapes_and_metadata_says_what_is_missing(trace, given):
    document = json.loads(trace)
    for event in document["traceEvents"]:
        args = event.get("args", {})
        for key in ("Input Dims", "In msg nelems", "Out msg nelems", "Collective name"):
            args.pop(key, None)
    result = kineto.read(json.dumps(document), given())
    assert not result.records and result.overlaps[0].both_us > 2000
    assert any("operator mm has no input shapes" in warning for warning in result.warnings)
    assert any("no metadata with its size" in warning for warning in result.warnings)
    sizes = {"m": "4096", "n": "4096", "k": "4096", "dtype": "bf16", "size": str(2**27)}
    assert len(kineto.read(json.dumps(document), given(assume=sizes)).records) == 2


def test_sizes_are_found_by_the_launch_when_kernels_have_no_external_id(trace, given):
    document = json.loads(trace)
    for event in kernels(document, ""):
        for key in (
            "External id",
            "Collective name",
            "In msg nelems",
            "Out msg nelems",
            "dtype",
            "Group size",
        ):
            event["args"].pop(key, None)
    result = kineto.read(json.dumps(document), given(gpus=4))
    assert len(result.records) == 2 and "gather" in result.records[1]["workload"]["tasks"]


def test_a_group_smaller_than_the_node_is_left_out(trace, given):
    result = kineto.read(trace, given(node="mi300x-8", gpus=8))
    assert not result.records
    assert any(
        "measured on 4 GPUs, but node 'mi300x-8' has 8" in warning for warning in result.warnings
    )


def test_amd_traces_name_rccl_though_its_kernels_are_called_nccl(trace, given):
    document = json.loads(trace)
    for device in document["deviceProperties"]:
        device["name"] = "AMD Instinct MI300X"
    tasks = kineto.read(json.dumps(document), given()).records[0]["workload"]["tasks"]
    assert tasks["gather"]["backend"] == "rccl"


def test_two_gemm_kernels_of_one_operator_have_no_shape_of_their_own(trace, given):
    document = json.loads(trace)
    first = kernels(document, "nvjet")[0]
    document["traceEvents"].append({**first, "ts": first["ts"] + 1e5})
    warnings = kineto.read(json.dumps(document), given()).warnings
    assert any("its operator launched 2 GEMM kernels" in warning for warning in warnings)


def test_a_cut_trace_keeps_the_kernels_before_the_cut(trace, given):
    cut = trace[: trace.index('"cat": "kernel"', trace.index("GeluCUDA")) + 4000]
    result = kineto.read(cut, given())
    assert result.partial and result.kernels
    lost = next(remark for remark in result.remarks if remark.lost)
    assert "the file is cut off" in lost.message and lost.line == cut.count("\n") + 1


def test_a_damaged_event_is_named_and_the_others_are_read(trace, given):
    document = json.loads(trace)
    del kernels(document, "Gelu")[0]["dur"]
    result = kineto.read(json.dumps(document), given())
    assert result.partial and len(result.records) == 2
    assert "no 'dur'; expected ts and dur" in result.warnings[0]


def test_a_trace_without_kernels(given):
    result = kineto.read(
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm"}]}', given()
    )
    assert result.partial and "no kernel in the trace" in result.warnings[0]

"""TransferBench: presets p2p, scaling, a2a, and tests from a file; text and CSV."""

from __future__ import annotations

import pytest

from c3sim.importers import transferbench


@pytest.mark.parametrize("suffix", ["txt", "csv"])
def test_p2p(suffix, text, given, written):
    result = transferbench.read(text(f"transferbench_p2p_h200x4.{suffix}"), given(gpus=4))
    records = {record.workload.name: record for record in written(result)}
    one_way = [record for record in records.values() if record.suite == "transferbench_p2p_uni"]
    assert len(one_way) == 20 and len(records) == 24 and not result.partial
    rate = {"txt": 192.97, "csv": 199.45}[suffix]
    record = records["copy GPU3 to GPU1"]
    task = record.workload.tasks["copy"]
    assert record.measured.isolated["copy"] == pytest.approx(67108864 / rate / 1e3, abs=1e-4)
    assert (task.peer, task.executor, task.workgroups, task.gpus) == (2, "kernel", 132, "first")
    assert (record.software, record.samples) == ("TransferBench 1.52", 10)
    assert records["local copy on GPU2"].workload.tasks["copy"].destination == "gpu"
    assert records["copy GPU1 to CPU0"].workload.tasks["copy"].destination == "host"


def test_both_directions_are_carried_over_only_for_pairs_at_half_the_gpus(text, given, written):
    result = transferbench.read(text("transferbench_p2p_h200x4.txt"), given())
    both = [record for record in written(result) if record.suite == "transferbench_p2p_bidir"]
    assert [record.workload.name for record in both] == [
        f"p2p GPU{a} to GPU{b} and back" for a, b in ((0, 2), (1, 3), (2, 0), (3, 1))
    ]
    assert both[0].measured.isolated["copy"] == pytest.approx(2 * 67108864 / 377.07 / 1e3, abs=1e-4)
    assert both[0].workload.tasks["copy"].gpus == "all"
    left_out = [warning for warning in result.warnings if "left out" in warning]
    assert left_out[0].startswith("line 43: copy from CPU left out") and "8 of them" in left_out[1]


def test_scaling(text, given, written):
    records = written(transferbench.read(text("transferbench_scaling_h200x4.txt"), given()))
    assert len(records) == 32 * 5
    by_name = {record.workload.name: record for record in records}
    peer = by_name["copy GPU0 to GPU3, 17 CUs"]
    assert peer.measured.isolated["copy"] == pytest.approx(67108864 / 196.65 / 1e3, abs=1e-4)
    assert (peer.workload.tasks["copy"].workgroups, peer.workload.tasks["copy"].peer) == (17, 3)
    assert by_name["local copy on GPU0, 1 CUs"].workload.tasks["copy"].destination == "gpu"


def test_all_to_all_is_a_record_as_seen_by_each_gpu(text, given, written):
    records = written(transferbench.read(text("transferbench_a2a_h200x4.txt"), given()))
    assert [record.workload.name[-4:] for record in records] == ["GPU0", "GPU1", "GPU2", "GPU3"]
    second = records[1]
    assert {name: task.peer for name, task in second.workload.tasks.items()} == {
        "to1": 1,
        "to2": 2,
        "to3": 3,
    }
    # GPU1 -> GPU0 is offset 3: 90.840 GB/s
    assert second.measured.tasks["to3"].time_us == pytest.approx(67108864 / 90.840 / 1e3, abs=1e-4)
    assert second.measured.wall_us == pytest.approx(201326592 / 265.107 / 1e3, abs=1e-4)


def test_all_to_all_from_its_matrix_alone(text, given):
    lines = [
        line for line in text("transferbench_a2a_h200x4.txt").split("\n") if "Transfer " not in line
    ]
    result = transferbench.read("\n".join(lines), given())
    assert len(result.records) == 4 and not result.partial
    assert result.records[1]["measured"]["tasks"]["to3"]["time_us"] == pytest.approx(
        738.759, abs=1e-2
    )


@pytest.mark.parametrize("suffix", ["txt", "csv"])
def test_tests_from_a_file(suffix, text, given, written):
    result = transferbench.read(
        text(f"transferbench_tests_from_documentation.{suffix}"), given(gpus=8)
    )
    kernel, dma = (record.workload.tasks["copy"] for record in written(result))
    assert (kernel.executor, kernel.workgroups, kernel.peer) == ("kernel", 4, 1)
    assert (dma.executor, dma.workgroups, dma.peer) == ("dma", None, 7)
    if suffix == "txt":
        assert "test 'T3' left out: executor C" in result.warnings[0]


@pytest.mark.parametrize(
    ("name", "cut", "expected", "records"),
    [
        (
            "p2p_h200x4.txt",
            "  GPU 02  ->     46.78       194.33",
            "expected 5, one per device; the line may be cut off",
            10,
        ),
        (
            "p2p_h200x4.csv",
            "  GPU 02 <->",
            "the bidirectional table lacks the rows of GPU 02, GPU 03",
            22,
        ),
        ("scaling_h200x4.txt", "  20     48.86", "got 1 rates; expected 5", 95),
        ("a2a_h200x4.txt", "     Transfer 05  |", "5 of 12 transfers are in the log", 0),
        (
            "p2p_h200x4.txt",
            "Bytes Per Direction",
            "no results in the log; expected a p2p or scaling table",
            0,
        ),
    ],
)
def test_a_cut_file_keeps_what_was_read_and_says_so(name, cut, expected, records, text, given):
    whole = text(f"transferbench_{name}")
    result = transferbench.read(whole[: whole.index(cut) + len(cut)], given())
    assert result.partial and len(result.records) == records
    assert any(expected in warning for warning in result.warnings), result.warnings


def test_a_rate_that_is_no_number_is_named_with_its_line(text, given):
    damaged = text("transferbench_scaling_h200x4.txt").replace(
        "160.14       211", "16o.14       211"
    )
    result = transferbench.read(damaged, given())
    number = damaged[: damaged.index("16o.14")].count("\n") + 1
    assert result.warnings == (f"line {number}: '16o.14' is not a number; expected 5 rates",)
    assert len(result.records) == 155


@pytest.mark.parametrize(
    ("gpu", "where"), [("NVIDIA H200", "managed"), ("AMD Instinct MI300X", "value"), ("", "value")]
)
def test_kernels_of_the_tool_built_for_nvidia_have_managed_parameters(
    gpu, where, text, given, written
):
    """Copies by engines launch no kernel."""
    for name in ("transferbench_scaling_h200x4.txt", "transferbench_a2a_h200x4.txt"):
        for record in written(transferbench.read(text(name), given(gpu=gpu))):
            for task in record.workload.tasks.values():
                expected = where if task.executor == "kernel" else "value"
                assert task.parameters == expected

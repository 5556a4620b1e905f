"""A made trace of one rank, and the workload that follows from it by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kineto_case import MadeTrace

from c3sim.errors import InputError
from c3sim.importers.workloads.build import Built, build
from c3sim.importers.workloads.imported import replay
from c3sim.importers.workloads.trace import read_trace
from c3sim.importers.workloads.translate import translate
from c3sim.models.memory import memory_given
from c3sim.simulation.runs import isolated
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.hardware import load_node
from c3sim.spec.workload import Workload

NODE = load_node("h200-2")
GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
ADD = "void at::native::vectorized_elementwise_kernel<8, add>"
SHAPE = {"grid": [4096, 1, 1], "block": [128, 1, 1], "registers per thread": 32}
ROWS, COLUMNS = 4096, 4096
DIMS = [[ROWS, COLUMNS], [ROWS, COLUMNS]]


def two_layers() -> MadeTrace:
    """Two times a GEMM and an addition; the second GEMM and the first addition run beside an
    all-gather. The host launches all but the last addition before the first kernel begins.
    """
    made = MadeTrace()
    made.kernel(GEMM, 1000, 200, called=100, operator="aten::mm", dims=DIMS)
    made.kernel(ADD, 1202, 40, called=110, operator="aten::add", dims=DIMS, **SHAPE)
    made.gather(1205, 300, mib=64, ranks=2, called=120)
    made.kernel(GEMM, 1244, 260, called=130, operator="aten::mm", dims=DIMS)
    made.kernel(ADD, 1600, 30, called=1560, operator="aten::add", dims=DIMS, **SHAPE)
    return made


def built(made: MadeTrace, wanted: int | None = None) -> Built:
    return build([read_trace(made.text(), "made.json")], NODE, wanted)


def tasks(made: MadeTrace, wanted: int | None = None) -> dict[str, dict[str, Any]]:
    return built(made, wanted).workload["tasks"]


def test_kernels_keep_their_streams_and_the_order_of_their_launches() -> None:
    found = tasks(two_layers())
    assert list(found) == ["gemm_1", "add_2", "all_gather_3", "gemm_4", "add_5"]
    streams = [task["stream"] for task in found.values()]
    assert streams == ["compute", "compute", "comm", "compute", "compute"]


def test_a_gemm_has_its_operators_shape_and_takes_what_it_took_alone() -> None:
    """200 us; the 260 us beside the all-gather are no isolated time."""
    made = built(two_layers())
    first, second = (made.workload["tasks"][name] for name in ("gemm_1", "gemm_4"))
    assert first == second
    assert (first["m"], first["n"], first["k"]) == (ROWS, COLUMNS, COLUMNS)
    run = isolated(NODE, Workload.model_validate(made.workload), "gemm_1")
    seen = NODE.gpu.kernels.completion_latency
    assert run.end - run.start - seen == pytest.approx(200e-6, rel=0.01)


def test_another_kernel_has_its_shortest_time_alone_and_its_operands() -> None:
    """30 us; two operands of 32 MiB are read, and one is written. 128 threads of 32 registers are 4
    of 64 warps and 128 of 2048 registers: 16 workgroups share a unit.
    """
    added = tasks(two_layers())["add_2"]
    assert added["time"] == pytest.approx(30e-6)
    assert (added["workgroups"], added["per_unit"]) == (4096, 16)
    assert (added["operator"], added["kind"]) == ("elementwise", "kernel")
    # 96 MiB are less than memory moves in 30 us (4.8 TB/s: 137 MiB)
    assert (added["read"], added["written"]) == (2 * 2**25, 2**25)


def test_a_collective_has_its_size_and_no_time_of_its_own() -> None:
    """From a trace of one rank nobody knows how long its peers let it wait."""
    gather = tasks(two_layers())["all_gather_3"]
    assert (gather["op"], gather["size"], gather["channels"]) == ("all_gather", 64 * 2**20, 16)
    assert not {"time", "speed", "peers_late"} & set(gather)


def test_the_host_needs_time_only_for_what_it_launched_late() -> None:
    """The iteration begins 5.46 us (the dispatch of a kernel) before 1000. The last launch returns
    at 1564, but a kernel that begins at 1600 is dispatched no later than 1600 - 5.46.
    """
    found = built(two_layers()).workload
    assert found["host"]["launch"] == "eager"
    times = [task["launch_time"] for task in found["tasks"].values()]
    begin = 1000 - 1e6 * NODE.gpu.kernels.dispatch_latency
    assert times == pytest.approx([0, 0, 0, 0, (1564 - begin) * 1e-6])


def test_all_launched_before_the_first_kernel_is_queued() -> None:
    made = MadeTrace()
    for number in range(3):
        made.kernel(ADD, 1000 + 50 * number, 30, called=10 * number)
    assert built(made).workload["host"]["launch"] == "queued"
    assert "launch_time" not in next(iter(tasks(made).values()))


def test_the_gap_of_a_stream_is_measured_where_kernels_were_there_in_time() -> None:
    """Ends and starts are 4 us apart."""
    made = MadeTrace()
    for number in range(8):
        made.kernel(ADD, 1000 + 50 * number, 46, called=10 * number)
    assert built(made).workload["host"]["kernel_gap"] == pytest.approx(4e-6)


def test_a_launch_behind_a_synchronisation_waits_for_what_the_host_waited_for() -> None:
    """The first kernel ends at 1100, the host's call returns at 1110 and the second launch at 1124:
    24 us behind the end.
    """
    made = MadeTrace()
    made.kernel(ADD, 1000, 100, called=900)
    made.call("cudaStreamSynchronize", 910, 200)
    made.kernel(ADD, 1140, 100, called=1120)
    second = tasks(made)["kernel_2"]
    assert second["launch_after"] == ["kernel_1"]
    assert second["launch_time"] == pytest.approx(24e-6)


def test_kernels_of_a_graph_are_launched_together() -> None:
    """One call, which returns at 1014, launches three kernels."""
    made = MadeTrace()
    made.kernel(ADD, 900, 100, called=10)
    for start in (1060, 1170, 1280):
        made.kernel(ADD, start, 100)
        made.events[-1]["args"]["correlation"] = 77
    launch = made.call("cudaGraphLaunch", 1010, 4)
    made.events[-1]["args"]["correlation"] = 77
    assert launch != 77
    times = [task["launch_time"] for task in tasks(made).values()]
    begin = 900 - 1e6 * NODE.gpu.kernels.dispatch_latency
    assert times == pytest.approx([0, (1014 - begin) * 1e-6, 0, 0])


def test_a_kernel_that_never_ran_alone_takes_what_its_bytes_take() -> None:
    made = MadeTrace()
    made.kernel(ADD, 1000, 100, called=10, operator="aten::add", dims=DIMS, **SHAPE)
    made.kernel(ADD, 1000, 100, called=20, stream=8, operator="aten::mul", dims=DIMS, **SHAPE)
    found = built(made)
    for task in found.workload["tasks"].values():
        assert "time" not in task and task["read"] == 2 * 2**25
    assert any("never ran alone" in guess for guess in found.guesses)


def test_a_kernel_of_which_nothing_is_known_is_guessed_and_said() -> None:
    made = MadeTrace()
    made.kernel("mystery", 1000, 100, called=10)
    found = built(made)
    task = found.workload["tasks"]["kernel_1"]
    assert task["time"] == pytest.approx(100e-6) and task["read"] > 0
    assert any("unknown operands" in guess for guess in found.guesses)
    assert "unknown operands" in found.workload["description"]


def test_a_grid_that_fills_the_gpu_once_is_taken_to_stay() -> None:
    made = MadeTrace()
    big = {"block": [384, 1, 1], "registers per thread": 168}
    made.kernel("flash_fprop", 1000, 100, called=10, grid=[132, 1, 1], **big)
    made.kernel("flash_fprop", 1200, 100, called=20, grid=[131, 1, 1], **big)
    first, second = tasks(made).values()
    assert first["per_unit"] == 1 and first["tiles"] > first["workgroups"]
    assert "tiles" not in second


def test_attention_has_its_flop() -> None:
    """4 B H S_q S_k D of the kernel that multiplies."""
    made = MadeTrace()
    heads = [2, 8, 1024, 128]
    made.kernel(
        *("flash_fprop", 1000, 100),
        **{"called": 10, "operator": "aten::_flash_attention_forward", "dims": [heads] * 3},
    )
    (task,) = tasks(made).values()
    assert task["operator"] == "attention"
    assert task["flops"] == 4 * 2 * 8 * 1024 * 1024 * 128


def test_what_an_operator_fills_takes_no_part_of_its_work() -> None:
    """The kernel that multiplies does all FLOP of its operator and moves all its bytes."""

    def attention(fill: bool) -> dict[str, Any]:
        made = MadeTrace()
        args = {"operator": "aten::_flash_attention_forward", "dims": [[2, 8, 1024, 128]] * 3}
        made.kernel("flash_fprop", 1000, 100, called=10, **args)
        if fill:  # by the same call of the operator
            made.kernel("Memset (Device)", 900, 1, called=10, category="gpu_memset", **args)
        return next(task for task in tasks(made).values() if task.get("flops"))

    assert attention(fill=True) == attention(fill=False)


def test_a_large_copy_from_the_host_is_one_of_the_engines() -> None:
    made = MadeTrace()
    for size in (1000, 2**26):
        made.kernel(
            *("Memcpy HtoD (Pinned -> Device)", 1000 + size, 100),
            **{"called": 10, "category": "gpu_memcpy", "bytes": size},
        )
    small, large = tasks(made).values()
    assert (small["kind"], small["time"]) == ("kernel", pytest.approx(100e-6))
    assert (large["kind"], large["source"], large["bytes"]) == ("copy", "host", 2**26)


def test_the_replay_is_as_long_as_the_trace() -> None:
    """A row of kernels alone, 4 us apart: 8 x 46 + 7 x 4 us, and the end is seen 1.5 us later."""
    made = MadeTrace()
    for number in range(8):
        made.kernel(ADD, 1000 + 50 * number, 46, called=10 * number)
    found = built(made)
    again = replay(found, Workload.model_validate(found.workload), NODE)
    assert found.wall == 396
    assert again.wall == pytest.approx(396 + 1.5, abs=0.1)
    assert len(again.lines(found)) == 1


def test_a_replay_that_is_off_says_which_kernels() -> None:
    """An all-gather that took 40 times the model, beside a kernel: nobody can know why."""
    made = MadeTrace()
    made.gather(1000, 20000, mib=64, ranks=2, called=10)
    made.kernel(ADD, 1000, 100, called=20)
    found = built(made)
    lines = replay(found, Workload.model_validate(found.workload), NODE).lines(found)
    assert "-9" in lines[0]
    assert "ncclDevKernel_AllGather" in lines[2]
    assert "give the traces of all" in lines[-1]


def test_what_a_collective_took_alone_beyond_the_model_is_waiting_for_peers() -> None:
    """One rank of two: 1000 us for 64 MiB, with nothing beside it."""
    made = MadeTrace(ranks=2)
    made.gather(1000, 1000, mib=64, ranks=2, called=10, stream=7)
    found = built(made)
    (task,) = found.workload["tasks"].values()
    alone = isolated(NODE, Workload.model_validate(found.workload), "all_gather_1")
    model = alone.end - alone.start - NODE.gpu.kernels.completion_latency
    assert task["peers_late"] == pytest.approx(1000e-6 - model, rel=1e-6)
    assert any("waiting for peers" in guess for guess in found.guesses)


def test_another_node_runs_it_with_its_own_libraries() -> None:
    """MI300X has neither cuBLAS nor NCCL; two GPUs of the trace make four groups of eight."""
    other = load_node("mi300x-8")
    found = build([read_trace(two_layers().text(), "made.json")], other, None)
    gemm, gather = (found.workload["tasks"][name] for name in ("gemm_1", "all_gather_3"))
    assert "library" not in gemm and "backend" not in gather
    assert gather["group"] == 2
    assert any("2 GPUs is of GPUs that follow each other" in guess for guess in found.guesses)


def test_the_text_loads_as_what_was_built(tmp_path) -> None:
    from c3sim.importers.workloads.imported import workload_text
    from c3sim.spec.reading.loading import load_workload

    found = built(two_layers())
    file = tmp_path / "w.yaml"
    file.write_text(workload_text(found), encoding="utf-8")
    loaded, made = load_workload(str(file)), Workload.model_validate(found.workload)
    assert list(loaded.tasks) == list(made.tasks)
    for name, task in loaded.tasks.items():
        for key, value in json.loads(made.tasks[name].model_dump_json()).items():
            got = json.loads(task.model_dump_json())[key]
            same = got == (pytest.approx(value, rel=1e-4) if isinstance(value, float) else value)
            assert same, (name, key)


def test_a_translated_iteration_is_of_the_other_nodes_libraries() -> None:
    """From two H200 to eight MI300X. The addition moves 96 MiB, a third of them stores, and takes
    what memory takes: from one GPU's to the other's time goes with what memory gives. A kernel of
    4 B keeps its time. Collectives stay among two GPUs: four pairs of the node.
    """
    made = two_layers()
    made.kernel(ADD, 1700, 2, called=1660, operator="aten::fill_", dims=[[1]], **SHAPE)
    found, other = built(made), load_node("mi300x-8")
    before = {name: dict(task) for name, task in found.workload["tasks"].items()}
    translate(found, NODE, other)
    after = found.workload["tasks"]
    assert "library" not in after["gemm_1"] and "backend" not in after["all_gather_3"]
    assert after["all_gather_3"]["group"] == 2
    faster = memory_given(other.gpu, 1 / 3) / memory_given(NODE.gpu, 1 / 3)
    assert before["add_2"]["time"] / after["add_2"]["time"] == pytest.approx(faster, rel=1e-9)
    (last,) = [name for name in after if name.endswith("_6")]
    assert after[last]["time"] == before[last]["time"]
    check_on_node(Workload.model_validate(found.workload), other)
    assert any("hipblaslt" in guess for guess in found.guesses)
    assert found.workload["node"] == "mi300x-8"


def test_collectives_of_eight_do_not_fit_two() -> None:
    made = MadeTrace()
    made.gather(1000, 300, mib=64, ranks=8, called=10)
    with pytest.raises(InputError, match="has 2 GPUs, the trace's collectives are among 8"):
        eight = load_node("h200-8")
        translate(build([read_trace(made.text(), "made.json")], eight, None), eight, NODE)

"""Chakra traces as workloads.

data/chakra_fsdp_h200x2/step2.0.et: step 2 of data/fsdp_h200x2, rank 0, as a Chakra trace, written
with the schema of mlc-chakra 1.0.0 by ``python tests/support/chakra_case.py``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import c3sim
from c3sim.errors import C3simError
from c3sim.importers import import_iteration
from c3sim.importers.chakra import read_graph
from c3sim.importers.chakra_runs import TASK, WORKLOAD, workload_of
from c3sim.importers.chakra_schema import messages, new_node, packed
from c3sim.importers.workloads.imported import Imported
from c3sim.spec.reading.hardware import load_node

pytestmark = pytest.mark.turns(5)

NODE = load_node("h200-2")
STEP = Path(__file__).parents[1] / "data" / "chakra_fsdp_h200x2" / "step2.0.et"
METADATA, SCHEMA = messages()
COMP, COLLECTIVE = "COMP_NODE", "COMM_COLL_NODE"
SHAPES = [[4096, 2048], [2048, 1024]]
TYPES = ["c10::BFloat16", "c10::BFloat16"]


def made(number: int, name: str = "kernel", kind: str = COMP, **fields: Any) -> Any:
    return new_node(number, name, kind, **fields)


def imported(folder: Path, *nodes: Any, side: str = "") -> Imported:
    (folder / "trace.et").write_bytes(packed([METADATA(version="1.0.0"), *nodes]))
    (folder / "side.yaml").write_text(side, encoding="utf-8")
    given = folder / "side.yaml" if side else None
    return import_iteration([folder / "trace.et"], NODE, None, side=given)


def tasks(found: Imported) -> list[dict[str, Any]]:
    return list(found.built.workload["tasks"].values())


def test_a_real_step_is_replayed_within_5_percent() -> None:
    """As many tasks of each kind as the profiler's trace of the step gives, with its bytes."""
    found = import_iteration([STEP], NODE, None)
    kinds = [task["kind"] for task in tasks(found)]
    assert (len(kinds), kinds.count("collective"), kinds.count("gemm")) == (310, 12, 48)
    assert {task["size"] for task in tasks(found) if task["kind"] == "collective"} == {436224000}
    assert abs(found.replay.error) < 0.05


def test_json_gives_what_protobuf_gives(tmp_path: Path) -> None:
    """Objects one after the other, as Chakra's own tool writes them."""
    from google.protobuf.json_format import MessageToJson

    nodes = [
        made(1, duration_micros=40, start_time_micros=5),
        made(
            2,
            "all",
            COLLECTIVE,
            data_deps=[1],
            start_time_micros=50,
            duration_micros=90,
            attr={"comm_type": 0, "comm_size": 2**24},
        ),
    ]
    binary = imported(tmp_path, *nodes)
    text = "".join(MessageToJson(each) for each in (METADATA(version="1.0.0"), *nodes))
    (tmp_path / "trace.json").write_text(text, encoding="utf-8")
    assert tasks(import_iteration([tmp_path / "trace.json"], NODE, None)) == tasks(binary)


def test_dependencies_are_followed_through_the_host(tmp_path: Path) -> None:
    """The reduction waits for a node of the host that waits for the kernel."""
    host = made(2, "aten::wait", data_deps=[1], attr={"is_cpu_op": True})
    reduce = made(
        3,
        "all",
        COLLECTIVE,
        ctrl_deps=[2],
        start_time_micros=60,
        duration_micros=9,
        attr={"comm_type": 0, "comm_size": 2**24},
    )
    first = made(1, start_time_micros=1, duration_micros=50)
    kernel, collective = imported(tmp_path, first, host, reduce).built.workload["tasks"].items()
    assert collective[1]["after"] == [kernel[0]]


@pytest.mark.parametrize(
    ("number", "op", "size"),
    [
        (0, "all_reduce", 2**24),
        (2, "all_gather", 2**25),
        (6, "all_to_all", 2**24),
        (7, "reduce_scatter", 2**24),
    ],
)
def test_comm_size_is_what_goes_in(tmp_path: Path, number: int, op: str, size: int) -> None:
    """The full buffer of an all-gather on two GPUs is twice that."""
    attr = {"comm_type": number, "comm_size": 2**24}
    (task,) = tasks(imported(tmp_path, made(1, "c", COLLECTIVE, attr=attr)))
    assert (task["op"], task["size"]) == (op, size)


def test_a_side_file_says_what_comm_size_is_and_how_large_groups_are(tmp_path: Path) -> None:
    attr = {"comm_type": 2, "comm_size": 2**24, "pg_name": "tensor"}
    gather = made(1, "c", COLLECTIVE, attr=attr)
    (task,) = tasks(imported(tmp_path, gather, side="sizes: buffer"))
    assert task["size"] == 2**24
    four = imported(tmp_path, gather, side="groups: {tensor: 4}")
    assert tasks(four)[0]["size"] == 2**26
    assert any("collective of 4 GPUs" in guess for guess in four.built.guesses)


def test_without_start_times_durations_count_only_where_they_are_said_to_be_alone(
    tmp_path: Path,
) -> None:
    """A time from beside others is never copied."""
    kernel = made(1, duration_micros=500, shapes=[[1048576]], types=["float"])
    unknown = imported(tmp_path, kernel)
    assert "time" not in tasks(unknown)[0]
    assert any("durations are left out" in guess for guess in unknown.built.guesses)
    alone = imported(tmp_path, kernel, side="durations: alone")
    assert tasks(alone)[0]["time"] == pytest.approx(500e-6)
    assert alone.replay.lines(alone.built)[0].endswith("the trace has no times to compare with")


def test_without_start_times_nodes_keep_the_order_of_their_dependencies(tmp_path: Path) -> None:
    """The file has the second kernel first."""
    found = imported(
        tmp_path,
        made(1, "second", data_deps=[2], duration_micros=9),
        made(2, duration_micros=7),
        side="durations: alone",
    )
    assert [task["time"] for task in tasks(found)] == pytest.approx([7e-6, 9e-6])


def test_gemms_have_the_shape_of_their_operator_or_that_of_the_side_file(tmp_path: Path) -> None:
    operator = made(1, "aten::mm", attr={"is_cpu_op": True})
    kernel = made(2, "nvjet_gemm", ctrl_deps=[1], shapes=SHAPES, types=TYPES)
    (task,) = tasks(imported(tmp_path, operator, kernel))
    assert (task["kind"], task["m"], task["n"], task["k"]) == ("gemm", 4096, 1024, 2048)
    bare = made(1, "nvjet_tst")
    side = "nodes: [{name: nvjet, gemm: [512, 256, 128], dtype: fp16, time: 9 us}]"
    (task,) = tasks(imported(tmp_path, bare, side=side))
    assert [task[name] for name in ("m", "n", "k", "dtype")] == [512, 256, 128, "fp16"]
    assert task["speed"] != 1.0


@pytest.mark.parametrize(
    ("nodes", "side", "message"),
    [
        ([made(1, data_deps=[2]), made(2, data_deps=[1])], "", "in a circle"),
        ([made(1, attr={"is_cpu_op": True})], "", "no node of it runs on a GPU"),
        ([made(1)], "durations: perhaps", "alone"),
        ([made(1)], "nodes: [{name: '('}]", "no regular expression"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, nodes: list[Any], side: str, message: str) -> None:
    with pytest.raises(C3simError, match=message):
        imported(tmp_path, *nodes, side=side)


@pytest.mark.parametrize("size", [3, 40, 5000])
def test_a_trace_that_is_cut_off_is_refused(tmp_path: Path, size: int) -> None:
    (tmp_path / "cut.et").write_bytes(STEP.read_bytes()[:size])
    with pytest.raises(C3simError, match="Chakra trace"):
        import_iteration([tmp_path / "cut.et"], NODE, None)


def test_records_tell_a_gemm_whatever_its_name(tmp_path: Path) -> None:
    """The FLOP are those of the product of its inputs: 2 M N K."""
    flops = 2 * 4096 * 1024 * 2048
    about = {"shapes": SHAPES, "types": TYPES}
    gemm = made(1, "attention.query", attr={"num_ops": flops}, **about)
    other = made(2, "attention.query", attr={"num_ops": flops + 2}, **about)
    first, second = tasks(imported(tmp_path, gemm, other))
    assert (first["kind"], first["m"], first["n"], first["k"]) == ("gemm", 4096, 1024, 2048)
    assert second["kind"] == "kernel"


def test_a_node_without_shapes_takes_its_flop_or_its_bytes(tmp_path: Path) -> None:
    """As generators write, which know neither shapes nor times: 10^12 FLOP at 989.4 Tflop/s, the
    dense bf16 rate in the data sheet of H200, take 1.01 ms at least."""
    found = imported(tmp_path, made(1, attr={"num_ops": 10**12, "tensor_size": 10**6}))
    (task,) = tasks(found)
    assert (task["read"], task["written"], task["flops"]) == (500_000, 500_000, 10**12)
    assert found.replay.wall > 1000
    assert any("at the peak" in guess for guess in found.built.guesses)


def test_without_edges_work_is_chained_by_stream(tmp_path: Path) -> None:
    """Two streams side by side: with start times a kernel that begins as another ends waits."""
    nodes = [
        made(
            number, f"k{number}", start_time_micros=start, duration_micros=100, attr={"stream": on}
        )
        for number, start, on in ((1, 10, 7), (2, 111, 20), (3, 212, 7))
    ]
    found = imported(tmp_path, *nodes)
    first, second, third = found.built.workload["tasks"].items()
    assert second[1]["after"] == [first[0]] and third[1]["after"] == [second[0]]
    for each in nodes:
        each.start_time_micros = 0
    untimed = imported(tmp_path, *nodes)
    assert all("after" not in task for task in tasks(untimed))
    for each in (found, untimed):
        assert any("chained by stream" in guess for guess in each.built.guesses)


def test_ranks_meet_at_their_collectives(tmp_path: Path) -> None:
    """Rank 0 comes 300 us before rank 1: rank 1, which waits least, is simulated."""
    attr = {"comm_type": 0, "comm_size": 2**24}
    for rank, start in ((0, 100), (1, 400)):
        kernel = made(1, start_time_micros=1, duration_micros=start - 1)
        reduce = made(2, "all", COLLECTIVE, data_deps=[1], attr=attr)
        reduce.start_time_micros, reduce.duration_micros = start, 500 - start
        data = packed([METADATA(version="1.0.0"), kernel, reduce])
        (tmp_path / f"step.{rank}.et").write_bytes(data)
    found = import_iteration([tmp_path], NODE, None)
    assert "rank 1 of 2" in found.built.workload["source"]
    assert "peers_late" not in tasks(found)[1]


ROUND = ["gemm-behind-all-gather-in-pieces", "dma-collective", "tiles-release-copy", "fsdp-layer"]


@pytest.mark.parametrize("name", ROUND)
def test_a_run_comes_back_from_its_traces(tmp_path: Path, name: str) -> None:
    """The same tasks and edges, so the same time. Traces have us: the wall is the last task's start
    and duration less the first one's start, each rounded by half a us at most.
    """
    files = c3sim.export_trace(name, tmp_path / "run.et")
    node = load_node("mi300x-8")
    assert [file.name for file in files] == [f"run.{rank}.et" for rank in range(8)]
    found = import_iteration([tmp_path], node, None)
    again = c3sim.export_trace(found.workload, tmp_path / "run.et")
    assert c3sim.run(found.workload).wall_s == c3sim.run(name).wall_s
    assert found.replay.wall == pytest.approx(found.built.wall, abs=1.5)
    back = import_iteration(again, node, None).workload
    assert back.tasks == found.workload.tasks and not found.built.guesses


def test_an_iteration_comes_back_whole(tmp_path: Path) -> None:
    """All 8 of its layers, though two and four are run for the result."""
    iteration = {
        "schema": 1, "kind": "iteration", "name": "small", "node": "h200-2", "batch": 1,
        "tokens": 512, "phase": "prefill", "layers": 8, "model": "llama-3-8b",
        "parallel": {"tp": 2},
    }  # fmt: skip
    import yaml

    (tmp_path / "small.yaml").write_text(yaml.safe_dump(iteration), encoding="utf-8")
    files = c3sim.export_trace(tmp_path / "small.yaml", tmp_path / "run.et")
    found = import_iteration(files, NODE, None)
    assert len({name.split("-")[0] for name in found.workload.tasks if "forward" in name}) == 8
    assert c3sim.run(found.workload).wall_s == pytest.approx(
        c3sim.run(tmp_path / "small.yaml").wall_s, rel=0.01
    )


def test_edges_are_those_of_the_nodes(tmp_path: Path) -> None:
    """Another program has the collective wait for the GEMM, or takes attributes of ours away."""
    (file, *_) = c3sim.export_trace("gemm-beside-all-gather", tmp_path / "run.et")
    graph = read_graph(file.read_bytes(), file.name)
    gemm, gather = graph.nodes
    changed = replace(graph, nodes=[gemm, replace(gather, data=(gemm.id,))])
    found = workload_of(changed)
    assert found is not None and found["tasks"]["gather"]["after"] == ["gemm"]
    bare = {key: value for key, value in gather.attributes.items() if key != TASK}
    assert workload_of(replace(graph, nodes=[gemm, replace(gather, attributes=bare)])) is None
    assert WORKLOAD in graph.attributes

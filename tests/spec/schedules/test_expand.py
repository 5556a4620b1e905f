"""Schedules written out as tasks: extents and bytes add up, dependencies, names, mistakes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from made_workload import workload_of

from c3sim.errors import InputError
from c3sim.kit.step import pattern
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_node, parse_workload
from c3sim.spec.schedules import expanded
from c3sim.spec.workload import Collective, Copy, Gemm, Task, Workload

NODE = load_node("mi300x-8")
M, N, K, RANKS = 4096, 1024, 8192, 8
FORMS = [
    {"shape": shape, "steps": steps, "fused": fused}
    for shape, steps, fused in product(("1d", "2d"), ("uniform", "hetero"), (True, False))
]


def pair(
    schedule: dict[str, Any] | None, op: str = "all_gather", backend: str = "dma", **more: Any
) -> Workload:
    """A collective of A in front of a GEMM; a reduce-scatter of C behind it."""
    feeds = op != "reduce_scatter"
    size = M * K * 2 if feeds else M * N * 2
    move = {"kind": "collective", "op": op, "size": size, "backend": backend}
    gemm = {"kind": "gemm", "m": M, "n": N, "k": K}
    (gemm if feeds else move)["after"] = ["move" if feeds else "gemm"]
    document = {"schema": 1, "name": "pair", "tasks": {"move": move, "gemm": gemm}, **more}
    return parse_workload(document | ({"schedule": schedule} if schedule else {}))


def tasks(schedule: dict[str, Any], **how: Any) -> dict[str, Task]:
    return dict(expanded(pair(schedule, **how), NODE).tasks)


def gemms(found: dict[str, Task]) -> dict[str, Gemm]:
    return {name: task for name, task in found.items() if isinstance(task, Gemm)}


def moved(found: dict[str, Task]) -> float:
    """Bytes that each rank receives from others: of a collective of size S, (n - 1) / n S."""
    total = 0.0
    for task in found.values():
        if isinstance(task, Collective):
            total += task.size * (RANKS - 1) / RANKS
        elif isinstance(task, Copy) and "peer" in (task.source, task.destination):
            total += task.bytes
    return total


@pytest.mark.parametrize("op", ["all_gather", "all_to_all", "reduce_scatter"])
@pytest.mark.parametrize("form", FORMS)
def test_pieces_add_up_to_the_whole(form: dict[str, Any], op: str) -> None:
    """FLOP and bytes, whatever the form; of each GEMM M N K numbers are multiplied."""
    found = tasks({**form, "pieces": 4}, op=op)
    assert sum(g.m * g.n * g.k for g in gemms(found).values()) == M * N * K
    size = M * K * 2 if op != "reduce_scatter" else M * N * 2
    assert moved(found) == pytest.approx(size * (RANKS - 1) / RANKS)


def test_extents_of_each_form() -> None:
    """By hand, 8 ranks and 4 pieces: 1d steps have 4096 / 4 rows, of which own ones are 1/8."""
    shapes = {
        "1d uniform": {(1024, K)},
        "1d hetero": {(512, K), (896, K)},  # own shard; 7/8 of a step
        "2d uniform": {(M, 2048)},
        "2d hetero": {(512, K), (3584, 2048)},
    }
    for name, wanted in shapes.items():
        shape, steps = name.split()
        found = gemms(tasks({"shape": shape, "steps": steps, "pieces": 4}))
        assert {(g.m, g.k) for g in found.values()} == wanted, name
    single = gemms(tasks({"fused": False, "steps": "hetero", "pieces": 4}))
    assert len(single) == 1 + 4 * 7 and single["gemm-3-7"].m == 128


def test_parts_of_k_add_to_c() -> None:
    """Every part but the first; parts of rows are results of their own."""
    adding = [g.accumulate for g in gemms(tasks({"shape": "2d", "pieces": 4})).values()]
    assert adding == [False, True, True, True]
    assert not any(g.accumulate for g in gemms(tasks({"shape": "1d", "pieces": 4})).values())
    along = gemms(tasks({"along": "k", "steps": "hetero", "pieces": 2}))
    assert [g.accumulate for g in along.values()] == [False, True, True]
    assert [g.k for g in along.values()] == [1024, 3584, 3584]
    apart = gemms(tasks({"shape": "2d", "fused": False, "pieces": 2}))  # each rank's rows
    assert [g.accumulate for g in apart.values()] == [False] * 8 + [True] * 8


def test_weights_are_reused_by_later_pieces_of_rows() -> None:
    """K x N numbers of 2 bytes; a 2d step has parts of A and of B that no other has."""
    rows = [g.reused for g in gemms(tasks({"pieces": 4})).values()]
    assert rows == [0.0, *[K * N * 2.0] * 3]
    assert {g.reused for g in gemms(tasks({"shape": "2d", "pieces": 4})).values()} == {0.0}


def test_each_gemm_waits_for_its_piece() -> None:
    found = tasks({"pieces": 2, "steps": "hetero"})
    assert found["gemm-own"].after == ()
    assert found["gemm-1"].after == ("move-1",)
    assert found["move-1"].stream == found["move-0"].stream  # one after the other
    single = tasks({"pieces": 2, "steps": "hetero", "fused": False})
    assert single["gemm-1-3"].after == ("move-1-3",)
    assert single["move-1-3"].peer == 3


def test_the_own_piece_is_brought_beside_the_others_where_they_lie_side_by_side() -> None:
    """By engines, in fused uniform steps of rows; libraries bring it themselves."""
    brought = tasks({"pieces": 2})["move-own"]
    assert brought.bytes == M * K * 2 / RANKS
    assert "move-own" in tasks({"pieces": 2})["gemm-0"].after
    for other in ({"shape": "2d"}, {"steps": "hetero"}, {"fused": False}):
        assert "move-own" not in tasks({"pieces": 2, **other})
    assert "move-own" not in tasks({"pieces": 2}, backend="rccl")


def test_what_leaves_follows_its_gemm_and_the_own_shard_comes_last() -> None:
    found = tasks({"pieces": 2, "steps": "hetero"}, op="reduce_scatter")
    assert list(found)[:4] == ["gemm-0", "move-0", "gemm-1", "move-1"]
    assert found["move-1"].after == ("gemm-1",)
    assert list(found)[-2:] == ["gemm-own", "move-add"]


def test_engines_scatter_and_a_kernel_adds() -> None:
    """Each addition reads what all ranks have of a part of the own shard, and writes that part."""
    found = tasks({"pieces": 2}, op="reduce_scatter")
    move, add = found["move-1"], found["move-add-1"]
    assert move.op == "all_to_all"
    assert add.read == RANKS * add.written == M * N * 2 / 2
    by_kernels = tasks({"pieces": 2}, op="reduce_scatter", backend="rccl")
    assert {task.kind for task in by_kernels.values()} == {"gemm", "collective"}


def test_shards_go_to_one_peer_after_the_other() -> None:
    found = tasks({"kind": "shards"})
    copies = [task for task in found.values() if isinstance(task, Copy)]
    assert [copy.peer for copy in copies] == [1, 2, 3, 4, 5, 6, 7]
    assert len({copy.stream for copy in copies}) == 1
    assert {copy.bytes for copy in copies} == {M * K * 2 / RANKS}
    assert {g.m for g in gemms(found).values()} == {M // RANKS}


def test_gemms_that_only_wait_for_each_other_follow_closely() -> None:
    """On H200, by engines: once all pieces are there, a GEMM begins right behind the one before it,
    not after the latency of a kernel on an idle GPU.
    """
    node = load_node("h200-2")
    split = pair({"pieces": 4}, backend="dma", host={"release": "per_rank"})
    run = simulate(node, split)
    gap = run.task("gemm-3").start - run.task("gemm-2").end
    assert gap < 2e-6 < node.gpu.kernels.dispatch_latency


def test_streams_take_turns() -> None:
    found = gemms(tasks({"pieces": 4, "streams": 2}))
    assert [g.stream for g in found.values()] == ["compute", "compute-1"] * 2


def test_who_waits_for_the_pair_waits_for_its_last_pieces() -> None:
    document = pair(None).model_dump(mode="json", by_alias=True)
    document["tasks"]["next"] = {"kind": "gemm", "m": 8, "n": 8, "k": 8, "after": ["gemm"]}
    document["schedule"] = {"pieces": 2}
    found = expanded(parse_workload(document, plain_si=True), NODE)
    assert found.tasks["next"].after == ("gemm-0", "gemm-1")
    document["tasks"]["next"]["after"] = ["gemm.tiles[50%]"]
    with pytest.raises(InputError, match="has neither tiles nor chunks"):
        expanded(parse_workload(document, plain_si=True), NODE)


def test_pieces_fold_by_their_names() -> None:
    """Sixty-four pieces of each are two rows of a table."""
    assert {
        pattern(name) for name in tasks({"pieces": 64, "steps": "uniform"}, backend="rccl")
    } == {"move-*", "gemm-*"}


@pytest.mark.parametrize(
    ("schedule", "how", "message"),
    [
        ({"pieces": 3}, {}, r"m = 4096 of 'gemm' is no multiple of 24 \(8 shards of 3 pieces\)"),
        ({"pieces": 3, "shape": "2d"}, {}, r"k = 8192 of 'gemm' is no multiple of 3 \(3 pieces\)"),
        ({"kind": "shards", "pieces": 2}, {}, "shards move.*leave out pieces"),
        ({"shape": "2d", "streams": 2}, {}, "pieces of K add to one result"),
        ({"along": "k"}, {"op": "reduce_scatter"}, "no parts of a result that can be sent"),
        (
            {"steps": "hetero"},
            {"op": "reduce_scatter", "backend": "rccl"},
            "adds every rank's own piece",
        ),
        ({"kind": "shards"}, {"op": "reduce_scatter"}, "no shards that move as they are"),
        ({"pieces": 2}, {"host": {"order": ["gemm", "move"]}}, "leave host.order out"),
    ],
)
def test_impossible_splits_are_one_line(
    schedule: dict[str, Any], how: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as raised:
        tasks(schedule, **how)
    assert "\n" not in str(raised.value) and str(raised.value).startswith("schedule: ")


def test_a_schedule_needs_a_pair() -> None:
    alone = {"kind": "gemm", "m": 8, "n": 8, "k": 8}
    with pytest.raises(InputError, match="got 0 pairs"):
        expanded(workload_of({"gemm": alone}, schedule={"pieces": 2}), NODE)


@pytest.mark.parametrize("backend", ["dma", "rccl"])
def test_one_piece_of_2d_is_the_pair_as_it_is(backend: str) -> None:
    """Nothing is cut, brought or added, so the time is that of the pair to the last digit."""
    whole = simulate(NODE, pair(None, backend=backend)).end
    assert simulate(NODE, pair({"shape": "2d", "pieces": 1}, backend=backend)).end == whole


@pytest.mark.parametrize("form", FORMS)
def test_no_schedule_beats_what_must_be_done(form: dict[str, Any]) -> None:
    """The GEMM alone and the collective alone are both less than any schedule takes. Pieces of all
    ranks together lose little; 28 GEMMs of 128 rows and less may take twice as long.
    """
    single = {
        name: simulate(NODE, pair(None).changed(tasks={name: task})).end
        for name, task in (
            (name, task.changed(after=())) for name, task in pair(None).tasks.items()
        )
    }
    end = simulate(NODE, pair({**form, "pieces": 4})).end
    assert max(single.values()) < end < (1.3 if form["fused"] else 2.0) * sum(single.values())


def test_folded_and_unfolded_runs_agree() -> None:
    node = load_node("teaching-4")
    for form in ({"pieces": 2}, {"pieces": 2, "steps": "hetero", "fused": False}):
        workload = pair(form)
        folded, all_gpus = (simulate(node, workload, fold=fold).end for fold in (True, False))
        assert folded == pytest.approx(all_gpus, rel=1e-9)

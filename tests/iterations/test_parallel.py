"""Collectives of each kind of parallelism: how many, how large, what waits for what."""

from __future__ import annotations

from typing import Any

import pytest
from iteration_case import built, planned

from c3sim.errors import InputError
from c3sim.iterations.build import Built
from c3sim.spec.reading.checks.workload import check_workload
from c3sim.spec.reading.loading import load_model
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Collective

BERT = {"model": "bert-large", "batch": 64, "tokens": 128}
KINDS: list[Any] = [
    {"kind": "none"},
    {"kind": "ddp"},
    {"kind": "fsdp"},
    {"kind": "fsdp", "prefetch": 0},
    {"kind": "fsdp", "prefetch": 3},
    {"kind": "fsdp", "reshard": False},
    {"kind": "tensor"},
    {"kind": "tensor", "sequence": True},
    {"kind": "pipeline"},
]


def collectives(found: Built) -> dict[str, Collective]:
    return {n: t for n, t in found.workload.tasks.items() if isinstance(t, Collective)}


@pytest.mark.parametrize("parallel", KINDS, ids=str)
@pytest.mark.parametrize("head", [False, True])
def test_every_kind_is_a_workload_without_mistakes(parallel: Any, head: bool) -> None:
    found = built(3, parallel=parallel, batch=4, optimizer="adamw", head=head)
    check_workload(found.workload)
    assert found.classes.keys() == found.workload.tasks.keys()


def test_buckets_of_bert_are_those_of_a_profile() -> None:
    """672 MB of gradients in buckets that are full from 25 MiB on: PyTorch sent 21."""
    together = {**load_model("bert-large").model_dump(by_alias=True), "fused_qkv": True}
    sent = collectives(built(24, **{**BERT, "model": together}, parallel={"kind": "ddp"}))
    assert len(sent) == 21
    # positions and types of tokens, pooler and second output are not of the pass that is modelled
    assert sum(t.size for t in sent.values()) == pytest.approx(2 * 336.2e6, rel=0.01)
    sizes = [task.size for task in sent.values()]
    assert sizes[0] >= 2**20 and all(size >= 25 * 2**20 for size in sizes[1:-1])


def test_a_bucket_waits_for_its_last_gradient_and_the_optimizer_for_all() -> None:
    found = built(3, parallel={"kind": "ddp", "views": True}, optimizer="adamw")
    tasks = found.workload.tasks
    sent = collectives(found)
    for task in sent.values():
        (last,) = task.after
        assert "into-bucket" in last
    first = next(task for name, task in tasks.items() if name.startswith("optimizer"))
    assert set(first.after) == set(sent)


def test_gradients_are_copied_back_out_of_their_buckets() -> None:
    """Each as many bytes as went in, behind its bucket's reduction; as views, none is."""
    parallel = {"kind": "ddp"}
    tasks = built(3, parallel=parallel).workload.tasks
    into = [task for name, task in tasks.items() if "into-bucket" in name]
    out = {name: task for name, task in tasks.items() if "-out" in name}
    assert sorted(task.read for task in out.values()) == sorted(task.read for task in into)
    for name in (f"bucket{number}" for number in range(4)):
        assert name in tasks[f"{name}-out0"].after
    views = built(3, parallel={**parallel, "views": True}).workload.tasks
    assert not any("-out" in name for name in views)


def test_fsdp_gathers_each_layer_twice_and_scatters_once() -> None:
    """218112000 parameters of 2 bytes in a layer, as a profile shows."""
    sent = collectives(built(4, parallel={"kind": "fsdp"}, head=False))
    by_op = {op: [t.size for t in sent.values() if t.op == op] for op in ("all_gather",)}
    assert by_op["all_gather"] == [2 * 218112000.0] * 8
    assert sum(t.op == "reduce_scatter" for t in sent.values()) == 4
    kept = collectives(built(4, parallel={"kind": "fsdp", "reshard": False}, head=False))
    assert sum(t.op == "all_gather" for t in kept.values()) == 4


def test_forward_gathers_are_launched_behind_the_layer_before() -> None:
    """As PyTorch's fully_shard does, which launches them before it in the backward pass only;
    a gather waits for the copy-out before it alone, or with no prefetch for the layer.
    """
    for prefetch, explicit in ((0, False), (1, False), (2, False), (1, True), (2, True)):
        shards = {"kind": "fsdp", "prefetch": prefetch, "forward_prefetch": explicit}
        order = list(built(4, parallel=shards, head=False).workload.tasks)
        gather, layer = order.index("gather-2-gather"), order.index("forward1-norm1")
        assert (gather < layer) == explicit
        gather, layer = order.index("again-1-gather"), order.index("backward2-down-input")
        assert (gather < layer) == (prefetch > 0)
    tasks = built(4, parallel={"kind": "fsdp", "prefetch": 0}, head=False).workload.tasks
    assert tasks["gather-2-copy-in"].after == ("forward1-add2",)
    tasks = built(4, parallel={"kind": "fsdp"}, head=False).workload.tasks
    assert tasks["gather-2-copy-in"].after == ("gather-1-copy-out",)
    assert tasks["gather-2-copy-out"].after == ("gather-2-gather",)


def test_shards_are_copied_in_a_stream_of_high_priority() -> None:
    """As fully_shard does: a copy begins within an element-wise kernel of the layer before."""
    workload = built(3, node="h200-2", parallel={"kind": "fsdp"}).workload
    stream = workload.tasks["gather-2-copy-in"].stream
    assert {name: each.priority for name, each in workload.streams.items()} == {stream: 1}
    assert not built(3, node="h200-2", parallel={"kind": "ddp"}).workload.streams


def test_experts_nest_with_data_parallelism() -> None:
    mixtral = {"model": "mixtral-8x7b", "node": "mi300x-8", "head": False}
    shared = 2 * planned(**mixtral).units().layer.parameters
    sent = collectives(built(2, **mixtral, parallel=[{"kind": "expert"}, {"kind": "fsdp"}]))
    gathers = [t.size for t in sent.values() if t.op == "all_gather"]
    assert len(gathers) == 4 and gathers[0] < 0.1 * shared  # experts stay where they are
    alone = collectives(built(2, **mixtral, parallel={"kind": "expert"}))
    assert any(t.op == "all_reduce" for t in alone.values())  # what is not dealt out


def test_a_gpu_updates_all_of_the_experts_that_it_alone_has() -> None:
    """Two layers of Mixtral on 8 GPUs, all but experts in shards: AdamW reads 12 and writes 8
    tensors of 2 bytes, of one expert (3 x 4096 x 14336), an eighth of the attention (2 x 4096 x
    (4096 + 1024)) and the router (8 x 4096).
    """
    mixtral = {"model": "mixtral-8x7b", "node": "mi300x-8", "head": False, "optimizer": "adamw"}
    tasks = built(2, **mixtral, parallel=[{"kind": "expert"}, {"kind": "fsdp"}]).workload.tasks
    passes = [t for name, t in tasks.items() if "adamw" in name and isinstance(t, Kernel)]
    moved = sum(task.read + task.written for task in passes)
    numbers = 3 * 4096 * 14336 + (2 * 4096 * 5120 + 8 * 4096) / 8
    assert moved == pytest.approx(2 * 20 * 2 * numbers, rel=1e-3)  # norms beside


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"parallel": [{"kind": "tensor"}, {"kind": "ddp"}]}, "tensor nest; say the size of each"),
        ({"parallel": [{"kind": "ddp"}, {"kind": "ddp"}]}, "named twice"),
        ({"parallel": {"kind": "expert"}}, "llama-3-8b has no experts"),
        (
            {"parallel": {"kind": "pipeline"}, "batch": 2},
            "2 sequences do not divide by 4 micro batches",
        ),
        ({"layers": 40}, "llama-3-8b has 32 layers"),
        ({"model": "dlrm", "parallel": {"kind": "tensor"}}, "its tables are dealt to the GPUs"),
        (
            {
                "model": "mixtral-8x7b",
                "node": "h200-4",
                "parallel": [{"kind": "expert"}, {"kind": "ddp"}, {"kind": "fsdp"}],
            },
            "ddp or fsdp, not both",
        ),
    ],
)
def test_what_cannot_be_is_said(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        planned(**fields)


def test_a_recommendation_model_exchanges_rows_and_reduces_networks() -> None:
    """26 rows of 128 numbers of 2 bytes for each of 8192 samples, forward and back."""
    sent = collectives(built(0, model="dlrm", batch=8192, tokens=1, parallel={"kind": "ddp"}))
    rows = [t.size for t in sent.values() if t.op == "all_to_all"]
    assert rows == [8192 * 26 * 128 * 2.0] * 2
    weights = planned(model="dlrm", parallel={"kind": "ddp"}).units().end.shared
    reduced = sum(t.size for t in sent.values() if t.op == "all_reduce")
    assert reduced == 2 * weights

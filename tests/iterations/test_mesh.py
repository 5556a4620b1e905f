"""Kinds of parallelism that nest: who is in which group, and what follows for an iteration."""

from __future__ import annotations

from typing import Any

import pytest
from iteration_case import built, described, planned, result

from c3sim.errors import InputError
from c3sim.iterations.build import Piece, build
from c3sim.iterations.runs import one_after_the_other
from c3sim.simulation.simulate import simulate
from c3sim.spec.layout import Layout
from c3sim.spec.reading.paths import set_field
from c3sim.spec.workload import Collective, Copy, Kernel

pytestmark = pytest.mark.turns(5)

EIGHT = {"node": "h200-8", "layers": 2}
FSDP_TENSOR = ({"kind": "fsdp"}, {"kind": "tensor", "size": 4})
FSDP_OF_NODES = ({"kind": "fsdp"}, {"kind": "tensor", "size": 8})


def groups(**fields: Any) -> dict[str, tuple[int | None, int]]:
    """Operation -> its groups, of all collectives of two layers."""
    tasks = built(2, **{"node": "h200-8", **fields}).workload.tasks.values()
    return {
        f"{task.op}": (task.group, task.stride) for task in tasks if isinstance(task, Collective)
    }


def test_the_last_one_of_a_list_has_neighbours() -> None:
    """Tensor groups of 2 x 4 GPUs are 0-3 and 4-7; weights are gathered by 0 and 4, ..."""
    found = groups(parallel=FSDP_TENSOR)
    assert found == {"all_reduce": (4, 1), "all_gather": (2, 4), "reduce_scatter": (2, 4)}
    found = groups(parallel=tuple(reversed(FSDP_TENSOR)))
    assert found == {"all_reduce": (4, 2), "all_gather": (2, 1), "reduce_scatter": (2, 1)}


def streams(**fields: Any) -> dict[str, set[str | None]]:
    """Operation -> streams of its collectives, of two layers."""
    found: dict[str, set[str | None]] = {}
    for task in built(2, **{"node": "h200-8", **fields}).workload.tasks.values():
        if isinstance(task, Collective):
            found.setdefault(task.op, set()).add(task.stream)
    return found


def test_every_process_group_has_a_stream() -> None:
    """A tensor group's sums do not queue behind gathers of the other group; one group of all GPUs
    has one stream, whatever it does.
    """
    data, tensor = {"communication-data"}, {"communication-tensor"}
    found = streams(parallel=FSDP_TENSOR)
    assert found == {"all_reduce": tensor, "all_gather": data, "reduce_scatter": data}
    assert streams(parallel={"kind": "tensor"}) == {"all_reduce": {"communication"}}
    mixtral = {"model": "mixtral-8x7b", "parallel": ({"kind": "ddp"}, {"kind": "expert"})}
    assert streams(**mixtral) == {"all_to_all": {"communication"}, "all_reduce": {"communication"}}


def test_sums_between_layers_do_not_wait_for_gathers_over_nics() -> None:
    """Alone, collectives follow each other all the same: as long as on one stream."""
    plan = planned(node="mi300x-cluster", model="llama-3-70b", layers=2, parallel=FSDP_OF_NODES)
    found = build(plan, 2)
    names = frozenset(n for n, kind in found.classes.items() if kind == "communication")
    one = found.workload.changed(
        tasks={
            name: task.changed(stream="communication") if name in names else task
            for name, task in found.workload.tasks.items()
        }
    )
    ends = [simulate(plan.node, each).end for each in (found.workload, one)]
    assert ends[0] < 0.9 * ends[1]
    alone = [
        simulate(plan.node, one_after_the_other(each, names, eager=False)).end
        for each in (found.workload, one)
    ]
    assert alone[0] == alone[1]


def test_all_gpus_are_no_group() -> None:
    assert groups(parallel={"kind": "tensor"}) == {"all_reduce": (None, 1)}


def test_experts_are_dealt_to_a_part_of_the_replicas() -> None:
    """Tokens go round four GPUs; gradients of experts are added up by pairs, all others by all."""
    fields = {"model": "mixtral-8x7b", "parallel": ({"kind": "ddp"}, {"kind": "expert", "size": 4})}
    tasks = built(2, **{"node": "h200-8", **fields}).workload.tasks
    found = {
        (name.split("bucket")[0] if "bucket" in name else task.op): (task.group, task.stride)
        for name, task in tasks.items()
        if isinstance(task, Collective)
    }
    assert found == {"all_to_all": (4, 1), "": (None, 1), "expert-": (2, 4)}


def test_a_stage_hands_on_to_the_next_group() -> None:
    nested = ({"kind": "pipeline", "size": 2, "micro_batches": 2}, {"kind": "tensor", "size": 4})
    tasks = built(2, node="h200-8", batch=2, parallel=nested).workload.tasks.values()
    assert {task.peer for task in tasks if isinstance(task, Copy)} == {4}
    assert {(t.group, t.stride) for t in tasks if isinstance(t, Collective)} == {(4, 1)}


def test_entries_by_kind_are_dimensions_by_name() -> None:
    """The same groups, tasks and time."""
    kinds = built(2, node="h200-8", parallel=FSDP_TENSOR).workload
    names = built(2, node="h200-8", parallel={"tp": 4, "sequence": False}).workload
    assert kinds == names
    kinds = built(2, node="h200-8", parallel={"kind": "ddp"}).workload
    assert kinds == built(2, node="h200-8", parallel={"dp_shard": 1}).workload


def test_a_dimension_can_be_set_where_entries_are_by_kind() -> None:
    loaded = described(node="h200-8", parallel={"kind": "fsdp", "prefetch": 2})
    changed = set_field(loaded.iteration, "parallel.tp", "4")
    assert changed.parallel == Layout(dp_shard=-1, prefetch=2, tp=4)


CLUSTER: dict[str, Any] = {"node": "mi300x-cluster", "model": "llama-3-70b", "layers": 2}


def test_groups_of_every_dimension() -> None:
    """By hand, 128 GPUs as 2 x 2 x 2 x 2 x 8, the last ones neighbours: cp 8 apart, dp_shard 16,
    its group with cp 4 GPUs 8 apart, dp_replicate 32, pp 64.
    """
    parallel: dict[str, Any] = {"pp": 2, "dp_replicate": 2, "cp": 2, "tp": 8}
    mesh = planned(**CLUSTER, batch=2, parallel=parallel).mesh
    assert dict(mesh.sizes) == {"pp": 2, "dp_replicate": 2, "dp_shard": 2, "cp": 2, "tp": 8}
    assert mesh.groups == {
        "tensor": (8, 1),
        "context": (2, 8),
        "data": (4, 8),
        "replicate": (2, 32),
        "replicas of experts": (4, 8),
    }
    assert mesh.stride("pp") == 64
    parallel = {"pp": 2, "tp": 8, "order": "megatron_tp_pp_dp"}
    assert planned(**CLUSTER, batch=2, parallel=parallel).mesh.stride("pp") == 8


@pytest.mark.parametrize(
    ("etp", "experts", "copies"), [(1, (8, 1), (16, 8)), (2, (8, 2), (8, 16))], ids=str
)
def test_experts_take_from_shards_and_tensor_groups(
    etp: int, experts: tuple[int, int], copies: tuple[int, int]
) -> None:
    """As torchtitan has it: ep neighbours of dp_shard x tp; where tp shares an expert, 2 apart."""
    fields = {**CLUSTER, "model": "mixtral-8x7b"}
    mesh = planned(**fields, parallel={"ep": 8, "tp": 2, "etp": etp}).mesh
    assert mesh.groups["expert"] == experts
    assert mesh.groups["replicas of experts"] == copies


def test_a_stream_is_named_by_all_who_exchange_on_it() -> None:
    """Experts that are dealt to the GPUs of a group of shards have its communicator."""
    mixtral: dict[str, Any] = {"node": "h200-8", "model": "mixtral-8x7b", "layers": 2, "batch": 2}
    mesh = planned(**mixtral, parallel={"pp": 2, "dp_shard": 4, "ep": 4}).mesh
    assert mesh.groups["data"] == mesh.groups["expert"] == (4, 1)
    assert mesh.dimensions_of("data") == "dp_shard and ep"
    mesh = planned(**mixtral, parallel={"pp": 2, "dp_shard": 4, "ep": 2}).mesh
    assert [mesh.dimensions_of(name) for name in ("data", "expert")] == ["dp_shard", "ep"]


def test_replicas_of_shards_add_up_their_parts() -> None:
    """HSDP, by hand: a layer of n parameters is gathered over 4 GPUs, its gradients scattered over
    them, and n / 4 all-reduced between two, 4 apart: of the link bytes of each GPU 3/4 n twice more
    than of 8 shards 7/8 n, and 2 x 1/2 x n / 4.
    """
    found = built(2, node="h200-8", head=False, parallel={"dp_replicate": 2}).workload.tasks
    size = 2 * planned(layers=2).units().layer.parameters
    sums = {
        (name, task.group, task.stride, task.size)
        for name, task in found.items()
        if isinstance(task, Collective) and task.op == "all_reduce"
    }
    assert sums == {(f"reduce{n}-sum", 2, 4, size / 4) for n in (1, 2)}
    shards = {(t.group, t.stride) for t in found.values() if getattr(t, "op", "") == "all_gather"}
    assert shards == {(4, 1)}


def sent(name: str, parts: int, by: str, *, cp_rotate: str | None = None, **fields: Any) -> float:
    """Bytes that a GPU sends to share sequences over *parts*, in one layer *name* (pass)."""
    parallel = {"cp": parts, "dp_shard": 1, "dp_replicate": 1, "cp_by": by, "cp_rotate": cp_rotate}
    tasks = built(1, node=f"h200-{parts}", head=False, parallel=parallel, **fields).workload.tasks
    total = 0.0
    for task_name, task in tasks.items():
        if not task_name.startswith(name):
            continue
        if isinstance(task, Collective):
            total += task.size * (parts - 1) / parts
        elif isinstance(task, Copy):
            total += task.bytes
    return total


@pytest.mark.parametrize("parts", [2, 4])
def test_bytes_of_shared_sequences(parts: int) -> None:
    """Llama 3 8B: of 4096 tokens keys and values of 8 heads, queries of 32, of 128 numbers of 2
    bytes. A ring sends as much as an all-gather; backward it sends gradients of keys home, a step
    more. All-to-all: a GPU's own queries, keys, values, and its output.
    """
    keys, queries = 2 * 4096 * 8 * 128 * 2.0, 4096 * 32 * 128 * 2.0
    away = (parts - 1) / parts
    assert sent("forward1", parts, "all_gather") == pytest.approx(away * keys)
    assert sent("forward1", parts, "ring") == pytest.approx(away * keys)
    assert sent("backward1", parts, "all_gather") == pytest.approx(2 * away * keys)
    assert sent("backward1", parts, "ring") == pytest.approx((2 * away + 1 / parts) * keys)
    both = away * (2 * queries + keys) / parts
    assert sent("forward1", parts, "all_to_all") == pytest.approx(both)
    assert sent("backward1", parts, "all_to_all") == pytest.approx(both)


def test_a_ring_of_pytorch_adds_up_in_32_bit() -> None:
    """As many keys and values go out; their gradients with twice the bytes, a step more than keys
    and values. Merging a piece into n results of 2 bytes: both become 4 bytes (6 n each), kernels
    of 12, 8 and 12 n, 6 n back to 2 bytes; five over the log of the sums, one for each of 128
    results, of 12, 8, 12, 8 and 12 bytes.
    """
    away, keys = 3 / 4, 2 * 4096 * 8 * 128 * 2.0
    for rotate in ("allgather", "alltoall"):
        how = {"cp_rotate": rotate}
        assert sent("forward1", 4, "ring", **how) == pytest.approx(away * keys)
        assert sent("backward1", 4, "ring", **how) == pytest.approx((away + 2) * keys)
    layout = {"cp": 2, "dp_shard": 1, "dp_replicate": 1, "cp_by": "ring", "cp_rotate": "alltoall"}
    tasks = built(1, node="h200-2", head=False, parallel=layout).workload.tasks
    results = 4096 / 2 * 32 * 128
    kernels = [n for n in tasks if n.startswith("forward1-attention-") and "buffer" not in n]
    merging = [tasks[n] for n in kernels if "copy" not in n and "attention-attention" not in n]
    moved = sum(task.read + task.written for task in merging if task.on != "matrix")
    assert moved == pytest.approx((6 + 6 + 12 + 8 + 12 + 6) * results + 52 * results / 128)


def test_bytes_of_shared_sequences_with_latent_attention() -> None:
    """DeepSeek-V2-Lite: what is made of the latent vectors goes: keys of 192 and values of 128
    numbers of each of 16 heads; all-to-all: queries of 192 too, and outputs of 128.
    """
    keys, away = 4096 * 16 * (192 + 128) * 2.0, 3 / 4
    lite = {"model": "deepseek-v2-lite"}
    assert sent("forward1", 4, "all_gather", **lite) == pytest.approx(away * keys)
    assert sent("forward1", 4, "ring", **lite) == pytest.approx(away * keys)
    both = away * (keys + 4096 * 16 * (192 + 128) * 2.0) / 4
    assert sent("forward1", 4, "all_to_all", **lite) == pytest.approx(both)


def test_a_window_bounds_the_work_of_shared_sequences() -> None:
    """GPT-OSS 20B, first layer: a token sees 128. Of 4096 tokens each GPU has 2048, all of which
    see 128 but for the first ones of the sequence, 1 to 127 fewer: half of these on each GPU.
    """
    oss = {"model": "gpt-oss-20b", "node": "h200-2", "layers": 1, "head": False}
    whole = planned(**oss).units().flops
    share = planned(**oss, parallel={"cp": 2, "cp_by": "all_gather"}).units().flops
    assert share == pytest.approx(whole / 2, rel=1e-3)
    with pytest.raises(InputError, match="must be all_gather or all_to_all"):
        planned(**oss, parallel={"cp": 2, "cp_by": "ring"})
    with pytest.raises(ValueError, match="cp_rotate is of a ring; cp_by must be ring"):
        planned(**oss, parallel={"cp": 2, "cp_rotate": "alltoall"})


@pytest.mark.parametrize("by", ["all_gather", "ring", "all_to_all"])
def test_shared_sequences_are_as_much_work(by: str) -> None:
    """A causal pass over a quarter of the tokens each is a quarter of the FLOP that are needed."""
    whole = planned(node="h200-4", layers=1).units().flops
    share = planned(node="h200-4", layers=1, parallel={"cp": 4, "cp_by": by}).units().flops
    assert share == pytest.approx(whole / 4, rel=1e-9)


@pytest.mark.parametrize(
    ("layers", "parallel"),
    [
        (1, {"tp": 4, "dp_replicate": 4}),
        (1, {"cp": 4, "tp": 8, "cp_by": "ring"}),
        pytest.param(2, {"cp": 16, "cp_by": "ring"}, marks=pytest.mark.long),
        pytest.param(8, {"pp": 4, "tp": 8, "schedule": "interleaved"}, marks=pytest.mark.long),
        (4, {"pp": 4, "tp": 8, "schedule": "zero_bubble"}),
        pytest.param(16, {"pp": 16, "tp": 2, "schedule": "zero_bubble"}, marks=pytest.mark.long),
        pytest.param(1, {"tp": 8, "micro_batches": 2}, marks=pytest.mark.long),
        pytest.param(16, {"tp": 8, "micro_batches": 8}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_jobs_wider_than_a_node_run(layers: int, parallel: Any) -> None:
    """16 nodes of 8 GPUs. Parts add up to the wall; what stages do and wait adds up too; exposed
    communication is that of the groups.
    """
    fields = {"tokens": 1024, "batch": 16, "layers": layers, "optimizer": "adamw"}
    found = result(**{**CLUSTER, **fields}, parallel=parallel)
    assert sum(found.parts.values()) == pytest.approx(found.wall_s, rel=1e-6)
    exposed = sum(times.exposed_s for times in found.groups.values())
    assert exposed == pytest.approx(found.parts["communication"], rel=0.02)
    for stage in found.stages:
        assert stage.bubbles_s > 0
        spent = stage.forward_s + stage.backward_s + stage.optimizer_s
        assert spent + stage.bubbles_s + stage.waits_s == pytest.approx(found.wall_s, rel=0.02)


def test_micro_batches_add_their_gradients() -> None:
    """A Llama layer has nine parameters (seven matrices, two norms): as many sums for each micro
    batch but one, of two tensors read and one written, 2 bytes each.
    """
    plan = planned(node="h200-8", layers=8, batch=8, parallel={"pp": 8})
    plain, once = (build(plan, 1, Piece("layers", each)).workload.tasks for each in (False, True))
    sums = [task for name, task in plain.items() if "accumulate" in name]
    assert len(sums) == 9
    moved = sum(task.read + task.written for task in sums if isinstance(task, Kernel))
    assert moved == pytest.approx(3 * 2 * plan.model.layer_parameters)
    assert not [name for name in once if "accumulate" in name]


def test_one_queue_is_no_quicker() -> None:
    """What was launched before has to begin before: gathers hold up the operators behind them."""
    walls = [
        result(node="h200-8", layers=3, parallel={"queues": count}).wall_s for count in (None, 1)
    ]
    assert walls[1] > walls[0]


@pytest.mark.parametrize("node", ["h200-8", "mi300x-8"])
def test_one_gpu_stands_for_the_mesh(node: str) -> None:
    plan = planned(node=node, layers=1, tokens=512, parallel=FSDP_TENSOR)
    workload = build(plan, 1).workload
    workload = workload.changed(host__loop=None, host__profile=None)
    one, all_of_them = (simulate(plan.node, workload, fold=fold).end for fold in (True, False))
    assert one == pytest.approx(all_of_them, rel=1e-9)


def test_smaller_groups_cost_memory_and_give_tokens() -> None:
    """Two replicas of four: half the weights each of what tensor parallel over eight has, twice the
    batch. Shards: the weights of a replica over two.
    """
    eight = result(**EIGHT, parallel={"kind": "tensor", "size": 8}, optimizer="adamw")
    four = result(**EIGHT, parallel={"kind": "tensor", "size": 4}, optimizer="adamw")
    sharded = result(**EIGHT, parallel=FSDP_TENSOR, optimizer="adamw")
    assert four.memory_bytes > 1.5 * eight.memory_bytes > 0
    assert sharded.memory_bytes < four.memory_bytes
    assert four.tokens_per_s == pytest.approx(2 * 4096 / four.wall_s)


@pytest.mark.parametrize(
    ("parallel", "message"),
    [
        ({"kind": "tensor", "size": 3}, "tensor 3 do not divide 8 GPUs"),
        (({"kind": "fsdp"}, {"kind": "tensor"}), "say the size"),
        (({"kind": "fsdp"}, {"kind": "tensor", "size": 8}), "no GPUs are left for fsdp"),
        (({"kind": "ddp"}, {"kind": "fsdp"}), "not both"),
        (({"kind": "pipeline"}, {"kind": "tensor"}), "tensor and pipeline nest"),
        ({"tp": 3}, "tp 3 does not divide 8 GPUs; dp_shard is what is left"),
        ({"tp": 2, "dp_shard": 2, "dp_replicate": 1}, "= 4 GPUs of 8; leave dp_shard out"),
        ({"tp": 2, "cp": 2, "order": ["dp_shard", "tp", "cp"]}, "tp must not stand between them"),
        ({"ep": 2}, "llama-3-8b has no experts"),
        ({"pp": 2, "micro_batches": 3}, "4 sequences do not divide by 3 micro batches"),
        ({"pp": 4}, "4 stages of 2 layers"),
        ({"pp": 2, "schedule": "dualpipe", "micro_batches": 2}, "dualpipe needs"),
        ({"pp": 2, "chunks": 2}, "1f1b has none"),
    ],
)
def test_what_cannot_nest_says_why(parallel: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        planned(**EIGHT, batch=4, parallel=parallel)


def test_energy_of_a_pipeline_grows_by_less_than_its_micro_batches() -> None:
    """AdamW over all weights costs as much for eight micro batches as for two."""

    def spent(batches: int, optimizer: str) -> float:
        parallel = {"kind": "pipeline", "micro_batches": batches}
        run = result(node="h200-2", layers=4, batch=batches, parallel=parallel, optimizer=optimizer)
        return run.power.energy["hbm"]

    two, eight = (spent(n, "adamw") - spent(n, "none") for n in (2, 8))
    assert eight == pytest.approx(two, rel=0.05)

"""Kinds of parallelism that nest: who is in which group, and what follows for an iteration."""

from __future__ import annotations

from typing import Any

import pytest
from iteration_case import built, planned, result

from c3sim.errors import InputError
from c3sim.iterations.build import build
from c3sim.iterations.measured import in_pipeline
from c3sim.iterations.runs import Numbers, one_after_the_other
from c3sim.simulation.simulate import simulate
from c3sim.spec.workload import Collective, Copy

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
    one = found.workload.model_copy(
        update={
            "tasks": {
                name: task.model_copy(update={"stream": "communication"}) if name in names else task
                for name, task in found.workload.tasks.items()
            }
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


@pytest.mark.parametrize("node", ["h200-8", "mi300x-8"])
def test_one_gpu_stands_for_the_mesh(node: str) -> None:
    plan = planned(node=node, layers=1, tokens=512, parallel=FSDP_TENSOR)
    workload = build(plan, 1).workload
    workload = workload.model_copy(
        update={"host": workload.host.model_copy(update={"loop": None, "profile": None})}
    )
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
        (({"kind": "pipeline", "size": 2}, {"kind": "ddp"}), "nests with tensor"),
    ],
)
def test_what_cannot_nest_says_why(parallel: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        planned(**EIGHT, batch=4, parallel=parallel)


def test_a_pipeline_runs_its_optimizer_once() -> None:
    """By hand: four micro batches of 10 ms through two stages, and 2 ms of optimizer, which takes 3
    of the 8 J: 5 turns of 8 ms and 2 ms; 4 x 5 J and 3 J.
    """
    plan = planned(
        **EIGHT, batch=4, parallel=({"kind": "pipeline", "size": 2}, {"kind": "tensor", "size": 4})
    )
    one = Numbers(
        wall=10e-3,
        compute=10e-3,
        busy={"optimizer": 2e-3, "gemm": 5e-3},
        exposed={"optimizer": 2e-3, "gemm": 4e-3},
        account={"hbm_byte": 8.0},
        once={"hbm_byte": 3.0},
    )
    whole = in_pipeline(plan, one)
    assert whole.wall == pytest.approx(5 * 8e-3 + 2e-3)
    assert whole.account == {"hbm_byte": pytest.approx(4 * 5.0 + 3.0)}
    assert whole.busy == {"optimizer": 2e-3, "gemm": pytest.approx(20e-3)}


def test_energy_of_a_pipeline_grows_by_less_than_its_micro_batches() -> None:
    """AdamW over all weights costs as much for eight micro batches as for two."""

    def spent(batches: int, optimizer: str) -> float:
        parallel = {"kind": "pipeline", "micro_batches": batches}
        run = result(node="h200-2", layers=4, batch=batches, parallel=parallel, optimizer=optimizer)
        return run.power.energy["hbm"]

    two, eight = (spent(n, "adamw") - spent(n, "none") for n in (2, 8))
    assert eight == pytest.approx(two, rel=0.05)

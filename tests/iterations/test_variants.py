"""Variants of an iteration: scores in memory, three projections, master weights, an optimizer
inside the memory, pieces of layers. BERT-Large at 4 sequences of 128 tokens: 16 heads of 64,
scores are 4 x 16 x 128 x 128 = 2^20 numbers, a tensor of its tokens 512 x 1024.
"""

from __future__ import annotations

from typing import Any

import pytest
from iteration_case import built, described, planned, run_described

from c3sim.errors import InputError
from c3sim.iterations.build import Plan
from c3sim.iterations.memory import memory_bytes
from c3sim.iterations.operators import Op, OperatorSet
from c3sim.iterations.optimizers import optimizer_ops
from c3sim.iterations.result import IterationResult
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.workload import Collective

BERT: dict[str, Any] = {"model": "bert-large", "batch": 4, "tokens": 128}
SCORES = 2.0**20


def operators(planned: Plan, *, backward: bool = False) -> dict[str, Op]:
    unit = planned.units().layer
    steps = unit.backward if backward else unit.forward
    return {step.name: step for step in steps if isinstance(step, Op)}


def test_eager_attention_has_an_operator_for_each_step() -> None:
    """Scores, two element-wise passes, softmax, dropout with a mask of a byte, and the product; it
    reads and writes each of its tensors of scores once, at 2 bytes a number.
    """
    ops = operators(planned(**BERT, attention="eager"))
    own = {name: op for name, op in ops.items() if op.operator == "attention"}
    assert [name.removeprefix("attention-") for name in own] == [
        *("scores", "scale", "mask", "softmax", "dropout-scores", "weighted"),
        "heads-side-by-side",
    ]
    scores, last = own["attention-scores"].task, own["attention-weighted"].task
    assert (scores.batch, scores.m, scores.n, scores.k) == (64, 128, 128, 64)
    assert (last.batch, last.m, last.n, last.k) == (64, 128, 64, 128)
    for name in ("scale", "mask"):
        task = own[f"attention-{name}"].task
        assert (task.read, task.written) == (2 * SCORES, 2 * SCORES)
    softmax = own["attention-softmax"].task
    assert (softmax.read, softmax.written) == (2 * SCORES, 2 * SCORES)  # rows of a warp
    drop = own["attention-dropout-scores"].task
    assert (drop.read, drop.written) == (2 * SCORES, 3 * SCORES)


def test_eager_attention_needs_the_flop_of_one_kernel() -> None:
    """4 d a pair forward; backward two products for each of two GEMMs, 8 d: the kernel that keeps
    no scores does those again, which the model does not need. A causal model needs the pairs below
    the diagonal only.
    """
    for backward in (False, True):
        for fields in (BERT, {"model": "llama-3-8b", "tokens": 4096}):
            flops = {
                kind: sum(
                    op.flops
                    for op in operators(
                        planned(**fields, attention=kind), backward=backward
                    ).values()
                    if op.operator == "attention"
                )
                for kind in ("flash", "eager")
            }
            assert flops["eager"] == pytest.approx(flops["flash"])


def test_three_projections_have_the_work_of_one_and_add_the_gradients_of_their_input() -> None:
    one, three = (planned(**BERT, fused_qkv=fused) for fused in (True, False))
    for backward in (False, True):
        flops = [
            sum(op.flops for op in operators(each, backward=backward).values())
            for each in (one, three)
        ]
        assert flops[0] == pytest.approx(flops[1])
    ops = operators(three, backward=True)
    adds = [ops[name].task for name in ops if name in ("k-sum", "q-sum")]
    assert [(task.read, task.written) for task in adds] == 2 * [(4.0 * 2**19, 2.0 * 2**19)]
    sizes = [
        sum(sum(op.gradients) for op in operators(p, backward=True).values()) for p in (one, three)
    ]
    assert sizes[0] == sizes[1]


def test_master_weights_are_four_bytes_and_two_conversions() -> None:
    """Fused AdamW reads w g m v and writes w m v: 28 bytes a number instead of 14, and 2 + 4 bytes
    for the gradients before and the weights behind.
    """
    on = OperatorSet.on(load_hardware("h200-4").node.gpu, "fp16")
    plain = optimizer_ops(on, "adamw", [1000], fused=True)
    mixed = optimizer_ops(on, "adamw", [1000], fused=True, master=True)
    moved = [[op.task.read + op.task.written for op in ops] for ops in (plain, mixed)]
    assert moved == [[14e3], [6e3, 28e3, 6e3]]
    both = [
        planned(**BERT, precision="fp16", optimizer="lamb", master_weights=m) for m in (False, True)
    ]
    more = memory_bytes(both[1]) - memory_bytes(both[0])
    assert more == pytest.approx((3 * 4 - 2 * 2) * both[0].units().parameters)  # w m v - m v


def test_units_inside_the_memory_move_its_bytes_at_their_rate() -> None:
    """A what-if: no GPU has them."""
    gpu = load_hardware("mi300x-8").node.gpu
    with pytest.raises(InputError, match=r"no units inside its memory; .*gpu.hbm.internal_rate"):
        optimizer_ops(OperatorSet.on(gpu, "fp32"), "lamb", [10], fused=True, inside=True)
    quick = gpu.changed(hbm__internal_rate=4.0)
    on = OperatorSet.on(quick, "fp32")
    outside = optimizer_ops(on, "lamb", [10**9], fused=True)
    inside = optimizer_ops(on, "lamb", [10**9], fused=True, inside=True)
    for before, after in zip(outside, inside, strict=True):
        rate = 4.0 * gpu.hbm.bandwidth * gpu.hbm.mixed_efficiency
        assert after.task.time == pytest.approx((before.task.read + before.task.written) / rate)
        assert (after.task.read, after.task.written, after.task.workgroups) == (0.0, 0.0, 1)


@pytest.mark.parametrize("phase", ["forward", "training"])
def test_pieces_gather_what_a_layer_gathers(phase: str) -> None:
    """Attention of Llama 3 8B: 42 million numbers and all vectors; its network 3 x 4096 x 14336."""
    fields: dict[str, Any] = {"phase": phase, "head": False}
    whole, halves = (
        [
            task
            for task in built(
                2, **fields, parallel={"kind": "fsdp", "pieces": pieces}
            ).workload.tasks.values()
            if isinstance(task, Collective)
        ]
        for pieces in (1, 2)
    )
    assert len(halves) == 2 * len(whole)
    assert sum(task.size for task in halves) == sum(task.size for task in whole)
    assert max(task.size for task in halves) == 2 * 3 * 4096 * 14336


def test_pieces_keep_less_gathered_and_more_inputs() -> None:
    whole, halves = (
        planned(checkpointing="layer", parallel={"kind": "fsdp", "pieces": pieces})
        for pieces in (1, 2)
    )
    layer = whole.units().layer.parameters
    inputs = 32 * 4096 * 4096 * 2  # one more input of each layer
    # gathered, and gradients before they are scattered: half of three layers less
    assert memory_bytes(whole) - memory_bytes(halves) == pytest.approx(3 * layer - inputs)


def behind_the_operators(settings: dict[str, str]) -> IterationResult:
    """A step on H200 whose gathers stand behind the operators, on their stream: the GPU rests."""
    loaded = described(layers=6, parallel={"kind": "fsdp", "prefetch": 0}, batch=2)
    return run_described(loaded, load_hardware("h200-4").node, settings=settings)


@pytest.mark.turns(5)
def test_wall_is_computing_exposed_and_stretched_at_the_power_limit_and_without_one() -> None:
    """Without a limit nothing is stretched."""
    for settings in ({}, {"gpu.clock.power_limit": "10 kW"}):
        found = behind_the_operators(settings)
        parts = found.compute_s + found.overlap.exposed_s + found.overlap.stretched_s
        assert found.wall_s == pytest.approx(parts, rel=0.01)
    assert -1e-12 < found.overlap.stretched_s < 0.01 * found.wall_s


@pytest.mark.turns(5)
def test_operators_may_run_quicker_than_without_communication() -> None:
    """Under the power limit a GPU that rests is clocked higher afterwards: its operators are
    stretched by less than nothing.
    """
    found = behind_the_operators({})
    assert found.overlap.stretched_s < -0.01 * found.wall_s

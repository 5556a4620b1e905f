"""FLOP, bytes and workgroups of operators, derived by hand."""

from __future__ import annotations

import pytest

from c3sim.errors import InputError
from c3sim.iterations.one_token import sums_of_parts
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.optimizers import optimizer_ops
from c3sim.iterations.steps import Op
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.task import Kernel

H200 = load_hardware("h200-2").node.gpu
ON = OperatorSet.on(H200, "bf16", fused=False)


def kernel(op: Op) -> Kernel:
    return op.task


def test_causal_attention_computes_whole_tiles_and_needs_half() -> None:
    """4096 tokens in tiles of 128: 32 rows of tiles, of which 1, 2 ... 32 are computed: 528 tiles
    of 16384 pairs, each 4 x 128 FLOP for 32 heads. The model needs 4096 x 4097 / 2 pairs.
    """
    op = ON.attention("a", 1, 4096, 32, 8, 128, causal=True)
    assert kernel(op).flops == 528 * 128 * 128 * 4 * 128 * 32
    assert op.flops == 4096 * 4097 / 2 * 4 * 128 * 32
    assert kernel(op).tiles == 32 * 32  # a row of tiles of a head
    assert kernel(op).workgroups == 132  # one stays on each SM
    # q and output 32 heads, k and v 8 heads
    assert kernel(op).read == (32 + 2 * 8) * 4096 * 128 * 2
    assert kernel(op).written == 32 * 4096 * 128 * 2


def test_backward_has_five_products_for_two() -> None:
    """q k again, and the gradients of p, v, q, k, of which the model needs the last four. Gradients
    of q are summed in 4 bytes.
    """
    forward = ON.attention("a", 2, 4096, 32, 8, 128, causal=True)
    backward = ON.attention("a", 2, 4096, 32, 8, 128, causal=True, backward=True)
    assert kernel(backward).flops == 2.5 * kernel(forward).flops
    assert backward.flops == 2 * forward.flops
    queries, keys = 2 * 4096 * 32 * 128 * 2, 2 * 4096 * 8 * 128 * 2
    assert kernel(backward).read == 2 * keys + 2 * queries + 2 * queries
    assert kernel(backward).written == 2 * keys + 2 * queries


def test_attention_of_an_encoder_sees_everything() -> None:
    op = ON.attention("a", 64, 128, 16, 16, 64, causal=False)
    assert kernel(op).flops == op.flops == 4 * 64 * 16 * 64 * 128 * 128


def test_a_new_token_reads_all_keys_and_values() -> None:
    """64 sequences of 2048 tokens, 2 heads of 128: 64 x 2048 x 2 x 128 x 2 B, twice."""
    op = ON.attention("a", 64, 1, 16, 2, 128, causal=True, context=2047)
    assert kernel(op).read == 2 * 64 * 2048 * 2 * 128 * 2 + 64 * 16 * 128 * 2
    assert op.flops == 4 * 64 * 16 * 128 * 2048


@pytest.mark.parametrize(("width", "part"), [(64, "narrow_attention"), (128, "attention")])
def test_heads_of_64_reach_another_part_of_the_peak(width: int, part: str) -> None:
    for backward, end in ((False, "_forward"), (True, "_backward")):
        op = ON.attention("a", 2, 512, 4, 4, width, causal=False, backward=backward)
        assert kernel(op).efficiency <= getattr(H200.operators, part + end)


def test_where_narrow_heads_are_not_known_they_are_as_wide_ones() -> None:
    gpu = load_hardware("mi300x-8").node.gpu
    op = OperatorSet.on(gpu, "bf16").attention("a", 2, 512, 4, 4, 64, causal=False)
    assert kernel(op).efficiency == gpu.operators.attention_forward


def test_a_sum_places_no_element() -> None:
    """It is bound by memory on both cards: 512 MiB in 129 us on H200, 182 on H100, 1.41 times."""
    assert kernel(ON.elementwise("sum", 1e6, 1, 0)).flops == 0
    assert kernel(ON.elementwise("copy", 1e6, 1, 1)).flops == 1e6 * ON.parts.contiguous_flops


def test_a_norm_exchanges_sums_for_each_row() -> None:
    """A layer norm forward; an RMS norm and the gradient go over elements alone."""
    parts, rms = ON.parts, OperatorSet.on(H200, "bf16", rms=True)
    layer = parts.row_flops + 1024 * parts.layer_norm_flops
    assert kernel(ON.normalisation("n", 100, 1024)).flops == 100 * layer
    assert kernel(rms.normalisation("n", 100, 1024)).flops == 102400 * parts.rms_norm_flops
    gradient = kernel(ON.normalisation_backward("n", 100, 1024, 1)[0])
    assert gradient.flops == 102400 * parts.norm_gradient_flops


def test_a_norm_reads_and_writes_its_rows_step_by_step() -> None:
    """Rows of 8192 numbers of 2 bytes are 16 steps of 1 KiB, each waiting for memory, behind the
    load of any kernel. They are read twice; in between 16 rows of each of 132 units are read and
    written, half of the lines that are read with a copy (1.5).
    """
    op = kernel(ON.normalisation("n", 64, 8192))
    reads, writes = op.accesses
    assert (reads.bytes, writes.bytes) == (64 * 8192 * 2, 64 * 8192 * 2)
    assert (reads.again, writes.stores) == (1, True)
    assert reads.far == pytest.approx(16 * 132 * 16384 * (1.5 + 1))
    assert (op.workgroups, op.dependent_loads) == (64, 1 + 16)


def test_gradients_of_a_norm() -> None:
    """The gradient of its input: reads two tensors, writes one. Of its weights: reads both again,
    in 1024 / 32 workgroups, 8192 / 256 steps of two loads behind one; with a bias two vectors are
    complete.
    """
    of_input, of_weight = ON.normalisation_backward("n", 8192, 1024, 2)
    size = 8192 * 1024 * 2
    assert [access.bytes for access in kernel(of_input).accesses] == [2 * size, size]
    assert kernel(of_weight).workgroups == 32 and kernel(of_weight).dependent_loads == 65
    assert of_weight.gradients == (1024, 1024)


def test_a_bias_of_few_columns_waits_for_many_sums() -> None:
    """8192 rows of 1024: 8 columns of workgroups, 128 of 64 rows each: 32 loads of 4 sums, behind
    the counter that says who is last. Of 4096: 32 columns, 16 x 132 / 32 = 66 each.
    """
    cleared, few = ON.column_sum("b", 8192, 1024)
    assert kernel(few).closing_loads == 1 + 32 and kernel(cleared).written == 4
    assert kernel(ON.column_sum("b", 8192, 4096)[1]).closing_loads == 1 + 17


def test_an_element_of_a_strided_tensor_costs_instructions() -> None:
    plain, strided = (ON.elementwise("e", 1e6, 2, 1, strided=s) for s in (False, True))
    assert kernel(plain).read == kernel(strided).read == 4e6
    assert kernel(plain).flops == 1e6 * ON.parts.contiguous_flops
    once = ON.elementwise("e", 1e6, 1, 1, strided=True)
    assert kernel(once).flops == 1e6 * ON.parts.strided_flops
    assert kernel(strided).flops == pytest.approx(4 / 3 * kernel(once).flops)
    # and, before the element, the loads of what says where it lies
    assert (kernel(plain).dependent_loads, kernel(strided).dependent_loads) == (1, 4)


def test_attention_of_few_sequences_adds_up_parts_of_the_keys() -> None:
    """16 sequences with 4 heads of keys leave half of 132 units empty: two parts of 512 heads of
    128 numbers, 4 bytes each, become one of 2 bytes. 32 sequences fill the units.
    """
    (sums,) = sums_of_parts(ON, "parts", 16, 4, 32, 128)
    assert kernel(sums).read == 2 * 4 * 16 * 32 * 128
    assert kernel(sums).written == 2 * 16 * 32 * 128
    assert sums.host_calls == {}  # the call of attention launches it
    assert sums_of_parts(ON, "parts", 32, 4, 32, 128) == []


def test_fused_adamw_moves_seven_numbers() -> None:
    """Weights, gradients and two moments are read, all but the gradients written. 436 million are
    21 launches of 320 x 65536.
    """
    (op,) = optimizer_ops(ON, "adamw", [436_224_000], fused=True)
    assert kernel(op).read == 4 * 2 * 436_224_000 and kernel(op).written == 3 * 2 * 436_224_000
    assert op.launches == 21


def test_optimizers_without_fusion_move_more() -> None:
    """AdamW: 12 tensors read, 8 written in 8 passes. LAMB in shards of 4: a quarter of the
    numbers, but the ratio of every tensor.
    """
    ops = optimizer_ops(ON, "adamw", [1000, 3000], fused=False)
    assert len(ops) == 8
    assert sum(kernel(op).read for op in ops) == 12 * 2 * 4000
    assert sum(kernel(op).written for op in ops) == 8 * 2 * 4000
    lamb = optimizer_ops(ON, "lamb", [1000 / 4, 3000 / 4], fused=False)
    assert next(op for op in lamb if op.name == "lamb-ratio").launches == 4 * 2
    assert kernel(lamb[0]).read == 2 * 1000
    assert optimizer_ops(ON, "none", [1000], fused=False) == []


def test_a_gpu_without_numbers_for_operators_is_refused() -> None:
    with pytest.raises(InputError, match=r"NVIDIA H200 has no gpu\.operators"):
        OperatorSet.on(H200.changed(operators=None), "bf16", fused=False)

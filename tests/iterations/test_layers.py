"""Layers as operators: GEMMs, their FLOP, and what tensor and expert parallelism add."""

from __future__ import annotations

import pytest

from c3sim.input.loading import load_hardware, load_model
from c3sim.iterations.layers import Layer, Share
from c3sim.iterations.operators import Exchange, Op, OperatorSet, Step
from c3sim.iterations.units import transformer_units
from c3sim.specs.workload import Gemm

H200 = load_hardware("h200-4").node.gpu
ON = OperatorSet.on(H200, "bf16", fused=False)
BERT = load_model("bert-large")
LLAMA = load_model("llama-3-8b")


def gemms(steps: list[Step]) -> dict[str, tuple[int, int, int]]:
    found = {}
    for step in steps:
        if isinstance(step, Op) and isinstance(step.task, Gemm):
            found[step.name] = (step.task.m, step.task.n, step.task.k)
    return found


def flops(steps: list[Step]) -> float:
    return sum(s.flops for s in steps if isinstance(s, Op) and s.operator == "gemm")


def exchanges(steps: list[Step]) -> list[tuple[str, float]]:
    return [(step.op, step.size) for step in steps if isinstance(step, Exchange)]


def test_gemms_of_a_bert_layer() -> None:
    """T x 1024 x 1024 four times (three in one for q, k, v) and T x 4096 x 1024 both ways; backward
    each becomes the gradients of its input and its weights, twice the FLOP.
    """
    layer = Layer(ON, BERT, Share(sequences=64, tokens=128, training=True))
    rows = 64 * 128
    assert gemms(layer.forward()) == {
        "qkv": (rows, 3072, 1024),
        "o": (rows, 1024, 1024),
        "gate_up": (rows, 4096, 1024),
        "down": (rows, 1024, 4096),
    }
    backward = gemms(layer.backward())
    assert backward["down-input"] == (rows, 4096, 1024)
    assert backward["down-weight"] == (1024, 4096, rows)
    assert flops(layer.forward()) == 2 * rows * (4 * 1024**2 + 2 * 1024 * 4096)
    assert flops(layer.backward()) == 2 * flops(layer.forward())


def test_every_parameter_of_a_layer_gets_its_gradient() -> None:
    """Also of a part of the layer, and with experts."""
    for model in (BERT, LLAMA, load_model("mixtral-8x7b")):
        layer = Layer(ON, model, Share(sequences=1, tokens=512, training=True))
        gradients = [g for s in layer.backward() if isinstance(s, Op) for g in s.gradients]
        assert sum(gradients) == model.layer_parameters, model.name


def test_a_whole_pass_has_the_kernels_of_a_profile() -> None:
    """BERT-Large by DDP in PyTorch under its profiler: 98 GEMMs forward, 196 or 197 backward, 50
    norms forward, 100 kernels of their gradients.
    """
    share = Share(sequences=64, tokens=128, training=True)
    units = transformer_units(ON, BERT, share, 24, head=True, generates=False)

    def count(part: str, operator: str) -> int:
        each = [(units.start, 1), (units.layer, 24), (units.end, 1)]
        return sum(
            times * sum(isinstance(s, Op) and s.operator == operator for s in getattr(unit, part))
            for unit, times in each
        )

    assert (count("forward", "gemm"), count("backward", "gemm")) == (98, 196)
    # and a softmax each way
    assert (count("forward", "normalisation"), count("backward", "normalisation")) == (51, 101)
    assert units.parameters == BERT.parameters


def test_tensor_parallel_layers_reduce_their_output_twice_each_way() -> None:
    """The full tensor of 4096 tokens of 4096 numbers of 2 bytes; by tokens: gathered and
    scattered instead.
    """
    size = 4096.0 * 4096 * 2
    whole = Layer(ON, LLAMA, Share(sequences=1, tokens=4096, tensor=4, training=True))
    assert exchanges(whole.forward()) == exchanges(whole.backward()) == [("all_reduce", size)] * 2
    split = Layer(ON, LLAMA, Share(sequences=1, tokens=4096, tensor=4, split=True, training=True))
    pair = [("all_gather", size), ("reduce_scatter", size)]
    assert exchanges(split.forward()) == exchanges(split.backward()) == pair * 2
    (norm, *_) = split.forward()
    assert isinstance(norm, Op) and norm.task.read == size / 4  # type: ignore[union-attr]


def test_the_gradient_of_weights_runs_beside_the_sum_of_inputs() -> None:
    layer = Layer(ON, LLAMA, Share(sequences=1, tokens=4096, tensor=4, training=True))
    steps = layer.backward()
    sums = [i for i, step in enumerate(steps) if isinstance(step, Exchange)]
    for index in sums:
        step, before, after = steps[index], steps[index - 1], steps[index + 1]
        assert isinstance(step, Exchange) and step.beside == 1
        assert before.name.endswith("-input") and after.name.endswith("-weight")


def test_dealt_experts_exchange_tokens_twice_each_way() -> None:
    """4096 tokens to two experts each: 8192 x 4096 numbers of 2 bytes; each of 8 GPUs has one
    expert, for the 8192 tokens that come to it on average.
    """
    mixtral = load_model("mixtral-8x7b")
    layer = Layer(ON, mixtral, Share(sequences=1, tokens=4096, expert=8, training=True))
    assert exchanges(layer.forward()) == [("all_to_all", 8192 * 4096 * 2.0)] * 2
    assert exchanges(layer.backward()) == [("all_to_all", 8192 * 4096 * 2.0)] * 2
    assert gemms(layer.forward())["down"] == (8192, 4096, 14336)


def test_fusion_leaves_fewer_kernels_and_the_same_flop() -> None:
    share = Share(sequences=1, tokens=4096, training=True)
    plain = Layer(ON, LLAMA, share)
    fused = Layer(OperatorSet.on(H200, "bf16", fused=True), LLAMA, share)
    assert len(fused.forward()) == len(plain.forward()) - 1
    assert len(fused.backward()) == len(plain.backward()) - 3
    assert flops(fused.backward()) == pytest.approx(flops(plain.backward()))

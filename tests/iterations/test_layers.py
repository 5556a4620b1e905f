"""Layers as operators: GEMMs, their FLOP, and what tensor and expert parallelism add."""

from __future__ import annotations

from collections import Counter

import pytest

from c3sim.iterations.layers import Layer, Share
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.iterations.units import transformer_units
from c3sim.spec.models import Transformer
from c3sim.spec.reading.loading import load_hardware, load_model
from c3sim.spec.workload import Gemm

H200 = load_hardware("h200-4").node.gpu
ON = OperatorSet.on(H200, "bf16", fused=False)
BERT = load_model("bert-large")
TOGETHER = BERT.changed(fused_qkv=True)  # as in the profile
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


def test_a_new_tokens_keys_and_values_are_written_to_strided_places() -> None:
    """As rotary embedding, four loads that wait for each other; a whole tensor needs one."""
    layer = Layer(ON, LLAMA, Share(sequences=8, tokens=1, training=False, context=512))
    tasks = {step.name: step.task for step in layer.forward() if isinstance(step, Op)}
    for name, loads in (("keys", 4), ("values", 4), ("add1", 1)):
        assert tasks[name].dependent_loads == loads, name


def test_gemms_of_a_bert_layer() -> None:
    """T x 1024 x 1024 four times (three in one for q, k, v) and T x 4096 x 1024 both ways; backward
    each becomes the gradients of its input and its weights, twice the FLOP.
    """
    layer = Layer(ON, TOGETHER, Share(sequences=64, tokens=128, training=True))
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
    units = transformer_units(ON, TOGETHER, share, 24, head=True, generates=False)

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
    assert norm.task.accesses[0].bytes == size / 4


def test_the_gradient_of_weights_runs_beside_the_sum_of_inputs() -> None:
    layer = Layer(ON, LLAMA, Share(sequences=1, tokens=4096, tensor=4, training=True))
    steps = layer.backward()
    sums = [i for i, step in enumerate(steps) if isinstance(step, Exchange)]
    for index in sums:
        step, before, after = steps[index], steps[index - 1], steps[index + 1]
        assert step.beside == 1
        assert before.name.endswith(("-input", "-sum")) and after.name.endswith("-weight")


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
    # silu and product are one kernel, rotary's ten are one; gradients the same, theirs of three
    assert len(fused.forward()) == len(plain.forward()) - 1 - 9
    assert len(fused.backward()) == len(plain.backward()) - 2 - 9
    assert flops(fused.backward()) == pytest.approx(flops(plain.backward()))


def test_products_of_one_input_are_one_or_several() -> None:
    """Llama 8B: q of 4096, k and v of 1024 columns; gate and up of 14336. The same FLOP, the same
    parameters; backward two sums of three gradients of the input, and one of two.
    """
    share = Share(sequences=1, tokens=512, training=True)
    apart = Layer(ON, LLAMA, share)
    together = Layer(ON, LLAMA.changed(fused_qkv=True, fused_gate=True), share)
    assert [n for _, n, _ in gemms(apart.forward()).values()] == [
        *(4096, 1024, 1024, 4096, 14336, 14336, 4096)
    ]
    assert [n for _, n, _ in gemms(together.forward()).values()] == [6144, 4096, 28672, 4096]
    assert flops(apart.forward()) == flops(together.forward())
    assert flops(apart.backward()) == flops(together.backward())
    sums = {"gate-sum", "k-sum", "q-sum"}
    assert sums < {step.name for step in apart.backward()}
    assert not sums & {step.name for step in together.backward()}


#: Kernels that PyTorch's profiler shows of one layer of validation/frameworks/models.py, forward.
INPUTS = ["linear", "view", "transpose"] * 3
TURN = ["chunk", "mul", "neg", "cat", "mul", "add"] * 2
MIXED = ["attention", "transpose", "reshape", "linear"]
DECODER = ["norm", *INPUTS, *TURN, *MIXED, "add", "norm"]
DECODER += ["linear", "silu", "linear", "mul", "linear", "add"]
ENCODER = [*INPUTS, *MIXED, "dropout", "add", "norm", "linear", "gelu", "linear", "dropout", "add"]
ENCODER += ["norm"]
CACHE = ["slice", "copy"] * 2
#: and of a decoder's with one product for q, k, v, one for gate and up, and no rotary embedding
SPLIT = ["norm", "linear", "split", *["view", "transpose"] * 3, *MIXED, "add", "norm"]
SPLIT += ["linear", "chunk", "silu", "mul", "linear", "add"]
CALL = {"norm": "normalisation", "cat": "copy", "copy": "copy"} | dict.fromkeys(
    ("view", "transpose", "reshape", "chunk", "split", "slice"), "view"
)
CALL |= dict.fromkeys(("mul", "neg", "add", "silu", "gelu"), "elementwise")
FUSED = {"fused_qkv": True, "fused_gate": True, "positions": "none"}


@pytest.mark.parametrize(
    ("model", "tokens", "seen"),
    [
        (LLAMA, 4096, DECODER),
        (LLAMA, 1, [*DECODER, *CACHE]),
        (BERT, 128, ENCODER),
        (LLAMA.changed(**FUSED), 4096, SPLIT),
    ],
    ids=["decoder", "decode", "encoder", "fused"],
)
def test_the_host_calls_what_a_profile_shows(
    model: Transformer, tokens: int, seen: list[str]
) -> None:
    share = Share(sequences=1, tokens=tokens, training=tokens > 1)
    calls: Counter[str] = Counter()
    for step in Layer(ON, model, share).forward():
        calls.update(step.host_calls if isinstance(step, Op) else {})
    assert calls.pop("layer") == 1
    assert calls == Counter(CALL.get(name, name) for name in seen)


def test_backward_calls_are_nodes_of_the_graph() -> None:
    """Seven products, two norms, one attention; a product's two kernels are one call."""
    calls: Counter[str] = Counter()
    share = Share(sequences=1, tokens=512, training=True)
    for step in Layer(ON, LLAMA, share).backward():
        calls.update(step.host_calls if isinstance(step, Op) else {})
    assert (calls["linear"], calls["normalisation"], calls["attention"]) == (7, 2, 1)
    assert calls["copy"] == 2  # halves of rotary's gradients

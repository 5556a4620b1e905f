"""Latent attention and mixtures of experts as operators, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from c3sim.errors import InputError
from c3sim.iterations.inference.kv import pairs_seen
from c3sim.iterations.layers import Layer, Share
from c3sim.iterations.load import Dispatch, Load, check_dispatch, gpus_reached
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.iterations.units import transformer_units
from c3sim.models.gemm import plan_gemm
from c3sim.spec.iteration import Mixture
from c3sim.spec.models import Transformer
from c3sim.spec.reading.loading import load_hardware, load_model

H200 = load_hardware("h200-1").node.gpu
ON = OperatorSet.on(H200, "bf16", rms=True)
V3, QWEN = load_model("deepseek-v3"), load_model("qwen3-30b-a3b")


def ops(steps: list[Step]) -> dict[str, Op]:
    return {step.name: step for step in steps if isinstance(step, Op)}


def gemm(op: Op) -> tuple[int, int, int, int]:
    return op.task.batch, op.task.m, op.task.n, op.task.k


@pytest.mark.parametrize("name", ["deepseek-v2-lite", "deepseek-v3", "qwen1.5-moe", "gpt-oss-20b"])
@pytest.mark.parametrize("index", [0, -1])
def test_every_parameter_gets_its_gradient(name: str, index: int) -> None:
    """But the number that is added to an expert's scores, which no gradient changes."""
    model = load_model(name)
    kind = model.kind_of(index % model.layers)
    steps = Layer(ON, model, Share(sequences=1, tokens=512, training=True), kind).backward()
    found = sum(size for op in ops(steps).values() for size in op.gradients)
    own = model if kind.experts else model.dense
    assert found == own.layer_parameters - (own.experts if own.expert_bias else 0)


def test_latent_attention_of_a_sequence() -> None:
    """4096 tokens: queries of 128 heads x 192 by way of 1536 numbers, keys and values of 128 heads
    x (128 + 128) by way of 512, one turned key of 64 beside them. Attention: 2 x 192 + 2 x 128 FLOP
    for each of 128 heads and 4096 x 4097 / 2 pairs.
    """
    found = ops(Layer(ON, V3, Share(sequences=1, tokens=4096, training=True)).forward())
    products = {name: gemm(found[name])[1:] for name in ("q-down", "q-up", "kv-down", "kv-up", "o")}
    assert products == {
        "q-down": (4096, 1536, 7168),
        "q-up": (4096, 128 * 192, 1536),
        "kv-down": (4096, 576, 7168),
        "kv-up": (4096, 128 * 256, 512),
        "o": (4096, 7168, 128 * 128),
    }
    assert found["attention"].flops == 640 * 128 * 4096 * 4097 / 2


def test_latent_attention_of_a_new_token_is_absorbed() -> None:
    """64 sequences of 4096 tokens: every head's query becomes one of 512 numbers, its result 128;
    attention reads 576 numbers of each token once, for all 128 heads.
    """
    share = Share(sequences=64, tokens=1, context=4095)
    found = ops(Layer(ON, V3, share).forward())
    assert gemm(found["absorb-keys"]) == (128, 64, 512, 128)
    assert gemm(found["absorb-values"]) == (128, 64, 128, 512)
    assert "kv-up" not in found and "keys-together" not in found
    task = found["attention"].task
    assert task.read == 2 * 64 * 576 * (4096 + 128)
    assert task.flops == 2 * (576 + 512) * 128 * 64 * 4096


def test_experts_get_as_many_rows_each() -> None:
    """4096 tokens to 8 of 128 experts: 256 rows each; gate and up are 2 x 768 columns. A gradient
    of one expert's weights goes over its rows.
    """
    layer = Layer(ON, QWEN, Share(sequences=1, tokens=4096, training=True))
    forward, backward = ops(layer.forward()), ops(layer.backward())
    assert gemm(forward["gate_up"]) == (128, 256, 1536, 2048)
    assert gemm(forward["down"]) == (128, 256, 2048, 768)
    assert gemm(backward["gate_up-weight"]) == (128, 1536, 2048, 256)
    rows, copies = forward["permute"].task.accesses  # a row is found again in the cache
    assert (rows.bytes, rows.again, copies.bytes) == (2**24, 7, 8 * 2**24)


def test_a_sort_is_one_workgroup_or_a_pass_for_each_byte() -> None:
    """8 passes over 8 bytes, one that counts, and copies of numbers and places before them."""
    assert len(ON.sort("s", 4096)) == 3 and len(ON.sort("s", 4097)) == 11
    assert ON.sort("s", 512)[-1].task.workgroups == 1
    assert sum(sum(op.host_calls.values()) for op in ON.sort("s", 512)) == 1  # one call


def test_experts_products_are_one_kernel_of_their_own_library() -> None:
    layer = Layer(ON, QWEN, Share(sequences=1, tokens=4096, training=True))
    found = ops([*layer.forward(), *layer.backward()])
    library = {name: op.task.library for name, op in found.items() if op.task.kind == "gemm"}
    assert {name for name, one in library.items() if one == "grouped"} == {
        f"{name}{part}" for name in ("gate_up", "down") for part in ("", "-input", "-weight")
    }


def test_choosing_in_groups_looks_for_the_best_of_each() -> None:
    """V3: 256 experts in 8 groups. Two largest of 32, 8 times a token; groups; then experts."""
    found = ops(Layer(ON, V3, Share(sequences=1, tokens=1024)).forward())
    sizes = {name: found[name].task.workgroups for name in ("group-largest", "choose")}
    assert sizes == {"group-largest": 8192, "choose": 1024}
    assert "group-largest" not in ops(Layer(ON, QWEN, Share(sequences=1, tokens=1024)).forward())


def test_a_skew_fills_more_tiles_with_as_many_rows() -> None:
    """Ragged rows leave more tiles part full. The same seed draws the same loads."""
    load = Load(skew=0.8, seed=3)
    loads = load.fullest(32768, 128, 1)
    assert loads == load.fullest(32768, 128, 1) != Load(0.8, 4).fullest(32768, 128, 1)
    assert sum(loads) == pytest.approx(32768, abs=64) and max(loads) > 3 * 256
    share = Share(sequences=1, tokens=4096)
    even = ops(Layer(ON, QWEN, share).forward())["down"].task
    ragged = ops(Layer(ON, QWEN, replace(share, load=load)).forward())["down"].task
    ragged = ragged.changed(macro_tile=(128, 256))
    even = even.changed(macro_tile=(128, 256))
    # 256 rows are two tiles of 128, 2048 columns eight: 128 x 2 x 8; clusters pad an odd number
    assert plan_gemm(H200, even).tiles == 2048
    least = sum(-(-rows // 128) for rows in ragged.rows) * 8
    assert 2048 < least <= plan_gemm(H200, ragged).tiles


def test_the_fullest_gpu_is_the_one_that_all_wait_for() -> None:
    every = Load(1.0, 1).fullest(8192, 64, 1)
    part = Load(1.0, 1).fullest(8192, 64, 8)
    assert sum(part) > sum(every) / 8 and len(part) <= 8


def test_gpus_that_a_token_reaches() -> None:
    """8 of 256 on 8 GPUs of 32: 8 (1 - 224 x ... x 217 / (256 x ... x 249))."""
    missed = 1.0
    for i in range(8):
        missed *= (224 - i) / (256 - i)
    assert gpus_reached(256, 8, 8) == pytest.approx(8 * (1 - missed))
    assert gpus_reached(64, 64, 8) == 8


def test_a_window_bounds_what_a_token_sees() -> None:
    """5 tokens behind 2: 3, 4, 5, 6, 7 pairs; a window of 4: 3, 4, 4, 4, 4."""
    assert pairs_seen(5, 2, None) == 25 and pairs_seen(5, 2, 4) == 19
    model = load_model("gpt-oss-20b")
    share = Share(sequences=1, tokens=4096)
    first, second = (
        ops(Layer(ON, model, share, model.kind_of(i)).forward())["attention"] for i in (0, 1)
    )
    # rows of 128 tokens see their own tile and the one before; the first its own alone
    assert first.task.flops / second.task.flops == (2 * 32 - 1) / (32 * 33 / 2)


def test_layers_of_all_kinds_are_counted() -> None:
    """Parameters of one GPU with the whole model are the model's."""
    model = load_model("deepseek-v2-lite")
    share = Share(sequences=1, tokens=512, training=True)
    units = transformer_units(ON, model, share, model.layers, head=True, generates=False)
    assert units.parameters == model.parameters
    assert len({id(unit) for unit in units.each}) == 2


def test_dense_layers_are_not_dealt() -> None:
    """With experts on 8 GPUs a GPU has the first layers whole, and 32 of 256 experts of others."""
    share = Share(sequences=1, tokens=512, training=True, expert=8)
    units = transformer_units(ON, V3, share, V3.layers, head=False, generates=False)
    dense, last = units.each[0], units.each[-1]
    assert (dense.parameters, dense.shared) == (V3.dense.layer_parameters,) * 2
    dealt = 32 * 3 * 7168 * 2048  # gate, up and down
    assert (last.network, last.parameters - last.shared) == (dealt, dealt)


def test_dense_layers_have_a_network_of_their_own() -> None:
    dense: Transformer = V3.dense
    found = ops(Layer(ON, V3, Share(sequences=1, tokens=256), V3.kind_of(0)).forward())
    assert gemm(found["down"])[1:] == (256, 7168, 18432) and "router" not in found
    assert dense.layer_parameters == 583_483_392  # 187.1 M attention, 3 x 7168 x 18432, two norms


@pytest.mark.parametrize(
    ("by", "forward", "backward"),
    [
        ("all_to_all", ["all_to_all"] * 2, ["all_to_all"] * 2),
        ("all_gather", ["all_gather", "reduce_scatter"], ["all_gather", "reduce_scatter"]),
        ("kernels", ["all_to_all"] * 2, ["all_to_all"] * 2),
        ("puts", ["all_to_all"] * 2, ["all_to_all"] * 2),
    ],
)
def test_rows_reach_their_experts_and_come_back(
    by: Any, forward: list[str], backward: list[str]
) -> None:
    """4096 tokens of 2048 numbers of 2 bytes, 8 of 128 experts on 8 GPUs: every row to each expert,
    8 x 16 MiB; all tokens of 8 GPUs, as many; a row once to each of 5.3 GPUs that it reaches.
    """
    size = dict.fromkeys(("all_to_all", "all_gather", "puts"), 8 * 2**24)
    library = {"kernels": "deepep", "puts": "puts"}.get(by)
    size["kernels"] = round(4096 * gpus_reached(128, 8, 8) * 4096)
    share = Share(sequences=1, tokens=4096, expert=8, training=True, dispatch=Dispatch(by, None))
    layer = Layer(ON, QWEN, share)
    for steps, ops_of in ((layer.forward(), forward), (layer.backward(), backward)):
        sent = [step for step in steps if isinstance(step, Exchange)]
        assert [step.op for step in sent] == ops_of
        assert {step.size for step in sent} == {size[by]}
        assert {step.backend for step in sent} == {library}


def test_who_puts_rows_stores_them_where_their_expert_reads_them() -> None:
    """No copy in front of the exchange, none behind it, and none behind that of the gradients."""
    put = Share(sequences=1, tokens=4096, expert=8, training=True, dispatch=Dispatch("puts"))
    sent = replace(put, dispatch=Dispatch())
    names, others = (
        {*ops(layer.forward()), *ops(layer.backward())}
        for layer in (Layer(ON, QWEN, put), Layer(ON, QWEN, sent))
    )
    here = {f"{way}-experts{end}-here" for way in ("to", "from") for end in ("", "-gradient")}
    zeros = {"from-experts-gradient-here-zeros", "to-experts-gradient-here-zeros"}
    assert others - names == {"permute", *here, *zeros} and names < others


def test_gradients_of_rows_that_were_put_by_expert_are_added_up() -> None:
    """index_select forward is index_add backward: 8 x 4096 rows, twice, beside the one that
    every mixture has.
    """
    layer = Layer(ON, QWEN, Share(sequences=1, tokens=4096, expert=8, training=True))
    backward = ops(layer.backward())
    added = [name for name in backward if name.endswith("gradient-here")]
    assert added == ["from-experts-gradient-here", "to-experts-gradient-here"]
    assert all(backward[name].task == backward["permute-gradient"].task for name in added)


def test_kernels_that_send_rows_need_units_and_a_library() -> None:
    """Said once, in the words of the file, not of each layer's tasks."""
    many = Mixture(dispatch="kernels", units=133)
    with pytest.raises(InputError, match=r"mixture.units: got 133; must be at most the 132"):
        check_dispatch(many, load_hardware("h200-8").node)
    with pytest.raises(InputError, match=r"mixture.dispatch: .* no collective library deepep"):
        check_dispatch(many, load_hardware("mi300x-8").node)

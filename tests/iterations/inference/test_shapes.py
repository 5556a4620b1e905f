"""Models as shapes: GEMMs, KV and weights against sizes derived by hand."""

import pytest

from c3sim.errors import InputError
from c3sim.iterations.inference.kv import (
    block_bytes,
    copies_of,
    hit_tokens,
    kept_tokens,
    kv_bytes_per_gpu,
    node_of,
    token_room,
    weight_bytes,
)
from c3sim.iterations.inference.steps import (
    ABSORBED,
    EXPANDED,
    active_experts,
    attention_task,
    head_task,
    layer_tasks,
)
from c3sim.spec.models import Transformer
from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import load_any_model, load_hardware, load_model
from c3sim.spec.study import Serving


def mnkb(task):
    return task["m"], task["n"], task["k"], task["batch"]


def test_the_gemms_of_a_dense_layer():
    """Llama 3 8B, 100 tokens: (32 + 16) heads of 128 = 6144; 32 x 128 = 4096; 2 x 14336 = 28672."""
    tasks = layer_tasks(load_model("llama-3-8b"), 1, 100)
    assert {name: mnkb(task) for name, task in tasks.items()} == {
        "qkv": (100, 6144, 4096, 1),
        "o": (100, 4096, 4096, 1),
        "gate_up": (100, 28672, 4096, 1),
        "down": (100, 4096, 14336, 1),
    }


def test_eight_gpus_share_a_layer_and_reduce_twice():
    """Llama 3 70B on 8: (8 + 2 x 1) heads of 128 = 1280; 2 x 28672 / 8 = 7168; 100 x 8192 x 2 B =
    1638400 B reduced.
    """
    tasks = layer_tasks(load_model("llama-3-70b"), 8, 100)
    assert list(tasks) == ["qkv", "o", "reduce_attention", "gate_up", "down", "reduce_network"]
    assert [mnkb(tasks[name]) for name in ("qkv", "o", "gate_up", "down")] == [
        (100, 1280, 8192, 1),
        (100, 8192, 1024, 1),
        (100, 7168, 8192, 1),
        (100, 8192, 3584, 1),
    ]
    assert (
        tasks["reduce_network"]["op"] == "all_reduce" and tasks["reduce_network"]["size"] == 1638400
    )
    assert mnkb(head_task(load_model("llama-3-70b"), 8, 3)) == (3, 16032, 8192, 1)  # 128256 / 8


def test_tokens_spread_over_experts():
    """Mixtral: one token takes 2 of 8 experts; 4 reach 8 (1 - 0.75^4) = 5.47; 1000 reach all, 250
    rows each.
    """
    model = load_model("mixtral-8x7b")
    assert [active_experts(model, tokens) for tokens in (1, 4, 1000)] == [2, 5, 8]
    tasks = layer_tasks(model, 1, 1000)
    assert mnkb(tasks["gate_up"]) == (250, 28672, 4096, 8) and mnkb(tasks["router"]) == (
        1000,
        8,
        4096,
        1,
    )
    assert mnkb(layer_tasks(model, 1, 1)["down"]) == (1, 4096, 14336, 2)


def test_latent_attention_of_all_tokens_of_prompts_and_of_those_that_are_generated():
    """DeepSeek-V3 on 8: 16 of 128 heads. Queries of 128 + 64 numbers by way of 1536, 3072 wide;
    vectors of 512 + 64; keys and values of 16 (128 + 128) = 4096 made of 512 for a prompt, absorbed
    head by head for a new token; o of 16 x 128 = 2048. A first layer has one network of 18432.
    """
    model = load_model("deepseek-v3")
    tasks = layer_tasks(model.dense, 8, 100)
    assert {name: mnkb(task) for name, task in tasks.items() if task["kind"] == "gemm"} == {
        "q-down": (100, 1536, 7168, 1),
        "q-up": (100, 3072, 1536, 1),
        "kv-down": (100, 576, 7168, 1),
        "o": (100, 7168, 2048, 1),
        "gate_up": (100, 4608, 7168, 1),
        "down": (100, 7168, 2304, 1),
    }
    assert list(map(mnkb, layer_tasks(model, 8, 9, EXPANDED).values())) == [(9, 4096, 512, 1)]
    absorbed = layer_tasks(model, 8, 9, ABSORBED)
    assert list(map(mnkb, absorbed.values())) == [(9, 512, 128, 16), (9, 128, 512, 16)]


def test_shared_experts_are_part_of_what_is_reduced():
    """DeepSeek-V3 on 8: 8 of 256 experts, 2048 / 8 = 256 wide, and one of all tokens; 100 tokens
    reach 256 (1 - (31 / 32)^100) = 245.3, 800 / 245 = 4 rows each.
    """
    tasks = layer_tasks(load_model("deepseek-v3"), 8, 100)
    others = [name for name in tasks if not name.startswith(("q", "kv"))]
    shared = ["shared-gate", "shared-up", "shared-down"]
    experts = ["router", "gate_up", "down", *shared, "reduce_network"]
    assert others == ["o", "reduce_attention", *experts]
    assert mnkb(tasks["gate_up"]) == (4, 512, 7168, 245)
    assert [mnkb(tasks[name]) for name in shared] == [
        (100, 256, 7168, 1),
        (100, 256, 7168, 1),
        (100, 7168, 256, 1),
    ]


def test_weights_are_those_of_the_model_cards():
    """8.03, 70.6 and 46.7 billion parameters of 2 B; norms, below 0.1 %, are left out."""
    for name, billions in (("llama-3-8b", 8.03), ("llama-3-70b", 70.6), ("mixtral-8x7b", 46.7)):
        assert load_model(name).weight_bytes == pytest.approx(2e9 * billions, rel=2e-3)


def test_kv_of_a_block():
    """2 x 8 heads x 128 x 2 B = 4 KiB per token and layer; 16 tokens 64 KiB; 32 layers 2 MiB. On 8
    GPUs one head each.
    """
    small, large = load_model("llama-3-8b"), load_model("llama-3-70b")
    assert small.kv_bytes == 4096 and kv_bytes_per_gpu(large, 8) == 512
    assert block_bytes(small, Serving()) == 64 * 1024
    assert block_bytes(small, Serving(layout="contiguous")) == 2 * 1024**2
    assert block_bytes(large, Serving(tensor_parallel=8)) == 8 * 1024
    assert block_bytes(large, Serving(tensor_parallel=8, layout="contiguous")) == 640 * 1024
    assert kv_bytes_per_gpu(large, 16) == 512  # fewer heads than GPUs: each has one


def test_latent_vectors_are_on_every_gpu():
    """512 + 64 numbers of 2 bytes; 16 tokens of 61 layers."""
    model = load_model("deepseek-v3")
    assert [kv_bytes_per_gpu(model, gpus) for gpus in (1, 8)] == [1152, 1152]
    whole = Serving(tensor_parallel=8, layout="contiguous")
    assert block_bytes(model, whole) == 16 * 1152 * 61


def test_a_layer_with_a_window_keeps_and_fetches_the_window():
    """gpt-oss 20B: 12 layers see all of 4096 tokens, 12 see 128, 8 blocks of 16. Of 3680 hits, 230
    blocks, 12 (230 + 8) are fetched; a block of all layers goes whole.
    """
    model = load_model("gpt-oss-20b")
    assert kept_tokens(model, 4096) == {4096: 12, 128: 12}
    assert copies_of(model, Serving()) == 12 * (230 + 8)
    assert copies_of(model, Serving(layout="contiguous")) == 230


def test_layers_in_fewer_bits_have_smaller_weights():
    """DeepSeek-V3 has 671.0 billion parameters, 2 x 129280 x 7168 of them in embedding and head."""
    model = load_model("deepseek-v3")
    heads = 2 * 129280 * 7168
    assert weight_bytes(model, None) == model.weight_bytes
    layers = weight_bytes(model, "fp8") - 2 * heads
    assert layers == pytest.approx(671.0e9 - heads, rel=1e-4)
    node, eight = load_hardware("h200-8").node, Serving(tensor_parallel=8)
    with pytest.raises(InputError, match="take 156 GiB of each of 8 GPUs; h200-8 has 118"):
        token_room(node, model, eight)
    assert token_room(node, model, eight.model_copy(update={"precision": "fp8"})) > 10**5


@pytest.mark.parametrize(
    ("prompt", "rate", "tokens"),
    [(4096, 0.5, 2048), (4096, 1, 4080), (4096, 0, 0), (100, 0.9, 80), (16, 1, 0), (17, 1, 16)],
)
def test_hits_are_whole_blocks_and_never_the_last_token(prompt, rate, tokens):
    """90 % of 100 are 90 tokens, five blocks of 16; of a whole prompt the last token, so its block,
    is run.
    """
    serving = Serving(prompt_tokens=prompt, hit_rate=rate)
    assert hit_tokens(serving) == tokens
    assert copies_of(load_model("llama-3-8b"), serving) == 32 * tokens // 16


def test_attention_is_given_the_flop_that_take_as_long():
    """MI300X: 2048 matrix FLOP per cycle at half of the peak are four times 256 vector FLOP."""
    node = load_hardware("mi300x-8").node
    task = attention_task(node, load_model("llama-3-8b"), read=1000.0, flops=4000.0, efficiency=0.5)
    assert task["bytes"] == 1000 and task["flops_per_byte"] == pytest.approx(4.0 * 256 / 1024)


def test_room_for_tokens():
    """0.9 x 192 GiB less 16.06 GB of weights, by 4 KiB x 32 layers per token: 1.29 million."""
    node, model = load_hardware("mi300x-8").node, load_model("llama-3-8b")
    assert token_room(node, model, Serving()) == int(
        (0.9 * 192 * 2**30 - model.weight_bytes) / (4096 * 32)
    )
    with pytest.raises(InputError, match="leaves room for 1293049 tokens; a request has 2000128"):
        token_room(node, model, Serving(prompt_tokens=2_000_000))


def test_what_does_not_divide_is_refused():
    node, model = load_hardware("mi300x-8").node, load_model("llama-3-8b")
    assert node_of(node, Serving(tensor_parallel=4)).gpus == 4
    with pytest.raises(InputError, match="got 9; must be at most 8"):
        node_of(node, Serving(tensor_parallel=9))
    with pytest.raises(InputError, match="32 heads of llama-3-8b do not divide by 3 GPUs"):
        layer_tasks(model, 3, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kv_heads": 5}, "32 heads on 5 kv_heads"),
        ({"experts_per_token": 2}, "takes 2 experts of 1"),
    ],
)
def test_a_model_fits_together(change, message):
    fields = load_model("llama-3-8b").model_dump(by_alias=True)
    with pytest.raises(ValueError, match=message):
        Transformer(**{**fields, **change})


@pytest.mark.parametrize("name", names("model"))
def test_every_packaged_model_has_its_own_name_and_a_source(name):
    assert load_any_model(name).name == name and load_any_model(name).source

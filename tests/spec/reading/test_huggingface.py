"""Hugging Face configs as models: published parameters, caches and FLOP, and what is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import c3sim
from c3sim.errors import InputErrors
from c3sim.iterations.layers import Share
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.units import token_flops, transformer_units
from c3sim.spec.models import LayerKind
from c3sim.spec.reading.loading import load_model, load_node

H200 = OperatorSet.on(load_node("h200-1").gpu, "bf16", rms=True)

#: Parameters of the files' tensors, FROM MEMORY, TO CHECK: not fetched, so the digits are a pin of
#: what is counted, and no citation. What is cited stands in CITED. Of DeepSeek-V3 without the layer
#: that predicts a further token. Of one token: model cards, in billions, from memory too.
PUBLISHED = {
    "mistral-7b": (7_241_732_096, None),
    "mixtral-8x7b": (46_702_792_704, 12.9),  # arXiv 2401.04088: 13B active
    "qwen2-7b": (7_615_616_512, None),
    "qwen3-8b": (8_190_735_360, None),
    "qwen3-30b-a3b": (30_532_122_624, 3.3),
    "qwen1.5-moe": (14_315_784_192, 2.7),
    "gemma-2-9b": (9_241_705_984, None),
    "gpt-oss-20b": (20_914_757_184, None),
    "gpt-oss-120b": (116_829_156_672, None),
    "deepseek-v2-lite": (15_706_484_224, 2.7),
    "deepseek-v2": (235_741_434_880, 21.4),
    "deepseek-v3": (671_026_419_200, 37.6),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_the_published_ones(name: str) -> None:
    model = load_model(name)
    every, active = PUBLISHED[name]
    assert model.parameters == every
    if active is not None:
        assert model.active_parameters == pytest.approx(active * 1e9, abs=0.06e9)


#: Billions of parameters, of all and of one token, as papers give them.
CITED = {
    "mixtral-8x7b": (47, 13, "arXiv 2401.04088, abstract"),
    "deepseek-v2": (236, 21, "arXiv 2405.04434, abstract"),
    "deepseek-v3": (671, 37, "arXiv 2412.19437, abstract"),
    "gpt-oss-120b": (116.83, 5.13, "arXiv 2508.10925, table 1"),
    "gpt-oss-20b": (20.91, 3.61, "arXiv 2508.10925, table 1"),
}


@pytest.mark.parametrize("name", CITED)
def test_parameters_are_those_of_the_papers(name: str) -> None:
    """To the digits that they give; of one token without the embedding, of which a token reads a
    row: table 1 of gpt-oss says so, with the others it is within what they round.
    """
    model = load_model(name)
    every, active, _ = CITED[name]
    assert round(model.parameters / 1e9, 2 if isinstance(every, float) else 0) == every
    own = model.active_parameters - model.vocab * model.hidden
    assert own == pytest.approx(active * 1e9, rel=0.002 if isinstance(active, float) else 0.02)


def test_gemmas_have_the_parameters_of_their_tables() -> None:
    """Without the embedding. arXiv 2408.00118, table 2: 8,324,201,984; arXiv 2503.19786, table 1:
    25,600 million.
    """
    two, three = load_model("gemma-2-9b"), load_model("gemma-3-27b")
    assert two.parameters - two.vocab * two.hidden == 8_324_201_984
    assert round((three.parameters - three.vocab * three.hidden) / 1e6) == 25_600


def test_the_cache_of_a_token_is_the_published_one() -> None:
    """arXiv 2505.09343, table 1: 70.272 KB of latent vectors in DeepSeek-V3, 516.096 KB of keys and
    values in Llama 3.1 405B, 2 bytes a number.
    """
    v3, llama = load_model("deepseek-v3"), load_model("llama-3-405b")
    assert v3.layers * v3.kv_bytes == 61 * (512 + 64) * 2 == 70272
    assert llama.layers * llama.kv_bytes == 516096


#: GFLOP of a token in training, in sequences of 4096 tokens of which it sees half in the mean, and
#: within what part they are found.
OF_A_TOKEN = {
    "deepseek-v3": (250, 0.003, "arXiv 2505.09343, table 2"),
    "deepseek-v2": (155, 0.003, "arXiv 2505.09343, table 2"),
    "llama-3-405b": (2448, 0.011, "arXiv 2505.09343, table 2"),
}


@pytest.mark.parametrize("name", OF_A_TOKEN)
def test_flop_of_a_token_in_training_are_the_published_ones(name: str) -> None:
    """Of V3 36.6 billion parameters and 61 layers of 128 heads: 6 x 36.6 = 219.8 GFLOP, and
    3 x 61 x 128 x 2048 x (2 x 192 + 2 x 128) = 30.7.
    """
    published, within, _ = OF_A_TOKEN[name]
    assert 3e-9 * sum(token_flops(load_model(name), 4096)) == pytest.approx(published, rel=within)


#: By hand: parameters; FLOP of a token forward, by products and by attention, of 4096 tokens, of
#: which it sees 2048.5 in the mean.
BY_HAND = {
    # A layer: q, o 2 x 4096 x 4096 = 33,554,432; k, v 2 x 4096 x 1024 = 8,388,608; network
    # 3 x 4096 x 14336 = 176,160,768; norms 8,192: 218,112,000, 32 times. Embedding, head
    # 2 x 128256 x 4096 = 1,050,673,152; a norm. Products: 2 (32 x 218,103,808 + 525,336,576).
    # Attention: 32 layers, 32 heads, 2 x 128 FLOP of q k, as many of p v: 524,288 x 2048.5.
    "llama-3-8b": (8_030_261_248, 15_009_316_864, 1_074_003_968),
    # Attention: 7168 x 1536 + 1536 x 128 x 192 + 7168 x 576 + 512 x 128 x 256 + 128 x 128 x 7168
    # = 187,105,280; norms 2 x 7168 + 1536 + 512 = 16,384. An expert 3 x 7168 x 2048 = 44,040,192,
    # 257 of them; router 256 x 7168 = 1,835,008, and 256 biases: 11,507,286,272, 58 times. The
    # first three 3 x 7168 x 18432 = 396,361,728 in their place: 583,483,392 each. Embedding, head
    # 1,853,358,080; a norm. Products: 2 (61 x 187,105,280 + 3 x 396,361,728 + 58 (9 x 44,040,192 +
    # 1,835,008) + 926,679,040). Attention: 61 x 128 x (2 x 192 + 2 x 128) x 2048.5.
    "deepseek-v3": (671_026_419_200, 73_249_193_984, 10_236_600_320),
    # Attention 2 x 2880 x 4096 + 2 x 2880 x 512 = 26,542,080; biases 4096 + 2 x 512 + 2880, sinks
    # 64, norms 5760: 13,824. Router 2880 x 32 + 32 = 92,192. An expert 3 x 2880 x 2880 =
    # 24,883,200, biases 3 x 2880: 32 x 24,891,840. 24 x 823,186,976; embedding, head
    # 1,158,266,880; a norm. Products: 2 (24 (26,542,080 + 92,160 + 4 x 24,883,200) + 579,133,440).
    # Attention, 64 heads of 64: 12 x 16,384 x 2048.5; in 12 layers of a window a token sees
    # (128 x 129 / 2 + 3968 x 128) / 4096 = 126.015625.
    "gpt-oss-20b": (20_914_757_184, 7_214_284_800, 427_527_168),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_parameters_and_flop_of_a_token_by_hand(name: str) -> None:
    parameters, products, attention = BY_HAND[name]
    model = load_model(name)
    assert model.parameters == parameters
    assert token_flops(model, 4096) == pytest.approx((products, attention), rel=1e-12)


def test_llama_was_trained_with_six_flop_for_each_parameter() -> None:
    """arXiv 2407.21783, section 1: 3.8e25 FLOP for 15.6e12 tokens, which has no attention in it."""
    products, _ = token_flops(load_model("llama-3-405b"), 8192)
    assert 3 * products == pytest.approx(3.8e25 / 15.6e12, rel=0.01)


@pytest.mark.parametrize("name", [*PUBLISHED, "llama-3-8b", "llama-3-70b", "llama-3-405b"])
def test_kernels_of_a_step_have_the_flop_that_its_model_needs(name: str) -> None:
    """By all the kernels that are run, forward, and as much twice more backward. Of 3840 tokens
    every expert here gets a whole number of rows.
    """
    model, tokens = load_model(name), 3840
    needed = sum(token_flops(model, tokens))
    for training, times in ((False, 1), (True, 3)):
        share = Share(sequences=1, tokens=tokens, training=training)
        units = transformer_units(H200, model, share, model.layers, head=True, generates=False)
        assert units.flops / tokens == pytest.approx(times * needed, rel=1e-9)


@pytest.mark.parametrize("name", PUBLISHED)
def test_products_have_two_flop_for_each_parameter_of_a_token(name: str) -> None:
    """But for the embedding's, of which a token reads a row, and vectors, which are added and
    multiplied: 0.1 % of gpt-oss at most.
    """
    model = load_model(name)
    own = model.active_parameters - (0 if model.tied else model.vocab * model.hidden)
    assert token_flops(model, 4096)[0] == pytest.approx(2 * own, rel=1e-3)


def test_layers_differ_by_place() -> None:
    v3, gemma = load_model("deepseek-v3"), load_model("gemma-3-27b")
    kinds = [v3.kind_of(index) for index in range(5)]
    assert kinds == [LayerKind(False, None)] * 3 + [LayerKind(True, None)] * 2
    windows = [gemma.kind_of(index).window for index in range(12)]
    assert windows == ([1024] * 5 + [None]) * 2  # arXiv 2503.19786, section 2


LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}


def config(folder: Path, **fields: Any) -> Path:
    """A config of Llama 3 8B with *fields*; those that are None are left out."""
    said = {key: value for key, value in {**LLAMA, **fields}.items() if value is not None}
    file = folder / "config.json"
    file.write_text(json.dumps(said, indent=2), encoding="utf-8")
    return file


#: Fields of configs, from memory, that differ from Llama's, and billions of parameters, of all and
#: of one token, as cards and papers give them.
OTHERS: dict[str, tuple[dict[str, Any], float, float | None]] = {
    "Qwen3 235B-A22B, arXiv 2505.09388": (
        {"model_type": "qwen3_moe", "num_hidden_layers": 94, "num_attention_heads": 64}
        | {"num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288}
        | {"moe_intermediate_size": 1536, "num_experts": 128, "num_experts_per_tok": 8}
        | {"decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936},
        235,
        22,
    ),
    "Mixtral 8x22B, Mistral's card": (
        {"model_type": "mixtral", "num_hidden_layers": 56, "hidden_size": 6144}
        | {"num_attention_heads": 48, "intermediate_size": 16384, "vocab_size": 32768}
        | {"num_local_experts": 8, "num_experts_per_tok": 2},
        141,
        39,
    ),
    "Qwen2.5 72B, arXiv 2412.15115 and its card": (
        {"model_type": "qwen2", "num_hidden_layers": 80, "hidden_size": 8192}
        | {"num_attention_heads": 64, "intermediate_size": 29568, "vocab_size": 152064},
        72.7,
        None,
    ),
    "Llama 3.2 1B, Meta's card": (
        {"num_hidden_layers": 16, "hidden_size": 2048, "head_dim": 64}
        | {"intermediate_size": 8192, "tie_word_embeddings": True},
        1.24,
        None,
    ),
    "Mistral Nemo, its card": (
        {"model_type": "mistral", "num_hidden_layers": 40, "hidden_size": 5120}
        | {"head_dim": 128, "vocab_size": 131072},
        12.2,
        None,
    ),
    "Gemma 7B, arXiv 2403.08295": (
        {"model_type": "gemma", "hidden_act": "gelu_pytorch_tanh", "num_hidden_layers": 28}
        | {"hidden_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 16}
        | {"head_dim": 256, "intermediate_size": 24576, "vocab_size": 256000},
        8.54,
        None,
    ),
}


@pytest.mark.parametrize("source", OTHERS)
def test_a_config_has_the_published_parameters(source: str, tmp_path: Path) -> None:
    """Of models that are not packaged: head sizes that are not hidden / heads, tied embeddings."""
    fields, every, active = OTHERS[source]
    model = load_model(config(tmp_path, architectures=None, **fields))
    assert model.parameters == pytest.approx(every * 1e9, rel=0.005)
    assert active is None or model.active_parameters == pytest.approx(active * 1e9, rel=0.01)


def test_a_config_is_the_packaged_model(tmp_path: Path) -> None:
    found, own = load_model(config(tmp_path)), load_model("llama-3-8b")
    about = {"name", "description", "source"}
    assert found.model_dump(exclude=about) == own.model_dump(exclude=about)


def test_a_config_has_the_name_of_its_model_its_file_or_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "Llama-X"
    folder.mkdir()
    assert load_model(config(folder)).name == "Llama-X"
    assert load_model(config(folder, _name_or_path="meta/Llama-Y")).name == "Llama-Y"
    other = (folder / "config.json").rename(folder / "llama-z.json")
    other.write_text(json.dumps(LLAMA), encoding="utf-8")
    assert load_model(other).name == "llama-z"


def test_what_is_not_known_is_named(tmp_path: Path) -> None:
    """Fields that change no time are not, nor those that say no."""
    fields = {"frobnicate": 3, "rope_theta": 5e5, "use_frobs": False, "attention_dropout": 0.1}
    fields |= {"hidden_act": "silu", "hidden_activation": "silu"}  # Gemma 2 has both
    assert load_model(config(tmp_path, **fields)).left_out == (
        "frobnicate: not known; what it changes is not counted",
        "attention_dropout: dropout of attention scores is not counted",
    )


@pytest.mark.parametrize(
    ("fields", "line", "said"),
    [
        ({"hidden_size": None}, 1, "hidden_size: missing, or null"),
        ({"model_type": "lama"}, 5, "model_type: unknown model_type 'lama'; did you mean 'llama'"),
        ({"num_hidden_layers": -1}, 6, "num_hidden_layers: got -1; must be greater than 0"),
        ({"model_type": None}, 1, "model_type: missing; must be one of llama, mistral, "),
        ({"num_key_value_heads": 5}, 9, "32 heads on 5 num_key_value_heads; must be a whole"),
        ({"mlp_only_layers": [3]}, 13, "mlp_only_layers: [3] is not modelled; must be []"),
        ({"mlp_bias": True}, 13, "mlp_bias: true is not modelled; must be false"),
    ],
)
def test_mistakes_are_in_the_words_of_the_file(
    tmp_path: Path, fields: dict[str, Any], line: int, said: str
) -> None:
    file = config(tmp_path, **fields)
    with pytest.raises(InputErrors) as caught:
        load_model(file)
    (error,) = caught.value.errors
    assert str(error).startswith(f"{file}:{line}: {said}")


def test_a_step_names_the_file_that_the_mistake_is_in(tmp_path: Path) -> None:
    """Not its own, whether it says the model or is told."""
    model = config(tmp_path, mlp_bias=True)
    own = tmp_path / "step.yaml"
    text = f"schema: 1\nkind: iteration\nname: mine\nmodel: {model}\ntokens: 64\n"
    own.write_text(text, encoding="utf-8")
    for step, settings in ((own, {}), ("llama3-8b-training", {"model": str(model)})):
        with pytest.raises(InputErrors) as caught:
            c3sim.run(step, set=settings)
        (error,) = caught.value.errors
        assert str(error) == f"{model}:13: mlp_bias: true is not modelled; must be false"


def test_what_gemma_3_does_not_say_is_in_its_configuration(tmp_path: Path) -> None:
    """The file of its 4B says neither heads nor vocabulary: 8 and 4 heads of 256, 262,208 tokens
    (configuration_gemma3.py). 3.88 billion parameters, arXiv 2503.19786, table 1: 675 million of
    the embedding, 3,209 others; by hand 262208 x 2560 = 671.3 million, and 34 layers of
    2 x 2560 x (2048 + 1024) + 3 x 2560 x 10240 = 94.37 million.
    """
    inner = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240}
    inner |= {"num_hidden_layers": 34, "sliding_window": 1024, "_sliding_window_pattern": 6}
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"model_type": "gemma3", "text_config": inner}), encoding="utf-8")
    model = load_model(file)
    assert not model.left_out and model.full_every == 6
    weights = 262208 * 2560 + 34 * (2 * 2560 * (2048 + 1024) + 3 * 2560 * 10240)
    norms = 34 * (4 * 2560 + 2 * 256) + 2560
    assert model.parameters == weights + norms
    assert model.parameters == pytest.approx(3.88e9, rel=0.001)


def test_the_language_model_of_one_that_sees_is_inside(tmp_path: Path) -> None:
    inner = {**LLAMA, "model_type": "gemma3_text", "sliding_window": 1024, "head_dim": 128}
    file = tmp_path / "config.json"
    outer = {"model_type": "gemma3", "text_config": inner, "vision_config": {"hidden_size": 1}}
    file.write_text(json.dumps(outer), encoding="utf-8")
    model = load_model(file)
    assert (model.layers, model.window, model.full_every) == (32, 1024, 6)
    assert model.left_out == ("vision_config: the part that sees pictures is not counted",)

"""Cases of a study of serving: what is set, in which type it is served, and each of them once."""

from __future__ import annotations

import pytest

from c3sim.errors import InputError
from c3sim.experiments.serving import serving_cases
from c3sim.experiments.study import with_settings
from c3sim.spec.reading.loading import load_study


def cases(**settings: object) -> list:
    named = {f"serving.{name}": value for name, value in settings.items()}
    return serving_cases(with_settings(load_study("kv-fetch"), named))


@pytest.mark.parametrize(
    ("model", "precision", "dtype"),
    [
        ("llama-3-8b", None, "bf16"),
        ("llama-3-8b", "fp16", "fp16"),
        ("deepseek-v3", "fp8", "bf16"),  # of products; keys and values stay as they are
    ],
)
def test_activations_keys_and_values_have_a_type(model, precision, dtype):
    settings = {"model": model} | ({"precision": precision} if precision else {})
    assert {case.model.dtype for case in cases(**settings)} == {dtype}


def test_weights_kept_in_four_bytes_are_served_in_two(tmp_path):
    """As Gemma 2's are."""
    own = tmp_path / "wide.yaml"
    sizes = "layers: 2\nhidden: 256\nheads: 2\nkv_heads: 2\nhead_dim: 128\nffn: 512\nvocab: 999\n"
    own.write_text(f"schema: 1\nname: wide\nsource: made up\n{sizes}dtype: fp32\n")
    assert {case.model.dtype for case in cases(model=str(own))} == {"bf16"}


@pytest.mark.parametrize("model", ["bert-large", "dlrm"])
def test_what_generates_no_tokens_is_not_served(model):
    with pytest.raises(InputError, match=f"serving.model: {model} generates no tokens"):
        cases(model=model)


def test_scenarios_that_settings_made_the_same_are_one():
    """Seven scenarios and twelve points: of one model on one GPU, one request, 64, or 128 that
    arrive; of eight requests each, at once or by and by.
    """
    assert len(cases()) == 7 * 12
    assert len(cases(model="mistral-7b", tensor_parallel=1)) == 3 * 12
    assert len(cases(model="mistral-7b", tensor_parallel=1, requests=8)) == 2 * 12

"""Parameters of the packaged models, counted by hand."""

from __future__ import annotations

import pytest

from c3sim.spec.reading.loading import load_any_model


def test_bert_large_has_336_million_parameters() -> None:
    """A layer: 4 projections of 1024 x 1024 + 1024, two of 1024 x 4096 with biases of 4096 and
    1024, two norms of 2 x 1024: 4198400 + 8393728 + 4096 = 12596224; 24 of them.

    Beside them: 30522 + 512 + 2 rows of 1024 and a norm; pooler and dense layer of 1024 x 1024 +
    1024 each, a norm, 30522 biases of the (tied) output, and 2 x 1024 + 2 of the second output.
    """
    bert = load_any_model("bert-large")
    assert bert.layer_parameters == 12596224
    rest = (30522 + 514) * 1024 + 2048 + 2 * (1024 * 1024 + 1024) + 2048 + 30522 + 2 * 1024 + 2
    assert bert.other_parameters == rest
    assert bert.parameters == 24 * 12596224 + rest == 336226108


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("llama-3-8b", 8.03),  # model cards
        ("llama-3-70b", 70.6),
        ("llama-3-405b", 405.9),
        ("mixtral-8x7b", 46.7),
    ],
)
def test_language_models_have_as_many_as_their_cards_say(name: str, billions: float) -> None:
    assert load_any_model(name).parameters == pytest.approx(billions * 1e9, rel=2e-3)


def test_most_of_a_recommendation_model_is_tables() -> None:
    """204184588 rows of 128; networks 13-512-256-128 and 479-1024-1024-512-256-1, 27 vectors having
    27 x 26 / 2 = 351 dot products, beside the 128 of the bottom: 479.
    """
    model = load_any_model("dlrm")
    assert model.interactions == 479
    bottom = 14 * 512 + 513 * 256 + 257 * 128
    top = 480 * 1024 + 1025 * 1024 + 1025 * 512 + 513 * 256 + 257
    assert model.network_parameters == bottom + top
    assert sum(model.rows) == 204184588
    assert model.parameters == 204184588 * 128 + bottom + top

"""Models in a step's file that are like a packaged one, but for what the file says."""

from __future__ import annotations

from pathlib import Path

import pytest
from loading_case import error_of

from c3sim.spec.reading.loading import load_model, open_iteration, parse_iteration, with_field

HEAD = "schema: 1\nkind: iteration\nname: step\ntokens: 128\n"


pytestmark = pytest.mark.usefixtures("here")


def model_of(text):
    Path("step.yaml").write_text(f"{HEAD}model:\n{text}")
    return open_iteration("step.yaml").model


def test_only_what_the_file_says_differs_at_any_depth():
    changed = model_of("  like: deepseek-v3\n  layers: 8\n  latent: {rank: 256}\n")
    base = load_model("deepseek-v3")
    latent = base.latent.changed(rank=256)
    beside = {"name": changed.name, "description": "", "source": ""}
    update = {"layers": 8, "latent": latent, **beside}
    assert changed.model_dump() == base.changed(**update).model_dump()
    assert changed.name == "changed deepseek-v3"


def test_null_leaves_out_what_the_other_model_has():
    assert model_of("  like: mistral-7b\n  window: null\n").window is None
    assert load_model("mistral-7b").window is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  like: llama-3-8c\n", "step.yaml:6: model.like: unknown model 'llama-3-8c'; did you"),
        ("  like: 3\n", "step.yaml:6: model.like: must be the name or the path of a model file"),
        ("  like: llama-3-8b\n  layrs: 8\n", "step.yaml:7: model: unknown field 'layrs'; did you"),
        ("  like: llama-3-8b\n  heads: 9\n", "step.yaml:5: model: 9 heads on 8 kv_heads; must be"),
        (
            "  like: deepseek-v3\n  latent:\n    rank: lots\n",
            "step.yaml:8: model.latent.rank: 'lots' is not a whole number",
        ),
    ],
)
def test_mistakes_have_the_line_of_the_file(text, message):
    assert error_of(model_of, text).startswith(message)


def test_python_and_settings_say_the_same_as_a_file():
    fields = {"like": "llama-3-8b", "layers": 3}
    data = {"schema": 1, "kind": "iteration", "name": "step", "tokens": 128, "model": fields}
    whole = parse_iteration(data).iteration
    named = whole.changed(model="llama-3-8b")
    assert with_field(named, "model.layers", "3").model == whole.model
    assert with_field(named, "model", "{like: llama-3-8b, layers: 3}").model == whole.model
    assert with_field(named, "model", "llama-3-70b").model == "llama-3-70b"

"""Studies of kind kv_fetch: shape of the result, what has to come out, laws, settings, mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import c3sim
from c3sim.errors import InputError, InputErrors
from c3sim.experiments.papers import kv_fetch
from c3sim.experiments.study import Options, StudyResult, run_study, with_settings
from c3sim.iterations.inference.kv import METHODS
from c3sim.kit.grid import rendered
from c3sim.kit.layout import show
from c3sim.spec.reading.loading import load_study
from c3sim.spec.study import Scenario

pytestmark = [pytest.mark.slow, pytest.mark.turns(5)]


SMALL = {"serving.prompt_tokens": 2048, "serving.hit_rate": "[0, 0.9]", "serving.output_tokens": 8}


@pytest.fixture(scope="module")
def result() -> StudyResult:
    """Without the longest queues, and with DeepSeek-V2-Lite: latent attention, shared experts, a
    dense first layer.
    """
    study = load_study("kv-fetch")
    names = ("8b-one", "70b-one", "moe-one", "8b-queue")
    few = [each for each in study.scenarios if each.name in names]
    for requests in (1, 16):
        own = {"serving.model": "deepseek-v2-lite", "serving.requests": requests}
        few.append(Scenario(name=f"latent-{requests}", set=own))
    return run_study(study.changed(scenarios=tuple(few)), Options(settings=SMALL))


@pytest.fixture(scope="module")
def study(result: StudyResult) -> dict[str, Any]:
    return result.to_dict()


def rows(study: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    found = [
        row for row in study["rows"] if all(row[key] == value for key, value in wanted.items())
    ]
    assert found
    return found


def test_without_hits_all_methods_are_the_same(study: dict[str, Any]) -> None:
    for row in rows(study, hit_rate=0):
        assert row["copies"] == 0
        for gains in row["speedups"].values():
            assert set(gains.values()) == {1.0}


def test_one_request_waits_for_its_fetch_and_its_prompt(study: dict[str, Any]) -> None:
    """The time to first token less the fetch is the same step for every method."""
    for row in rows(study, requests=1):
        steps = [found["ttft_s"]["mean"] - found["fetch_s"] for found in row["methods"].values()]
        assert steps == [pytest.approx(steps[0])] * 4


def test_small_blocks_gain_and_large_ones_do_not(study: dict[str, Any]) -> None:
    """A loop costs 4.35 us more per copy than a batch: twice the cost of 64 KiB, a tenth of that of
    2 MiB.
    """
    for row in rows(study, requests=1, hit_rate=0.9):
        gain = row["speedups"]["latency"]["batched"]
        assert gain > 1.3 if row["layout"] == "per_layer" else gain < 1.15


def test_no_fetch_is_faster_than_the_host_link(study: dict[str, Any]) -> None:
    for row in rows(study, hit_rate=0.9):
        least = row["fetched_bytes"] * row["requests"] / 55.4e9
        assert all(found["wall_s"] > least for found in row["methods"].values())


def test_copies_stand_beside_what_is_reported(study: dict[str, Any]) -> None:
    """Five sizes are reported, four are used, and 18 and 486 KiB of latent vectors; loops come out
    within 30 %, the calibrated batches within 4 %.
    """
    assert len(study["copies"]) == 5 - 1 + 4 + 2
    for row in study["copies"]:
        for method, theirs in row["reported_s"].items():
            assert row["per_copy_s"][method] == pytest.approx(
                theirs, rel=0.04 if method == "batched" else 0.3
            )


def test_every_table_fits_a_terminal_and_has_every_method(result: StudyResult, capsys) -> None:
    """Time to first token, throughput and time between tokens, with nothing left out."""
    for part in rendered(kv_fetch.tables(result)):
        show(part, piped=80)
    text = capsys.readouterr().out
    assert "left out" not in text and max(map(len, text.splitlines())) <= 80
    for what in ("time to first token", "requests served a second", "time between tokens"):
        head = text[text.index(f"a full queue on mi300x-8: {what}") :].splitlines()[1]
        assert set(METHODS) <= {*head.split()}


def test_what_of_a_model_is_not_counted_is_said_at_the_first_table(result: StudyResult) -> None:
    """Gemma 2 caps its scores and logits; the models of the packaged study leave nothing out."""
    assert result.left_out == []
    study = load_study("kv-fetch").changed(axes={})
    one = study.changed(scenarios=(Scenario(name="g", set={"serving.model": "gemma-2-9b"}),))
    settings = {"serving.requests": 1, "serving.output_tokens": 1, "serving.prompt_tokens": 64}
    found = run_study(one, Options(settings=settings))
    first, *others = kv_fetch.tables(found)
    assert found.left_out and all(f"note: {each}" in first.note for each in found.left_out)
    assert {each.split(":")[0] for each in found.left_out} == {"gemma-2-9b"}
    assert not any("note: gemma" in str(getattr(each, "note", each)) for each in others)


def test_settings_are_axes() -> None:
    study = load_study("kv-fetch")
    axes = with_settings(
        study, {"serving.hit_rate": 1, "host.read_latency": "[1 us, 2 us]", "x": "[0.5, 1]"}
    ).axes
    assert (
        axes["serving.hit_rate"] == (1,) and axes["serving.layout"] == study.axes["serving.layout"]
    )
    assert axes["host.read_latency"] == ("1 us", "2 us") and axes["x"] == (0.5, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"serving.hit_rate": 2}, "serving.hit_rate: got 2; must be at most 1"),
        ({"serving.hitrate": 1}, "unknown field of serving 'hitrate'; did you mean 'hit_rate'?"),
        ({"task.gemm.m": 3}, "unknown path 'task.gemm.m'; paths of serving begin with"),
        ({"serving.model": "llama-8b"}, "unknown model 'llama-8b'; did you mean 'llama-3-8b'?"),
        ({"serving.tensor_parallel": 16}, "got 16; must be at most 8, the GPUs of mi300x-8"),
        ({"serving.load": "layerwise"}, "'layerwise' with layout 'contiguous'"),
    ],
)
def test_wrong_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        c3sim.study("kv-fetch", set=settings)
    assert message in str(caught.value)


def test_serving_and_its_output_belong_together(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("schema: 1\nname: mine\nserving: {requests: 1}\n", encoding="utf-8")
    with pytest.raises(InputErrors, match="serving and kind: kv_fetch belong together"):
        c3sim.study(path)
    path.write_text(
        "schema: 1\nname: mine\nkind: kv_fetch\nserving: {}\nworkload: c3-pair\n", encoding="utf-8"
    )
    with pytest.raises(InputErrors, match="a study of serving has no workload"):
        c3sim.study(path)

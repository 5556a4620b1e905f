"""Studies of kind operator_shares: shares, claims, what a scenario can set, mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import c3sim
from c3sim.errors import InputError, InputErrors
from c3sim.experiments.iterations import iteration_cases
from c3sim.experiments.papers.operator_shares import _needed, share
from c3sim.experiments.study import StudyResult
from c3sim.simulation.exposure import CLASSES
from c3sim.spec.reading.loading import load_node, load_study

pytestmark = pytest.mark.turns(5)

MINE = """\
schema: 1
name: mine
kind: operator_shares
nodes: [mi300x-8]
iterations: [bert-large-one-gpu]
scenarios:
  - {name: few, set: {batch: 4}}
  - {name: many, set: {batch: 32}}
  - {name: near memory, set: {batch: 4, optimizer_on: memory, gpu.hbm.internal_rate: 4}}
  - {name: data, set: {batch: 4, parallel: {kind: ddp, bucket: 64 GiB}}}
published:
  claims:
    - {of: share, classes: optimizer, configuration: few, low: 0.2, standing: sign, text: LAMB}
    - {of: change, classes: optimizer, configuration: few, beside: many, standing: sign, text: more}
    - of: speedup
      classes: optimizer
      configuration: near memory
      beside: few
      standing: sign
      text: LAMB
    - {of: shorter, configuration: near memory, beside: few, standing: sign, text: the iteration}
"""


ONE = MINE.partition("  - {name: many")[0]


def study(folder: Path, text: str) -> StudyResult:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return c3sim.study(path, n_jobs=1)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return study(tmp_path_factory.mktemp("study"), MINE)


def test_shares_add_up_and_time_is_that_of_kernels_and_the_rest(tmp_path: Path) -> None:
    data = json.loads(json.dumps(study(tmp_path, ONE).to_dict(), allow_nan=False))
    assert [row["configuration"] for row in data["rows"]] == ["few"]
    for row in data["rows"]:
        assert tuple(row["shares"]) == CLASSES
        assert sum(row["shares"].values()) == pytest.approx(1.0)
        assert row["iteration_s"] == pytest.approx(row["kernels_s"] + row["idle_s"])
        assert 0 < row["attention_gemm_share"] < row["shares"]["attention"]


@pytest.mark.long
def test_the_optimizer_takes_as_long_for_few_tokens_as_for_many(result: StudyResult) -> None:
    """It goes over the parameters, whatever the batch: 335 million, 48 bytes each and fused; read
    and written at no more than 5.3 TB/s. Behind long GEMMs the clock is low at first, and it takes
    up to a seventh longer.
    """
    few, many, near, data = result.rows
    seconds = [share(row, "optimizer") * row.kernels_s for row in result.rows]
    assert seconds[0] <= seconds[1] < 1.15 * seconds[0]
    assert 0.98 * seconds[0] < seconds[3] < 1.15 * seconds[0]
    assert seconds[0] > 48 * 335e6 / 5.3e12
    assert share(few, "optimizer") > share(many, "optimizer")
    # four times the bandwidth of the memory, whose streams reach all of mixed_efficiency = 1 there
    assert seconds[2] == pytest.approx(48 * 335e6 / (4 * 5.3e12), rel=0.1)
    assert near.kernels_s == pytest.approx(few.kernels_s - seconds[0] + seconds[2], rel=0.02)
    assert share(data, "communication") > 0.05 and share(few, "communication") == 0.0


@pytest.mark.long
def test_claims_are_figures_of_the_rows(result: StudyResult) -> None:
    few, many, near, _ = result.rows
    found = [claim.simulated["mi300x-8"] for claim in result.claims]
    lamb = [share(row, "optimizer") * row.kernels_s for row in (few, near)]
    assert found == pytest.approx(
        [
            share(few, "optimizer"),
            share(few, "optimizer") - share(many, "optimizer"),
            lamb[0] / lamb[1],
            1 - near.kernels_s / few.kernels_s,
        ]
    )
    assert share(few, "non-gemm") == pytest.approx(
        1 - few.shares["gemm"] - few.attention_gemm_share
    )


def cases(**scenario: Any) -> Any:
    study = load_study("bert")
    changed = study.changed(
        nodes=("mi300x-8",), scenarios=(study.scenarios[0].changed(set=scenario),)
    )
    return iteration_cases(changed, [load_node(name) for name in changed.nodes])


def test_a_scenario_sets_whole_fields_fields_of_the_model_and_values_of_the_node() -> None:
    (case,) = cases(
        parallel={"kind": "tensor"}, gpus=2, model={"hidden": 512, "heads": 8, "kv_heads": 8}
    )
    assert case.planned().tensor == 2
    assert (case.loaded.model.hidden, case.loaded.model.heads, case.loaded.model.ffn) == (
        512,
        8,
        4096,
    )


def test_a_scenario_for_more_gpus_than_a_node_has_is_left_out() -> None:
    study = load_study("bert")
    names = {node: set[str]() for node in ("h200-8", "mi100-4")}
    for case in iteration_cases(study, [load_node(name) for name in study.nodes]):
        if case.node.name in names:
            names[case.node.name].add(case.name)
    assert names["h200-8"] - names["mi100-4"] == {"n128-b32-fp32-tensor8"}


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ({"parallel": {"kind": "tonsor"}}, "tonsor"),
        ({"model": {"hiden": 4}}, "hiden"),
        ({"model": {"kv_heads": 5}}, "16 heads on 5 kv_heads"),
        ({"tokns": 4}, "tokns"),
    ],
)
def test_mistakes_in_a_scenario_are_told(scenario: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, InputErrors), match=message):
        cases(**scenario)


def test_the_packaged_study_has_all_that_was_published() -> None:
    """Sequences of 128 and 512, 4 and 32 of them, fp32 and mixed; the claims name its scenarios."""
    study = load_study("bert")
    names = {scenario.name for scenario in study.scenarios}
    assert {
        f"n{n}-b{b}-{p}" for n in (128, 512) for b in (4, 32) for p in ("fp32", "mixed")
    } <= names
    for claim in study.published["claims"]:
        assert {claim["configuration"], claim.get("beside", claim["configuration"])} <= names
        assert claim["standing"] in ("second hand", "sign and order")


def test_a_share_says_how_far_its_operators_are_from_the_published_one() -> None:
    """71 % would be 57 % if these took 0.57 / 0.43 x 0.29 / 0.71 = 0.54 times as long."""
    assert _needed(0.71, [0.57, 0.57]) == "as published if they took 0.54x; "
    assert _needed(0.08, [0.07, 0.10]) == ""

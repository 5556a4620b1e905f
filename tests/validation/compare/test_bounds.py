"""bounds.yaml: complete, honest, strictly read.

A plain run predicts a few suites; ``--every-case`` predicts all, as .ci/run does with each commit,
and looks at the pages that are written from them.
"""

import json
import os
from importlib.resources import files
from pathlib import Path

import pytest
from places import ROOT
from shared import shared

from c3sim.errors import InputErrors
from c3sim.validation.compare.bounds import FILE, load_bounds
from c3sim.validation.compare.figures import Figure
from c3sim.validation.compare.record_files import load, nodes_for
from c3sim.validation.compare.reset_bounds import advise, with_headroom
from c3sim.validation.compare.standings import load_standings
from c3sim.validation.compare.trust import derive, text
from c3sim.validation.compare.verdict import validate
from c3sim.validation.pages.markdown_page import markdown
from c3sim.validation.pages.words import verdict_text

pytestmark = pytest.mark.slow

TEXT = FILE.read_text(encoding="utf-8")
DOCS = ROOT / "docs"


#: Suites that every run predicts, quick ones: kernels, collectives and copies alone and beside each
#: other, held and not, and one in which a plain predictor is better.
FIXED = ("babelstream", "c3_contention", "dma_all_gather", "gemm_square", "h200_c3_partition")


def judged(every: bool):
    """The verdict; on *every* record it is kept as JSON in the file $C3SIM_VERDICT: CI compares it
    further.
    """
    records = load() if every else [each for suite in FIXED for each in load(suite=suite)]
    found = validate(records, nodes_for(records))
    if every and (kept := os.environ.get("C3SIM_VERDICT")):
        Path(kept).write_text(json.dumps(found.to_dict()), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def every(request):
    """True if all packaged records are predicted."""
    return request.config.getoption("--every-case")


@pytest.fixture(scope="module")
def verdict(tmp_path_factory, every):
    """The verdict on all packaged records, or on the suites that every run predicts."""
    return shared(tmp_path_factory, "verdict", lambda: judged(every))


@pytest.fixture(scope="module")
def whole(every, request):
    """The verdict on all packaged records."""
    if not every:
        pytest.skip("all records: --every-case, as .ci/run has it")
    return request.getfixturevalue("verdict")


def test_the_page_of_the_documentation_is_fresh(whole):
    """If not: python tools/validation_page.py."""
    for name, page in markdown(whole).items():
        assert (DOCS / name).read_text(encoding="utf-8") == page, name


def test_the_errors_that_a_run_ends_with_are_fresh(whole):
    """If not: python tools/trust.py."""
    nodes = {name: loaded.node for name, loaded in whole.nodes.items()}
    stored = files("c3sim.hwmodels") / "trust.json"
    assert stored.read_text(encoding="utf-8") == text(derive(whole.figures, nodes))


def test_every_bound_holds(verdict):
    """If not, ``c3sim validate`` ends with 1."""
    assert not [
        f"suite {score.suite}: {score.metric}: {score.errors.median:.3f} {score.errors.p90:.3f}"
        for score in verdict.missed
    ]
    assert verdict.passed


def test_every_packaged_suite_and_metric_has_a_bound_and_no_other_suite_is_listed(verdict):
    assert not [f"{score.suite} {score.metric}" for score in verdict.scores if score.bound is None]
    assert set(load_bounds().suites) == {record.suite for record in load()}


def test_no_regression_bound_is_wider_than_the_model_needs(verdict):
    """At twice the headroom, run ``python -m c3sim.validation.compare.reset_bounds --write``."""
    for score in verdict.scores:
        if score.bound and score.gap:
            limit, target, errors = score.bound.limit, score.bound.target, score.errors
            where = score.suite, score.metric
            assert limit.median <= max(2 * with_headroom(errors.median), target.median), where
            assert limit.p90 <= max(2 * with_headroom(errors.p90), target.p90), where


def test_advice_names_missing_entries_and_renews_the_others(verdict):
    advice = advise(verdict.scores)
    assert not advice.missing and not advice.needless
    assert all(middle <= tail for middle, tail in advice.limits.values())
    assert with_headroom(0.10) == pytest.approx(0.12)


def test_every_bound_has_a_reason_and_every_gap_a_suspect():
    bounds = load_bounds()
    assert all(
        bound.limit.reason for metrics in bounds.suites.values() for bound in metrics.values()
    )
    assert all(gap.suspected and gap.what for gap in bounds.gaps.values())


def test_every_plain_predictor_that_is_better_is_listed_on_however_few_rows(verdict):
    assert not [f"{s.suite} {s.metric}" for s in verdict.scores if s.unlisted]
    tried = {score.suite for score in verdict.scores}
    beaten = load_bounds().beaten.items()
    listed = {(suite, name) for suite, names in beaten if suite in tried for name in names}
    assert listed == {(score.suite, score.metric) for score in verdict.defects}


def test_gap_bounds_are_counted_apart_and_say_since_when(verdict):
    states = verdict.states
    assert sum(states.values()) == len(verdict.scores) and states["gap"] > 0
    gaps = [score for score in verdict.scores if score.state == "gap"]
    assert all(score.bound.since in verdict_text(score) for score in gaps)
    assert f"{states['held']} held to their target, {states['gap']} gaps" in verdict.bounds_text


def test_blind_suites_are_predicted_as_on_file(verdict):
    """A suite whose predictions have moved by 1 % or more is not blind any more: reread."""
    tried = {record.suite for record in verdict.records}
    for suite, standing in load_standings().items():
        if standing.standing != "blind" or suite not in tried:
            continue
        text = (DOCS / "predictions" / standing.predictions).read_text(encoding="utf-8")
        lines = {_case(line): line for line in map(json.loads, text.splitlines())}
        compared = 0
        for figure in (each for each in verdict.figures if each.suite == suite and each.held_out):
            name = figure.record.workload.name
            said = _said(lines[name], figure)
            if said is not None:
                assert figure.predicted == pytest.approx(said, rel=0.01), (suite, name)
                compared += 1
        assert compared, suite


def _case(line: dict) -> str:
    """The workload of a prediction: by its name, or by operator, GEMM and way."""
    return (
        line.get("workload") or line.get("name") or f"{line['op']}, {line['gemm']}, {line['way']}"
    )


def _said(line: dict, figure: Figure) -> float | None:
    """The figure as predicted on file; None where it has only other figures."""
    if figure.metric == "wall":
        return line.get("wall_us", line.get("time_us"))
    if figure.metric in ("power", "loop_time"):
        return line.get({"power": "power_w", "loop_time": "turn_us"}[figure.metric])
    if "isolated" not in figure.metric:
        return None
    return line["isolated"].get(figure.task) if "isolated" in line else line.get("time_us")


MISTAKES = [
    ("schema: 1", "schema: 2", "schema: unknown value '2'; allowed: 1"),
    ("  babelstream: {}", "  babelstream: {isolated_stream: {median: 0.1}}", "missing field 'p90'"),
    ("metrics: [wall]", "metrics: [wall, gemm_slowdown]", "metric 'gemm_slowdown' has two targets"),
    ("gap: rocblas", "gap: rocblass", "unknown known gap 'rocblass'; did you mean 'rocblas'?"),
    ("p90: 0.15", "p90: 0.01", "median 0.06 is above p90 0.01; must not be"),
    (
        "known_gaps:",
        "known_gaps:\n  idle: {what: a, suspected: b, page: c}",
        "no suite names this gap",
    ),
    ("      since: 2026-11-23\n", "", "missing field 'since'"),
    ("since: 2026-11-23", "since: lately", "'lately'; must be an ISO 8601 date"),
    ("    page: decisions/042-cache-policies.md\n", "", "missing field 'page'"),
    ('reason: "as isolated_stores"', 'reason: ""', "reason"),
    ("median: 0.06", "median: -0.06", "got -0.06; must be at least 0"),
    ("median: 0.06", "median: .nan", "is not a number"),
    (
        "    isolated_gemm:",
        "    isolated_gem:",
        "unknown metric 'isolated_gem'; did you mean 'isolated_gemm'?",
    ),
    ("known_gaps:", "gaps:", "unknown field 'gaps'"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), MISTAKES)
def test_mistakes_have_file_and_line(tmp_path, right, wrong, message):
    file = tmp_path / "bounds.yaml"
    assert right in TEXT
    file.write_text(TEXT.replace(right, wrong, 1), encoding="utf-8")
    with pytest.raises(InputErrors) as caught:
        load_bounds(file)
    lines = [str(each) for each in caught.value.errors]
    assert any(message in each for each in lines), lines
    assert all(each.startswith(f"{file}:") and each.split(":")[1].isdecimal() for each in lines)

"""Any study: scenarios and axes, rows, progress, processes, mistakes."""

import json

import pytest

from c3sim.errors import InputError
from c3sim.experiments.cases import workload_cases
from c3sim.experiments.study import Options, run_study
from c3sim.spec.reading.loading import open_study

pytestmark = pytest.mark.slow

SMALL = """
schema: 1
name: small
workload: c3-pair
strategies: [base, sp]
kind: c3
outputs: [wall_s, speedup]
scenarios:
  - {name: one, label: a, set: {task.gemm.m: 1024}}
  - {name: two, set: {task.gemm.m: 2048}}
axes:
  task.gather.size: [16 MiB, 64 MiB]
  links.bandwidth: [48 GB/s]
"""


def small(tmp_path, text=SMALL):
    path = tmp_path / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return open_study(path)


def test_scenarios_are_crossed_with_axes(tmp_path):
    cases = workload_cases(small(tmp_path))
    assert [
        (case.workload.tasks["gemm"].m, case.workload.tasks["gather"].size) for case in cases
    ] == [(m, mib * 2**20) for m in (1024, 2048) for mib in (16, 64)]
    assert (
        cases[0].name == "one, task.gather.size=16 MiB, links.bandwidth=48 GB/s"
        and cases[0].label == "a"
    )
    assert all(case.node.links.bandwidth == 48e9 for case in cases)


def test_a_row_per_case_and_strategy_with_the_outputs_asked_for(tmp_path):
    result = run_study(small(tmp_path)).to_dict()
    assert len(result["rows"]) == 2 * 2 * 2
    assert set(result["rows"][0]) == {
        "scenario",
        "strategy",
        "chosen",
        "wall_s",
        "speedup",
        "task.gather.size",
        "links.bandwidth",
    }
    assert [row["strategy"] for row in result["rows"][:2]] == ["base", "sp"]
    json.dumps(result)


def test_a_constraint_may_leave_a_case_some_strategies_where_none_are_compared(tmp_path):
    """Both sizes under sp, one under base; kind c3 compares all of them."""
    constraint = "constraints: [strategy == 'sp' or task.gather.size == 16 MiB]\noutputs:"
    text = SMALL.replace("outputs:", constraint)
    rows = run_study(small(tmp_path, text.replace("kind: c3", "kind: sweep"))).rows
    found = [(row["strategy"], row["task.gather.size"]) for row in rows]
    assert found == 2 * [("base", "16 MiB"), ("sp", "16 MiB"), ("sp", "64 MiB")]
    with pytest.raises(InputError, match=r"small.yaml:7: constraints: .* all strategies"):
        run_study(small(tmp_path, text))


def test_progress_is_reported_case_by_case(tmp_path):
    seen = []
    options = Options(strategies=["base"], progress=lambda *told: seen.append(told))
    run_study(small(tmp_path), options)
    assert seen == [("scenarios", done, 4) for done in range(5)]


def test_other_processes_find_the_same(tmp_path):
    options = {"strategies": ["sp"], "band": False}
    two, one = (run_study(small(tmp_path), Options(n_jobs=jobs, **options)) for jobs in (2, 1))
    assert two == one


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "outputs: [wall_s",
            "outputs: [wal_s",
            "outputs[0]: unknown output 'wal_s'; did you mean 'wall_s'?",
        ),
        (
            "strategies: [base",
            "strategies: [bse",
            "strategies[0]: unknown strategy 'bse'; did you mean 'base'?",
        ),
        ("task.gemm.m: 1024", "task.gem.m: 1024", "small.yaml:9: scenarios[0].set"),
        (
            "outputs:",
            "constraints: [task.gemm.m > 4096]\noutputs:",
            "constraints: no point is left of 8; loosen the constraints",
        ),
    ],
)
def test_wrong_studies(tmp_path, old, new, message):
    with pytest.raises(InputError) as caught:
        run_study(small(tmp_path, SMALL.replace(old, new)))
    assert message in str(caught.value)

"""Studies: scenarios and axes, the arithmetic of their means, and the packaged one."""

import json
import math

import pytest

import c3sim
from c3sim.errors import InputError
from c3sim.input.loading import load_study
from c3sim.studies import run_study
from c3sim.studies.band import bands
from c3sim.studies.cases import study_cases
from c3sim.studies.rows import evaluate, rows_of
from c3sim.studies.summary import auto_summary, classify, strategy_means

pytestmark = pytest.mark.slow

SMALL = """
schema: 1
name: small
workload: c3-pair
strategies: [base, sp]
outputs: [wall_s, speedup, c3]
scenarios:
  - {name: one, label: a, set: {task.gemm.m: 1024}}
  - {name: two, set: {task.gemm.m: 2048}}
axes:
  task.gather.size: [16 MiB, 64 MiB]
  links.bandwidth: [48 GB/s]
"""

# M, N, K and MiB of the fifteen pairs, as published figures are compared with them: papers' table,
# not to be changed.
PAIRS = [
    (4096, 57344, 8192, 896),
    (8192, 10240, 8192, 448),
    (8192, 8192, 8192, 896),
    (11264, 10240, 8192, 896),
    (64, 57344, 8192, 128),
    (4096, 16384, 53248, 1664),
    (4096, 16384, 16384, 3328),
    (4096, 18432, 16384, 1664),
    (12288, 16384, 16384, 3328),
    (6144, 16384, 16384, 1664),
    (64, 106496, 16384, 160),
    (16384, 106496, 128, 160),
    (128, 106496, 16384, 896),
    (64, 106496, 16384, 288),
    (64, 16384, 53248, 160),
]


def small(tmp_path, text=SMALL):
    path = tmp_path / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return load_study(path)


@pytest.fixture(scope="module")
def conccl():
    return c3sim.study("conccl", band=False)


# Any study ----------------------------------------------------------------------------------------
# -------------


def test_scenarios_are_crossed_with_axes(tmp_path):
    cases = study_cases(small(tmp_path))
    assert [
        (case.workload.tasks["gemm"].m, case.workload.tasks["gather"].size) for case in cases
    ] == [(m, mib * 2**20) for m in (1024, 2048) for mib in (16, 64)]
    assert (
        cases[0].name == "one, task.gather.size=16 MiB, links.bandwidth=48 GB/s"
        and cases[0].label == "a"
    )
    assert all(case.node.links.bandwidth == 48e9 for case in cases)


def test_a_row_per_case_and_strategy_with_the_outputs_asked_for(tmp_path):
    result = run_study(small(tmp_path))
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


def test_progress_is_reported_case_by_case(tmp_path):
    seen = []
    run_study(small(tmp_path), strategies=["base"], progress=lambda *told: seen.append(told))
    assert seen == [("scenarios", done, 4) for done in (1, 2, 3, 4)]


def test_other_processes_find_the_same(tmp_path):
    cases = study_cases(small(tmp_path))
    assert evaluate(cases, ["sp"], what="", n_jobs=2) == [rows_of(case, ["sp"]) for case in cases]


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
        ("task.gemm.m: 1024", "task.gem.m: 1024", "study 'small', scenario 'one'"),
    ],
)
def test_wrong_studies(tmp_path, old, new, message):
    with pytest.raises(InputError) as caught:
        run_study(small(tmp_path, SMALL.replace(old, new)))
    assert message in str(caught.value)


# Means --------------------------------------------------------------------------------------------
# -------------


@pytest.mark.parametrize(
    ("gemm", "comm", "name"),
    [
        (1.16, 1.0, "G-long"),
        (1.14, 1.0, "GC-equal"),
        (1.0, 1.14, "GC-equal"),
        (1.0, 1.16, "C-long"),
    ],
)
def test_classes(gemm, comm, name):
    assert classify(gemm, comm) == name


def test_means_of_a_strategy():
    """Speedups 1.2 and 1.5 of ideal 1.5 and 2.0: fractions 0.4 and 0.5; ratio of means (1.35 - 1) /
    (1.75 - 1).
    """
    rows = [
        {"speedup": 1.2, "ideal_speedup": 1.5, "fraction_of_ideal": 0.4, "own_fraction": 0.3},
        {"speedup": 1.5, "ideal_speedup": 2.0, "fraction_of_ideal": 0.5, "own_fraction": None},
    ]
    means = strategy_means(rows)
    assert means["mean_fraction_of_ideal"] == pytest.approx(0.45)
    assert means["ratio_of_means"] == pytest.approx(0.35 / 0.75)
    assert means["mean_own_fraction"] == 0.3
    assert (means["mean_speedup"], means["max_speedup"]) == (pytest.approx(1.35), 1.5)


def test_summary_of_auto():
    rows = [
        {"loss": 0.0, "chosen": "sp"},
        {"loss": 0.1, "chosen": "sp"},
        {"loss": 0.2, "chosen": "rp:8"},
    ]
    assert auto_summary(rows) == {
        "mean_loss": pytest.approx(0.1),
        "max_loss": 0.2,
        "best_in": 1,
        "of": 3,
        "chosen": {"sp": 2, "rp:8": 1},
    }


def test_a_band_lies_within_what_its_pairs_do():
    study = load_study("conccl")
    cases = study_cases(study)
    fixed = [case for case in cases if case.name[3:] in ("02", "03", "11")]
    found = bands(fixed, cases, ["base"], n_jobs=1)
    fractions = [rows_of(case, ["base"])[0]["fraction_of_ideal"] for case in cases]
    low, high = found["base"]
    assert min(fractions) <= low <= high <= max(fractions)
    assert bands(fixed, cases, ["base"], n_jobs=1) == found


# The packaged study
# --------------------------------------------------------------------------------------------


def test_the_fixed_pairs_are_those_of_the_table():
    cases = study_cases(load_study("conccl"))
    found = {}
    for case in cases:
        gemm, gather = case.workload.tasks["gemm"], case.workload.tasks["gather"]
        found.setdefault(gather.op, []).append((gemm.m, gemm.n, gemm.k, gather.size / 2**20))
    assert found == {"all_gather": PAIRS, "all_to_all": PAIRS}


def test_the_result_has_the_promised_shape(conccl):
    assert len(conccl["scenarios"]) == 30
    names = ["base", "sp", "rp", "sp_rp", "conccl", "conccl_rp", "conccl_latte", "auto"]
    assert list(conccl["strategies"]) == names
    for scenario in conccl["scenarios"]:
        assert set(scenario["gemm"]) == {"m", "n", "k", "dtype"}
        assert list(scenario["strategies"]) == names
        assert scenario["class"] == classify(
            scenario["gemm_isolated_s"], scenario["comm_isolated_s"]
        )
        for run in scenario["strategies"].values():
            serial = scenario["gemm_isolated_s"] + scenario["comm_isolated_s"]
            assert run["speedup"] == pytest.approx(serial / run["wall_s"], rel=1e-12)
            ideal = serial / max(scenario["gemm_isolated_s"], scenario["comm_isolated_s"])
            assert run["fraction_of_ideal"] == pytest.approx(
                (run["speedup"] - 1) / (ideal - 1), rel=1e-9
            )
    assert json.loads(json.dumps(conccl)) == conccl


def test_the_means_are_those_of_the_scenarios(conccl):
    for name, means in conccl["strategies"].items():
        fractions = [
            scenario["strategies"][name]["fraction_of_ideal"] for scenario in conccl["scenarios"]
        ]
        assert means["mean_fraction_of_ideal"] == pytest.approx(
            math.fsum(fractions) / 30, rel=1e-12
        )


def test_auto_loses_or_draws_against_the_best(conccl):
    assert 0 <= conccl["auto"]["mean_loss"] <= conccl["auto"]["max_loss"]
    for scenario in conccl["scenarios"]:
        walls = {name: run["wall_s"] for name, run in scenario["strategies"].items()}
        assert walls.pop("auto") >= min(walls.values()) * (1 - 1e-12)


def test_both_partitioned_strategies_take_the_best_split(conccl):
    for scenario in conccl["scenarios"]:
        for name in ("rp", "sp_rp"):
            assert scenario["strategies"][name]["chosen"] in {
                f"{name}:{k}" for k in (8, 16, 32, 64, 128)
            }


def test_every_characterisation_stands_beside_a_published_figure(conccl):
    rows = conccl["characterisation"]
    assert len(rows) == 7
    for row in rows:
        assert row["published"] is not None and row["flag"] in ("Q", "S")
        low, high = row["range"]
        assert low <= row["predicted"] <= high


def test_published_figures_are_complete_and_no_inputs(conccl):
    assert conccl["published"]["mean_fraction_of_ideal"] == {
        "base": 0.21,
        "sp": 0.42,
        "rp": 0.41,
        "sp_rp": 0.42,
        "conccl": 0.66,
        "conccl_rp": 0.72,
    }
    study = load_study("conccl").model_copy(update={"published": {}})
    again = run_study(study, strategies=["base"], band=False)
    assert again["strategies"]["base"] == conccl["strategies"]["base"]

"""Studies of kind c3: the arithmetic of their means, and the packaged one."""

import json

import pytest
from made_study import made_row

from c3sim.experiments.cases import workload_cases
from c3sim.experiments.pairs import classify, other_means
from c3sim.experiments.papers.sweep import auto_summary, strategy_means
from c3sim.experiments.study import Options, run_study
from c3sim.iterations.described import evaluate
from c3sim.spec.reading.loading import load_study

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


#: Of fifteen pairs one bound by compute and one by memory; tests/golden has all of them.
FEW = ("ag-01", "aa-01", "ag-05", "aa-05")
WHOLE = load_study("conccl")
STUDY = WHOLE.changed(scenarios=[s for s in WHOLE.scenarios if s.name in FEW])


@pytest.fixture(scope="module")
def conccl():
    return run_study(STUDY, Options(band=False, n_jobs=1)).to_dict()


# Means


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
        made_row(speedup=1.2, ideal_speedup=1.5, fraction_of_ideal=0.4, own_fraction=0.3),
        made_row(speedup=1.5, ideal_speedup=2.0, fraction_of_ideal=0.5),
    ]
    means = strategy_means(rows)
    assert means.mean_fraction_of_ideal == pytest.approx(0.45)
    assert means.ratio_of_means == pytest.approx(0.35 / 0.75)
    assert means.mean_own_fraction == 0.3
    assert (means.mean_speedup, means.max_speedup) == (pytest.approx(1.35), 1.5)


def test_summary_of_auto():
    """Losses 0, 10 and 20 %: 10 % in the mean, one of three choices is the best."""
    losses = {"sp": 0.0, "sp_": 0.1, "rp:8": 0.2}
    rows = [made_row(loss=loss, chosen=name.strip("_")) for name, loss in losses.items()]
    summary = auto_summary(rows)
    assert summary.mean_loss == pytest.approx(0.1)
    assert (summary.max_loss, summary.best_in, summary.of) == (0.2, 1, 3)
    assert summary.chosen == {"sp": 2, "rp:8": 1}


def test_means_over_other_tables_lie_within_what_their_pairs_do():
    cases = workload_cases(load_study("conccl"))
    fixed = [case for case in cases if case.name[3:] in ("02", "03", "11")]
    known = {
        case.name: evaluate(case.workload, case.node, "base").fraction_of_ideal for case in cases
    }

    def run(some):
        return [{"base": known[case.name]} for case in some]

    found = other_means(["base"], fixed, cases, run)
    assert len(found["base"]) == 300 and len(set(found["base"])) > 1
    means, fractions = found["base"], known.values()
    assert min(fractions) <= min(means) <= max(means) <= max(fractions)
    assert other_means(["base"], fixed, cases, run) == found


# The packaged study


def test_the_fixed_pairs_are_those_of_the_table():
    cases = workload_cases(load_study("conccl"))
    found = {}
    for case in cases:
        gemm, gather = case.workload.tasks["gemm"], case.workload.tasks["gather"]
        found.setdefault(gather.op, []).append((gemm.m, gemm.n, gemm.k, gather.size / 2**20))
    assert found == {"all_gather": PAIRS, "all_to_all": PAIRS}


def test_the_result_has_the_promised_shape(conccl):
    assert len(conccl["scenarios"]) == len(FEW)
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


def test_auto_loses_or_draws_against_the_best(conccl):
    assert 0 <= conccl["auto"]["mean_loss"] <= conccl["auto"]["max_loss"]
    for scenario in conccl["scenarios"]:
        walls = {name: run["wall_s"] for name, run in scenario["strategies"].items()}
        assert walls.pop("auto") >= min(walls.values()) * (1 - 1e-12)


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
    study = STUDY.changed(published={})
    again = run_study(study, Options(strategies=["base"], band=False)).to_dict()
    assert again["strategies"]["base"] == conccl["strategies"]["base"]

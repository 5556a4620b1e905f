"""Designs and their front: the front by hand, seeds, constraints, mistakes."""

import json

import pyarrow.parquet as pq
import pytest
from sweep_case import write

from c3sim.errors import C3simError, InputError
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.experiments.jobs import Workers
from c3sim.experiments.points import workload_and_node
from c3sim.experiments.result_files import write_designs
from c3sim.experiments.search import front_of, optimise
from c3sim.output.tables.search import gain_line
from c3sim.spec.reading.loading import load_node

STUDY = """\
schema: 1
name: engines
node: teaching-4
workload: gemm-beside-dma-all-gather
strategies: [as_written]
outputs: [wall_s]
costs: {area: hw.sdma.engines * hw.sdma.bandwidth / 1e9}
search:
  knobs:
    hw.sdma.engines: {from: 1, to: 4}
    hw.sdma.bandwidth: {from: 5 GB/s, to: 50 GB/s, log: true}
    gpu.dies.dispatch: [work_conserving, strict_rotation]
  objectives: {fraction_of_ideal: maximise, area: minimise}
  trials: 12
  generation: 4
"""


def rows(*values):
    return [{"good": good, "cost": cost, "error": error} for good, cost, error in values]


def test_the_front_is_what_no_other_beats():
    """3/3 is beaten by 4/2; 4/2 stands twice, the first counts; 9/9 failed; 1/1 is cheapest, 5/8
    best.
    """
    found = rows(
        (3, 3, None),
        (4, 2, None),
        (5, 8, None),
        (1, 1, None),
        (4, 2, None),
        (None, 0, None),
        (9, 0, "bad"),
    )
    assert front_of(found, {"good": True, "cost": False}) == [2, 1, 3]
    assert front_of(found, {"cost": False}) == [5]  # of that one alone, the cheapest


@pytest.fixture(scope="module", autouse=True)
def few_draws():
    """The band of a gain is that of four draws instead of 32."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("c3sim.experiments.gain.DRAWS", 4)
        yield


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    return optimise(write(folder, STUDY), workers=Workers(jobs=1))


def test_every_design_lies_within_its_knobs(found):
    assert len(found.rows) == 12 and found.failures == [] and found.broken == 0
    for settings, row in zip(found.settings, found.rows, strict=True):
        values = dict(settings)
        assert list(values) == [
            "gpu.dma_engines.count",
            "gpu.dma_engines.bandwidth",
            "gpu.dies.dispatch",
        ]
        assert (
            values["gpu.dma_engines.count"] in (1, 2, 3, 4)
            and 5e9 <= values["gpu.dma_engines.bandwidth"] <= 50e9
        )
        assert row["area"] == pytest.approx(
            values["gpu.dma_engines.count"] * values["gpu.dma_engines.bandwidth"] / 1e9
        )
    assert {dict(settings)["gpu.dies.dispatch"] for settings in found.settings} == {
        "work_conserving",
        "strict_rotation",
    }


@pytest.mark.slow
def test_the_seed_decides_and_the_workers_do_not(found, tmp_path):
    path = write(tmp_path, STUDY)
    other = optimise(path, workers=Workers(jobs=2))
    assert (other.settings, other.rows, other.front) == (found.settings, found.rows, found.front)
    assert optimise(path, seed=2, trials=4, workers=Workers(jobs=1)).settings != found.settings[:4]


def test_tpe_is_reproducible_too(tmp_path):
    path = write(tmp_path, STUDY.replace("trials: 12", "trials: 8\n  sampler: tpe"))
    first, again = (optimise(path, workers=Workers(jobs=1)) for _ in range(2))
    assert first.settings == again.settings and first.rows == again.rows


def test_designs_that_break_a_constraint_are_tried_and_never_best(tmp_path):
    path = write(
        tmp_path, STUDY + "constraints: [hw.sdma.engines * hw.sdma.bandwidth >= 30 GB/s]\n"
    )
    found = optimise(path, workers=Workers(jobs=1))
    assert found.broken > 0 and found.failures == []
    assert all(found.rows[number]["area"] >= 30 for number in found.front)
    broken = next(row for row in found.rows if row["error"])
    assert broken["error"] == "constraint broken: hw.sdma.engines * hw.sdma.bandwidth >= 30 GB/s"


def test_few_designs_are_tried_each_once(tmp_path):
    """2 x 3 designs and 12 trials: nothing is left to chance, and nothing is tried twice. The
    watcher hears of them as they are done.
    """
    listed = STUDY.replace("{from: 1, to: 4}", "[1, 2]").replace(
        "{from: 5 GB/s, to: 50 GB/s, log: true}", "[5 GB/s, 20 GB/s, 50 GB/s]"
    )
    only = listed.replace("    gpu.dies.dispatch: [work_conserving, strict_rotation]\n", "")
    heard = []
    result = optimise(
        write(tmp_path, only), workers=Workers(jobs=1), watcher=lambda *done: heard.append(done)
    )
    assert len(result.rows) == len({*result.settings}) == 6
    assert heard[0] == (0, 6, 0) and heard[-1] == (6, 6, 0)
    assert len(optimise(write(tmp_path, only), trials=5, workers=Workers(jobs=1)).rows) == 5


def test_the_search_may_have_strategies_of_its_own(tmp_path):
    text = STUDY.replace("[as_written]", "[base, conccl]").replace(
        "  knobs:\n", "  knobs:\n    strategy: [conccl]\n"
    )
    assert {
        row["strategy"]
        for row in optimise(write(tmp_path, text), trials=4, workers=Workers(jobs=1)).rows
    } == {"conccl"}


def test_a_design_is_the_mean_of_the_scenarios(tmp_path):
    scenarios = "scenarios: [{name: a}, {name: b, set: {task.gemm.m: 1024}}]\n"
    path = write(tmp_path, STUDY + scenarios)
    both = optimise(path, trials=2, workers=Workers(jobs=1))
    alone = [
        optimise(write(tmp_path, STUDY + one, name), trials=2, workers=Workers(jobs=1)).rows[0][
            "wall_s"
        ]
        for name, one in (
            ("a.yaml", "scenarios: [{name: a}]\n"),
            ("b.yaml", "scenarios: [{name: b, set: {task.gemm.m: 1024}}]\n"),
        )
    ]
    assert both.rows[0]["wall_s"] == pytest.approx(sum(alone) / 2)


def test_the_file_has_the_format_of_a_sweep(found, tmp_path):
    write_designs(found, tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    about = json.loads(table.schema.metadata[b"c3sim"])
    assert about["objectives"] == {"fraction_of_ideal": "maximise", "area": "minimise"}
    assert [number for number, row in enumerate(table.to_pylist()) if row["on_front"]] == sorted(
        found.front
    )
    for row in table.to_pylist()[:6]:
        assert evaluate_run(*workload_and_node(about["study"], row)).wall_s == row["wall_s"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "hw.sdma.engines: {",
            "hw.sdma.engins: {",
            "10: search.knobs.'hw.sdma.engins': unknown path",
        ),
        (
            "{from: 1, to: 4}",
            "{from: 1, to: 1}",
            "10: search.knobs.'hw.sdma.engines': from 1 to 1; the ends must differ",
        ),
        (
            "5 GB/s",
            "0 GB/s",
            "11: search.knobs.'hw.sdma.bandwidth': got '0 GB/s'; must be greater than 0",
        ),
        (
            "fraction_of_ideal: m",
            "fraction_of_idea: m",
            "13: search.objectives.fraction_of_idea: unknown output",
        ),
        (
            "fraction_of_ideal: m",
            "money: m",
            "a cost of your own is defined under costs: {NAME: expression}",
        ),
        (
            "fraction_of_ideal: m",
            '"tasks.*.slowdown": m',
            "13: search.objectives: 'tasks.*.slowdown' is no single output",
        ),
        (
            "  knobs:",
            "  knobs:\n    strategy: [bse]",
            "10: search.knobs.strategy: unknown strategy 'bse'; did you mean 'base'?",
        ),
        ("maximise", "more", "unknown value 'more'"),
        (
            "search:",
            "axes: {hw.sdma.engines: [1]}\nserch:",
            "unknown field 'serch'; did you mean 'search'?",
        ),
    ],
)
def test_mistakes(tmp_path, monkeypatch, old, new, message):
    monkeypatch.chdir(tmp_path)
    assert old in STUDY
    write(tmp_path, STUDY.replace(old, new))
    with pytest.raises(C3simError) as caught:
        optimise("small.yaml")
    assert str(caught.value).startswith("small.yaml:") and message in str(caught.value)


def test_a_study_without_a_search(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, STUDY[: STUDY.index("search:")])
    with pytest.raises(InputError, match=r"small\.yaml:1: nothing to search; add search: "):
        optimise("small.yaml")


def test_a_search_says_what_it_gained_over_what_is_there(tmp_path):
    """Links as they are: nothing to gain. Twice as wide, the copy that they bind is quicker in
    every draw of the rest.
    """
    links = load_node("teaching-4").links.bandwidth / 1e9
    gained = {}
    for wider in (1, 2):
        knob = f"links.bandwidth: ['{wider * links} GB/s']"
        text = STUDY.split("  knobs:")[0] + f"  knobs:\n    {knob}\n"
        text += "  objectives: {wall_s: minimise}\n  trials: 4\n"
        gained[wider] = optimise(write(tmp_path, text), workers=Workers(jobs=1)).gains["wall_s"]
    assert gained[1].verdict == "nothing"
    assert gained[2].verdict == "gained" and gained[2].band["p95"] < 0
    assert gained[2].change == pytest.approx(gained[2].best - gained[2].there)
    assert "nothing to gain" in gain_line("wall_s", gained[1])
    assert "sure, -" in gain_line("wall_s", gained[2])

"""``c3sim sensitivity``, ``c3sim optimise`` and ``run --uncertainty`` as a user meets them."""

import json
from inspect import signature
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli_case import FEW_OPEN, files

from c3sim.cli.run import run
from c3sim.cli.sensitivity import sensitivity
from c3sim.experiments.bands import BAND_SAMPLES

pytestmark = pytest.mark.turns(5)

SEARCH = """\
schema: 1
name: engines
node: teaching-4
workload: gemm-beside-dma-all-gather
strategies: [as_written]
costs: {area: hw.sdma.engines * hw.sdma.bandwidth / 1e9}
search:
  knobs: {hw.sdma.engines: [1, 2, 3], hw.sdma.bandwidth: {from: 5 GB/s, to: 50 GB/s}}
  objectives: {fraction_of_ideal: maximise, area: minimise}
  trials: 12
"""
SMALL = ("--samples", "2", "--top", "1", "--band-samples", "8", "--jobs", "1")
PNG = b"\x89PNG"


@pytest.fixture
def node(empty):
    Path("few.yaml").write_text(FEW_OPEN, encoding="utf-8")
    return "few.yaml"


@pytest.fixture
def search(empty):
    Path("search.yaml").write_text(SEARCH, encoding="utf-8")
    return "search.yaml"


@pytest.mark.slow
def test_run_has_a_band_when_asked(cli, pair):
    assert "uncertainty" not in json.loads(cli("run", pair, "--json").stdout)
    result = cli("run", pair, "--uncertainty", "--samples", "4", "--json")
    band = json.loads(result.stdout)["uncertainty"]
    assert (band["samples"], band["seed"], band["method"]) == (4, 1, "latin hypercube")
    assert set(band["fraction_of_ideal"]) == {"p5", "median", "p95"} and "gather" in band["tasks"]
    text = cli("run", pair, "--uncertainty", "--samples", "4").stdout
    assert "4 samples of " in text and "log-uniform" in text and "fraction_of_ideal" in text


@pytest.mark.parametrize(
    "options",
    [("--strategy", "conccl"), ("--set", "links.bandwidth=40 GB/s", "--set", "task.gemm.m=2048")],
)
def test_run_and_sensitivity_have_the_same_band_from_the_same_samples(cli, pair, node, options):
    options = ("--node", node, *options)
    of_run = cli("run", pair, "--uncertainty", "--samples", "3", "--seed", "5", "--json", *options)
    small = ("--samples", "2", "--top", "0", "--band-samples", "3", "--jobs", "1", "--seed", "5")
    found = cli("sensitivity", pair, "--json", *small, *options)
    assert json.loads(of_run.stdout)["uncertainty"] == json.loads(found.stdout)["band"]


def test_they_take_as_many_samples_where_none_are_asked_for():
    """200 and 256 gave two bands for one question."""
    defaults = {
        command: {name: each.default for name, each in signature(command).parameters.items()}
        for command in (run, sensitivity)
    }
    assert defaults[run]["samples"] == defaults[sensitivity]["band_samples"] == BAND_SAMPLES
    assert defaults[run]["seed"] == defaults[sensitivity]["seed"]


@pytest.mark.slow
def test_sensitivity_of_a_workload(cli, pair, node, empty):
    words = ("--node", node, "--strategy", "conccl", "--out", "o")
    result = cli("sensitivity", pair, *words, *SMALL)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("pair.yaml on few, strategy conccl")
    assert "moves it most, by " in result.stdout and "parameters do not move it" in result.stdout
    assert sorted(files("o")) == ["samples.parquet", "sensitivity.parquet", "tornado.png"]
    assert Path("o/tornado.png").read_bytes().startswith(PNG)
    rows = pq.read_table("o/sensitivity.parquet").to_pylist()
    assert {"parameter", "low", "high", "output", "at_low", "at_high", "base", "s1", "st"} <= set(
        rows[0]
    )
    assert rows[0]["output"] == "fraction_of_ideal" and rows[0]["st"] is not None
    assert cli("plot", "o").exit_code == 0 and Path("o.png").read_bytes().startswith(PNG)
    result = cli("plot", ".")
    assert result.exit_code == 2 and "sensitivity.parquet of 'c3sim sensitivity'" in result.stderr


@pytest.mark.slow
def test_sensitivity_of_a_study_is_the_mean_of_its_scenarios(cli, node, empty):
    text = (
        f"schema: 1\nname: s\nnode: {node}\nworkload: c3-pair\nstrategies: [sp]\n"
        "scenarios: [{name: a, set: {task.gemm.m: 1024}}, {name: b, set: {task.gemm.m: 2048}}]\n"
    )
    Path("s.yaml").write_text(text, encoding="utf-8")
    found = json.loads(cli("sensitivity", "s.yaml", "--json", *SMALL).stdout)
    rows = json.loads(cli("study", "s.yaml", "--jobs", "1", "--json").stdout)["rows"]
    assert found["base"]["wall_s"] == pytest.approx(sum(row["wall_s"] for row in rows) / 2)
    swings = [each["swing"] for each in found["parameters"]]
    assert swings == sorted(swings, reverse=True) and found["strategy"] == "sp"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["pair.yaml", "--output", "wal_s"],
            "--output: unknown output 'wal_s'; did you mean 'wall_s'?",
        ),
        (
            ["pair.yaml", "--output", "tasks.*.slowdown"],
            "--output: 'tasks.*.slowdown' is several; name one task",
        ),
        (
            ["pair.yaml", "--strategy", "bse"],
            "--strategy: unknown strategy 'bse'; did you mean 'base'?",
        ),
        (["pair.yaml", "--samples", "6"], "--samples: got 6; must be a power of 2, such as 64"),
        (["pair.yaml", "--node", "teaching-4"], "no parameter of teaching-4 has an interval"),
        (
            ["pair.yaml", "--set", "links.bandwith=1"],
            "links.bandwith: unknown path 'links.bandwith'; did you mean",
        ),
        (["pair.yaml", "--out", "pair.yaml"], "pair.yaml: --out: is not a folder"),
        (["mi300x-8"], "'mi300x-8' is a node; give a study or a workload"),
        (["gemm-alone", "--output", "fraction_of_ideal"], "fraction_of_ideal has no value here"),
    ],
)
def test_mistakes_of_sensitivity(cli, pair, arguments, message):
    result = cli("sensitivity", *arguments)
    assert result.exit_code == 2 and message in result.stderr and result.stderr.count("\n") == 1


def test_optimise_leaves_a_front_and_its_picture(cli, search, empty):
    result = cli("optimise", search, "--out", "o", "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert "12 designs tried, " in result.stdout and "(more is better)" in result.stdout
    assert sorted(files("o")) == ["front.png", "results.parquet", "search.png"]
    assert Path("o/front.png").read_bytes().startswith(PNG)
    assert pq.read_table("o/results.parquet").num_rows == 12


def test_optimise_json_is_the_same_for_a_seed(cli, search):
    first, again = (
        cli("optimise", search, "--seed", "3", "--jobs", "1", "--json").stdout for _ in range(2)
    )
    found = json.loads(first)
    assert first == again and found["objectives"] == {
        "fraction_of_ideal": "maximise",
        "area": "minimise",
    }
    assert 0 < len(found["front"]) <= found["tried"] == 12


def test_optimise_without_optuna(cli, search, monkeypatch, empty):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = cli("optimise", search, "--out", "o")
    assert (result.exit_code, result.stderr) == (
        2,
        "Optuna is not installed; run: pip install 'c3sim[explore]'\n",
    )
    assert files(empty) == ["search.yaml"]

"""``c3sim study``: tables, files, and the shape of ``--json``."""

import json
from pathlib import Path

import pytest

SWEEP = """\
schema: 1
name: sweep
node: teaching-4
workload: gemm-beside-all-gather
strategies: [base, sp]
outputs: [wall_s, speedup]
axes: {task.gather.size: [16 MiB, 64 MiB]}
"""
C3 = """\
schema: 1
name: two
workload: c3-pair
strategies: [base, conccl]
kind: c3
outputs: [speedup]
scenarios: [{name: one, set: {task.gemm.m: 1024}}, {name: other, set: {task.gemm.m: 2048}}]
published: {source: nobody, mean_fraction_of_ideal: {base: 0.25}, note: checked against nothing}
"""
BAND = """\
node: teaching-4
band:
  draws: 3
  assumptions:
    - name: host path
      usual: a thread per GPU
      unknown: nobody said
      source: invented
      alternatives: [{name: one thread, set: {workload.host.threads: single}}]
"""
MEANS = {
    "mean_fraction_of_ideal",
    "ratio_of_means",
    "mean_own_fraction",
    "mean_speedup",
    "max_speedup",
}


@pytest.fixture
def sweep(empty):
    Path("sweep.yaml").write_text(SWEEP, encoding="utf-8")
    return "sweep.yaml"


@pytest.fixture
def two(empty):
    Path("two.yaml").write_text(C3, encoding="utf-8")
    return "two.yaml"


def test_the_answer_is_a_band_unless_it_is_not_wanted(cli, two):
    """On teaching-4 no number has an interval, so the draws are of the assumption alone."""
    Path(two).write_text(C3 + BAND, encoding="utf-8")
    found = json.loads(cli("study", two, "--draws", "2", "--json").stdout)
    assert (found["answer"]["drawn"]["draws"], found["answer"]["drawn"]["parameters"]) == (2, 0)
    assert set(found["answer"]["strategies"]) == {"base"}  # the one with a published mean
    row = found["answer"]["strategies"]["base"]
    assert found["strategies"]["base"]["band"] == [row["low"], row["high"]]
    assert row["low"] <= row["median"] <= row["high"]
    assert "verdict: 0 of 1 published means" in cli("study", two, "--draws", "1").stdout
    assert "answer" not in json.loads(cli("study", two, "--no-band", "--json").stdout)


@pytest.mark.slow
def test_conccl_has_what_is_promised(cli):
    result = cli("study", "conccl", "--no-band", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    names = ["base", "sp", "rp", "sp_rp", "conccl", "conccl_rp", "conccl_latte", "auto"]
    assert list(found["strategies"]) == names and len(found["scenarios"]) == 30
    assert all(set(row) >= MEANS for row in found["strategies"].values())
    for scenario in found["scenarios"]:
        assert set(scenario) >= {
            "name",
            "class",
            "collective",
            "bytes",
            "gemm",
            "gemm_isolated_s",
            "comm_isolated_s",
            "strategies",
        }
        assert set(scenario["gemm"]) == {"m", "n", "k", "dtype"}
        for run in scenario["strategies"].values():
            assert set(run) >= {"wall_s", "speedup", "fraction_of_ideal"}
    assert set(found["published"]["mean_fraction_of_ideal"]) == set(names) - {
        "conccl_latte",
        "auto",
    }


@pytest.mark.slow
def test_conccl_says_how_far_it_is_off_and_what_it_is_checked_against(cli):
    text = cli("study", "conccl", "--no-band").stdout
    rows = {
        line.split()[0]: line.split()
        for line in text.splitlines()
        if line.startswith(("base ", "conccl_rp "))
    }
    assert rows["base"][-2] == "21.0" and rows["conccl_rp"][-2] == "72.0"
    for row in rows.values():  # columns: name, fraction, ..., published, difference
        assert float(row[-1]) == pytest.approx(float(row[1]) - float(row[-2]), abs=0.11)
    (claim,) = (line for line in text.splitlines() if line.startswith("max speedup, conccl_rp"))
    assert claim.split()[3:7] == ["quoted", "x", "no", "1.67"]
    words = " ".join(text.split())
    assert "checked against these published means only" in words and "all-reduce" in words


def test_a_sweep_is_a_table_of_rows(cli, sweep):
    lines = cli("study", sweep).stdout.splitlines()
    assert lines[0] == "sweep on teaching-4"
    assert sum("16 MiB" in line for line in lines) == 2
    assert len(json.loads(cli("study", sweep, "--json").stdout)["rows"]) == 4


def test_out_leaves_table_data_and_picture(cli, two, empty):
    result = cli("study", two, "--out", "deep/results")
    folder = Path("deep/results")
    assert sorted(path.name for path in folder.iterdir()) == ["two.json", "two.png", "two.txt"]
    text = (folder / "two.txt").read_text(encoding="utf-8")
    assert "checked against nothing" in text and "\x1b" not in text
    assert set(json.loads((folder / "two.json").read_text(encoding="utf-8"))["strategies"]) == {
        "base",
        "conccl",
    }
    assert (folder / "two.png").read_bytes().startswith(b"\x89PNG")
    assert result.stderr.splitlines() == [
        f"wrote {folder / name}" for name in ("two.txt", "two.json", "two.png")
    ]


def test_set_changes_every_scenario(cli, sweep):
    """A path that is an axis gets other values, another one joins; text of a list crosses its
    entries.
    """
    result = cli(
        "study",
        sweep,
        "--set",
        "task.gather.size=[8 MiB]",
        "--set",
        "links.bandwidth=[10 GB/s, 20 GB/s]",
        "--json",
    )
    rows = json.loads(result.stdout)["rows"]
    found = [(row["task.gather.size"], row["links.bandwidth"], row["strategy"]) for row in rows]
    assert found == [
        ("8 MiB", rate, name) for rate in ("10 GB/s", "20 GB/s") for name in ("base", "sp")
    ]
    assert rows[0]["wall_s"] > rows[2]["wall_s"]


def test_plot(cli, two, empty):
    assert cli("study", two, "--plot", "two.svg", "--jobs", "1").exit_code == 0
    assert "</svg>" in Path("two.svg").read_text(encoding="utf-8")


def test_a_sweep_leaves_no_picture(cli, sweep, empty):
    cli("study", sweep, "--out", ".")
    assert sorted(path.name for path in empty.iterdir()) == [
        "sweep.json",
        "sweep.txt",
        "sweep.yaml",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["sweep.yaml", "--plot", "a.png"],
            "--plot: study 'sweep' has nothing to draw: its kind, 'sweep', has rows alone",
        ),
        (
            ["sweep.yaml", "--out", "sweep.yaml"],
            "sweep.yaml: --out: is not a folder; allowed: a folder",
        ),
        (["sweep.yaml", "--out", "sweep.yaml/x"], "cannot write"),
        (
            ["sweep.yaml", "--node", "techaing-4"],
            "unknown node 'techaing-4'; did you mean 'teaching-4'?",
        ),
        (["conclc"], "unknown study 'conclc'; did you mean 'conccl'?"),
        (["conccl", "--plot", "a.jpg"], "a.jpg: unknown suffix '.jpg'; allowed: .png, .svg, .pdf"),
    ],
)
def test_wrong_studies(cli, sweep, empty, arguments, message):
    result = cli("study", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert [path.name for path in empty.iterdir()] == ["sweep.yaml"]

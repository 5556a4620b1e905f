"""``c3sim study``: tables, files, and the shape of ``--json``."""

import json
from pathlib import Path

import pytest

from c3sim.experiments.claims import brief
from c3sim.kit.grid import Table

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


def test_the_answer_fits_a_screen_and_the_rest_is_named(cli, two, monkeypatch):
    """80 characters, as in a pipe: means, band, published mean and verdict, no scenario; ``--full``
    and the file have those of every scenario too.
    """
    monkeypatch.setenv("COLUMNS", "80")
    Path(two).write_text(C3 + BAND, encoding="utf-8")
    lines = cli("study", two, "--draws", "1").stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    shown = "\n".join(lines)
    assert all(word in shown for word in ("as run", "published", "verdict", "--full", "--verdict"))
    assert "per scenario" not in shown
    full = cli("study", two, "--draws", "1", "--full", "--out", "here").stdout
    assert "per scenario" in full and max(map(len, full.splitlines())) <= 80
    assert "left out at 80 characters: " in full
    written = Path("here/two.txt").read_text(encoding="utf-8")
    assert "per scenario" in written and "left out" not in written


def test_the_answer_of_a_sweep_is_the_mean_of_each_output(cli, sweep):
    """Two sizes under base and sp: (a + b) / 2 of each, in a row of its own."""
    rows = json.loads(cli("study", sweep, "--json").stdout)["rows"]
    lines = cli("study", sweep).stdout.splitlines()
    for name in ("base", "sp"):
        times = [row["wall_s"] for row in rows if row["strategy"] == name]
        (words,) = (line.split() for line in lines if line.startswith(name + " "))
        assert words[1] == "2" and float(words[2]) == pytest.approx(sum(times) / 2, rel=1e-3)
    assert "16 MiB" in cli("study", sweep, "--full").stdout


def test_more_rows_than_a_screen_has_are_counted():
    rows = [{"claim": str(number), "standing": "quoted"} for number in range(20)]
    table = brief(Table("t", rows, ["claim", "standing"], "note"), rows=15)
    assert (len(table.rows), table.columns) == (15, ["claim"])
    assert table.note == "5 more rows: --full\nnote"


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

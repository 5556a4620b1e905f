"""A plan that leaves one file to send, dry-run against what an earlier run measured."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from cli_case import invoke
from places import ROOT

from c3sim.validation.probing.meaning import spreads
from c3sim.validation.probing.plan import Step, load_plan

LOG = ROOT / "validation" / "data" / "h200" / "four-gpus-calibration-run1.jsonl"
STEP, SUITE, NODE = "all_gathers", "first_collectives", "h200-4"
COMMAND = "collective --op all_gather --size 1GiB"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plan of one step, and with what it measured on four H200."""
    monkeypatch.chdir(tmp_path)
    records = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    kept = [each for each in records if each["workload"]["name"].startswith("nccl all_gather")][:3]
    lines = [json.dumps({**each, "suite": SUITE, "role": "validation"}) for each in kept]
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / f"{STEP}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "machine.json").write_text(json.dumps({"gpus": [{"name": "H200"}] * 4}))
    step = {"name": STEP, "suite": SUITE, "role": "validation", "gpus": 4, "command": COMMAND}
    step |= {"what": "how long an all-gather takes", "means": "slower than predicted: links"}
    plan = {"name": "first", "description": "a test", "minutes": 1, "send": True, "steps": [step]}
    (tmp_path / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    return tmp_path


def run(recorded: str, out: str, *more: str):
    where = ["--node", NODE, "--out", out, "--recorded", recorded, *more]
    return invoke("probe", "run", "plan.yaml", *where)


def test_a_recorded_log_goes_the_whole_way(here: Path) -> None:
    """Records are checked and kept, set beside the model, and packed; no compiler, no GPU."""
    found = run("there", "out")
    assert found.exit_code == 0, found.stderr
    assert f"{STEP}: isolated_collective " in found.stdout
    assert "\n  would mean: slower than predicted: links\n" in found.stdout
    assert "to send: out/first.zip" in found.stdout
    with zipfile.ZipFile("out/first.zip") as sent:
        assert sorted(sent.namelist()) == [f"{STEP}.jsonl", f"{STEP}.log", "machine.json"]
        assert sent.read(f"{STEP}.jsonl") == Path(f"there/{STEP}.jsonl").read_bytes()


def test_a_dry_run_says_what_results_would_mean(here: Path) -> None:
    """In comments, so that a shell takes the rest; in the document as fields."""
    found = run("there", "out", "--dry-run")
    assert found.exit_code == 0 and not Path("out").exists()
    lines = found.stdout.splitlines()
    assert lines[0] == f"# {STEP}: how long an all-gather takes"
    assert lines[1] == "# would mean: slower than predicted: links"
    assert lines[2].startswith(f"probe {COMMAND} --node {NODE} ")
    assert lines[3:] == ["# one file to send would be left: out/first.zip"]
    (said,) = json.loads(run("there", "out", "--dry-run", "--json").stdout)["steps"]
    assert said["means"] == "slower than predicted: links"


@pytest.mark.parametrize("step", load_plan("mi300x-first-hour").steps, ids=lambda each: each.name)
def test_every_step_of_the_first_hour_says_what_it_would_mean(step: Step) -> None:
    assert step.what and step.means


def test_who_gets_the_file_sees_the_same(here: Path) -> None:
    first = json.loads(run("there", "out", "--json").stdout)
    again = json.loads(run("out/first.zip", "again", "--json").stdout)
    assert again["meaning"] == first["meaning"] and again["machine"] == first["machine"]
    (said,) = first["meaning"]
    ratios = said["measured_over_predicted"]
    assert all(0.5 < ratio < 2 for ratio in ratios.values()) and ratios


def test_a_step_that_the_earlier_run_left_out_is_skipped(here: Path) -> None:
    """As those are that need a clock which nobody may set."""
    plan = json.loads(Path("plan.yaml").read_text())
    plan["steps"].append({**plan["steps"][0], "name": "left_out"})
    Path("plan.yaml").write_text(json.dumps(plan))
    found = run("there", "out", "--json")
    assert found.exit_code == 0
    steps = json.loads(found.stdout)["steps"]
    assert [each["result"] for each in steps] == ["ok", "skipped"]
    assert steps[1]["message"] == "not in the earlier run"


def test_what_is_not_there_is_said_in_one_line(here: Path) -> None:
    found = run("nowhere.zip", "out")
    assert found.exit_code == 2 and "a folder or a .zip" in found.stderr


def test_spreads_tell_ranks_from_turns() -> None:
    """Rank 0 takes 99 and 101 us, rank 1 109 and 111: medians 100 and 110, 7.07 over 105 apart;
    turns of a rank are 1.414 apart, over 100 and over 110.
    """
    ranks = [
        {"tasks": {"gemm": {"start_us": [0, 200], "end_us": [end, 202 + end]}}} for end in (99, 109)
    ]
    found = spreads({"observed": {"ranks": ranks}})
    assert found["gemm, spread of ranks"] == pytest.approx(7.0711 / 105, rel=1e-4)
    assert found["gemm, of turns"] == pytest.approx(1.41421 * (1 / 100 + 1 / 110) / 2, rel=1e-4)
    assert spreads({"observed": {}}) == {}

"""Before and after: what ``c3sim diff`` and ``c3sim.diff`` say of two files of one kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import c3sim
from c3sim.cli.app import app
from c3sim.errors import InputError
from c3sim.evaluation.differences import ALONE, CONTENTION, NUMBER
from c3sim.output.results.saved import kind_of

PAIR = "gemm-beside-all-gather"
TRACES = Path(__file__).parent / "importers" / "data"


def sweep_of(folder: Path, rates: str) -> Path:
    study = folder / f"{len(rates)}.yaml"
    study.write_text(
        f"schema: 1\nname: small\nworkload: {PAIR}\nstrategies: [base]\n"
        f"axes: {{links.bandwidth: [{rates}]}}\n"
    )
    c3sim.sweep(study, folder / f"out-{len(rates)}", jobs=1)
    return folder / f"out-{len(rates)}"


def test_causes_of_two_runs_add_up_to_the_change(tmp_path: Path) -> None:
    found = c3sim.diff(PAIR, "gemm-beside-dma-all-gather")
    for each in found.times.values():
        assert sum(each.parts.values()) == pytest.approx(each.change, abs=1e-9)
    frame = found.to_frame()
    assert frame.loc["wall", "change"] < 0  # engines leave the GEMM its units


def test_rows_of_two_result_files_meet_by_their_axes(tmp_path: Path) -> None:
    """40 GB/s is in both sweeps and takes as long; 60 GB/s is in one."""
    before = sweep_of(tmp_path, "40 GB/s, 60 GB/s")
    after = sweep_of(tmp_path, "40 GB/s")
    rows = c3sim.diff(before, after)
    assert list(rows["links.bandwidth"]) == [40e9]
    assert list(rows["change"]) == [0.0]
    assert kind_of(str(before)) == "results"
    shown = CliRunner().invoke(app, ["diff", str(before), str(after)])
    assert "1 rows in both files, 0 changed" in shown.output
    with pytest.raises(InputError, match="no column 'rate' in both files"):
        c3sim.diff(before, after, column="rate")


def test_two_traces_by_class_by_kernel_and_by_cause() -> None:
    """A forward pass and a training step: the reduce-scatters are new, the gathers twice as many
    (again before each layer's backward pass).
    """
    before, after = (str(TRACES / name) for name in ("fsdp_forward_h200x2", "fsdp_h200x2"))
    shown = CliRunner().invoke(app, ["diff", before, after, "--node", "h200-2", "--json"])
    times = json.loads(shown.stdout)["times"]
    wall = times["wall"]
    assert sum(wall["parts"].values()) == pytest.approx(wall["change"], abs=1e-9)
    assert times["reduce_scatter"]["before"] == 0
    for name in ("gemm", "all_gather"):
        causes = times[name]["parts"]
        assert causes.keys() == {NUMBER, ALONE, CONTENTION}
        assert sum(causes.values()) == pytest.approx(times[name]["change"])
    assert any(name.startswith("kernel nvjet") for name in times)


def test_files_of_two_kinds_are_refused_in_a_line(tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    run.write_text(CliRunner().invoke(app, ["run", PAIR, "--json"]).stdout)
    results = sweep_of(tmp_path, "40 GB/s")
    with pytest.raises(InputError, match="not of one kind"):
        c3sim.diff(results, PAIR)
    refused = CliRunner().invoke(app, ["diff", str(run), str(results)])
    assert refused.exit_code == 2 and "is of kind run" in refused.output

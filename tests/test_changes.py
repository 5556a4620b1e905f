"""Before and after: what ``c3sim diff`` and ``c3sim.diff`` say of two files of one kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_case import invoke
from kineto_case import MadeTrace

import c3sim
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
    shown = invoke("diff", before, after)
    assert "1 row in both files, 0 changed\n" in shown.output
    assert "1 row only before: not compared" in shown.output and "only after" not in shown.output
    with pytest.raises(InputError, match="no column 'rate' in both files"):
        c3sim.diff(before, after, column="rate")


def test_what_changed_of_a_class_is_its_number_and_its_kernels(tmp_path: Path) -> None:
    """Six GEMMs of 150 us, then seven of 170 us: one of 150 us more, and 7 x 170 - 7 x 150 = 140 us
    of slower ones. The gather is new; nothing waits for it, so the replay has it beside a GEMM.
    """
    for name, gemms, took in (("before", 6, 150), ("after", 7, 170)):
        made, size = MadeTrace(ranks=2), [[2048, 2048], [2048, 2048]]
        for n in range(gemms):
            about = {"called": 20.0 * n, "operator": "aten::mm", "dims": size}
            made.kernel("nvjet_tst", 1000 + 500 * n, took, **about)
        if name == "after":
            made.gather(6000, 300, mib=32, ranks=2, called=200.0)
        (tmp_path / f"{name}.json").write_text(made.text(), encoding="utf-8")
    files = [str(tmp_path / f"{name}.json") for name in ("before", "after")]
    shown = invoke("diff", *files, "--node", "h200-2", "--json")
    times = json.loads(shown.stdout)["times"]
    for name in ("gemm", "kernel nvjet_tst"):
        parts = times[name]["parts"]
        assert parts.keys() == {NUMBER, ALONE, CONTENTION}
        assert parts[NUMBER] == pytest.approx(150e-6)
        assert parts[ALONE] + parts[CONTENTION] == pytest.approx(140e-6)
    assert (times["all_gather"]["before"], times["all_gather"]["after"]) == (0, 300e-6)
    wall = times["wall"]
    assert sum(wall["parts"].values()) == pytest.approx(wall["change"], abs=1e-9)


@pytest.mark.long
def test_two_traces_by_class_by_kernel_and_by_cause() -> None:
    """A forward pass and a training step: the reduce-scatters are new, the gathers twice as many
    (again before each layer's backward pass).
    """
    before, after = (str(TRACES / name) for name in ("fsdp_forward_h200x2", "fsdp_h200x2"))
    shown = invoke("diff", before, after, "--node", "h200-2", "--json")
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
    run.write_text(invoke("run", PAIR, "--json").stdout)
    results = sweep_of(tmp_path, "40 GB/s")
    with pytest.raises(InputError, match="not of one kind"):
        c3sim.diff(results, PAIR)
    refused = invoke("diff", run, results)
    assert refused.exit_code == 2 and "is of kind run" in refused.output

"""Commands whose work grows with what a user gives them say their estimate, and ask, before it."""

import gzip
import json
import os
from pathlib import Path

import pytest
from made_records import GEMM, line
from test_cli_limits import said

from c3sim.experiments.papers.kv_fetch import row
from c3sim.experiments.serving import (
    METHODS,
    SIMULATED_S,
    STEP_S,
    TOKEN_S,
    effort_of_serving,
    serving_cases,
)
from c3sim.iterations.inference import scheduler
from c3sim.spec.reading.loading import load_study
from c3sim.validation.compare.record_files import PACKAGED

SHIPPED = str(PACKAGED / "published" / "mi300x" / "transferbench_example.jsonl")
SWEEP = PACKAGED / "published" / "mi300x" / "gemm_cu_sweep.jsonl"
ASKS = "add --yes to run it all the same"


@pytest.fixture
def at_once(monkeypatch):
    """Nothing is quick enough to go on without asking."""
    monkeypatch.setattr("c3sim.cli.consent.MOST_SECONDS", 0.0)


def test_a_hundred_thousand_records_of_ones_own_ask_before_they_are_read(tmp_path):
    """They hold no record: who reads them says so."""
    file = tmp_path / "mine.jsonl"
    file.write_text("{}\n" * 100_000)
    for words in (("validate",), ("validate", "--coverage"), ("calibrate", "mi300x-8", "--data")):
        assert ASKS in said(*words, str(file))


def test_one_record_with_very_much_work_asks_before_it_is_predicted(tmp_path):
    file = tmp_path / "mine.jsonl"
    gemm = {**GEMM, "repeat": 100_000}
    file.write_text(json.dumps(line({"gemm": gemm}, {"isolated": {"gemm": 1e6}})))
    assert ASKS in said("validate", str(file))


def test_records_that_are_shipped_are_not_counted(at_once, tmp_path):
    said("validate", SHIPPED, code=0)
    mine = tmp_path / "mine.jsonl"
    mine.write_text(Path(SHIPPED).read_text())
    assert ASKS in said("validate", str(mine))
    said("validate", str(mine), "--yes", code=0)


def test_what_each_number_moves_asks_for_shipped_records_too(at_once):
    assert ASKS in said("validate", SHIPPED, "--coverage", "--only", "gpu.hbm")


def test_a_fit_to_many_records_of_ones_own_asks(tmp_path):
    """6 parameters, 104 GEMMs: 89 searches took 8 s; of ten times as many records a minute."""
    mine = tmp_path / "mine.jsonl"
    mine.write_text(10 * SWEEP.read_text())
    words = ("calibrate", "mi300x-8", "--only", "gemm_cu_sweep", "--data", str(mine))
    assert ASKS in said(*words)


def test_a_long_study_of_serving_asks():
    assert ASKS in said("study", "kv-fetch", "--set", "serving.output_tokens=1000000")
    assert ASKS in said("study", "kv-fetch", "--set", "serving.requests=100000")


def test_steps_of_the_scheduler_are_counted_within_a_factor_of_two(monkeypatch):
    """Every 96th case: some with one request, some with many, all at once or by and by."""
    steps, step = [0], scheduler.Scheduler._step

    def counting(self, *arguments):
        steps[0] += 1
        step(self, *arguments)

    monkeypatch.setattr(scheduler.Scheduler, "_step", counting)
    study = load_study("kv-fetch")
    for case in serving_cases(study)[::96]:
        steps[0] = 0
        row(case, study)
        tokens = len(METHODS) * case.serving.requests * case.serving.output_tokens
        seconds = effort_of_serving(case.serving).seconds - SIMULATED_S - tokens * TOKEN_S
        assert 0.5 < seconds / STEP_S / steps[0] < 2, case.name


def test_an_iteration_of_many_layers_asks_before_they_are_made(tmp_path):
    """Fully sharded with all 4,000 layers gathered ahead: as many are simulated."""
    model = tmp_path / "deep.yaml"
    sizes = "layers: 4000\nhidden: 4096\nheads: 32\nkv_heads: 8\nhead_dim: 128\nffn: 14336\n"
    model.write_text(f"schema: 1\nname: deep\nsource: made up\n{sizes}vocab: 128256\n")
    file = tmp_path / "iteration.yaml"
    file.write_text(
        f"schema: 1\nkind: iteration\nname: i\nnode: h200-4\nmodel: {model}\nbatch: 2\n"
        "tokens: 4096\nphase: forward\nparallel: {kind: fsdp, prefetch: 4000}\n"
    )
    for command in ("run", "compare"):
        assert ASKS in said(command, str(file))


def test_a_folder_of_traces_is_estimated_by_the_size_of_its_text(tmp_path):
    """Sparse files of 300 MiB each; of a packed one, that begins with 16 MiB of nothing in 16 KiB,
    so of 1 MiB about 1 GiB.
    """
    traces = tmp_path / "traces"
    traces.mkdir()
    for rank in range(2):
        with (traces / f"rank{rank}.json").open("wb") as file:
            os.truncate(file.fileno(), 300 * 2**20)
    words = ("--node", "h200-2", "--as", "workload")
    assert ASKS in said("import", str(traces), *words)
    packed = tmp_path / "rank0.json.gz"
    packed.write_bytes(gzip.compress(bytes(2**24)) + bytes(2**20))
    assert ASKS in said("import", str(packed), "--node", "h200-2")


def test_the_replay_of_an_imported_trace_is_estimated(monkeypatch):
    """Reading 1 MB takes 0.13 s, and is not asked about."""
    monkeypatch.setattr("c3sim.cli.consent.MOST_SECONDS", 0.2)
    data = Path(__file__).parents[1] / "importers" / "data" / "fsdp_h200x2"
    assert ASKS in said("import", str(data), "--node", "h200-2", "--as", "workload")

"""Going on: after Ctrl-C, after a kill, with what has changed; and folders that are somebody
else's.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from signals import hear_interrupts, with_signals
from sweep_case import STUDY, write

from c3sim.errors import InputError
from c3sim.experiments import sweep as module
from c3sim.experiments.jobs import Workers
from c3sim.experiments.sweep import Interrupted, sweep

pytestmark = pytest.mark.turns(5)


def test_a_complete_sweep_is_not_run_again(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "run_batch", lambda *_: pytest.fail("it ran again"))
    again = sweep(write(tmp_path), whole.folder)
    assert again.finished_before == 12 and again.table.equals(whole.table)


def stopped_after(monkeypatch, points):
    """Ctrl-C once so many points are done."""
    real = module.run_batch

    def run_batch(*arguments):
        if run_batch.done >= points:
            raise KeyboardInterrupt
        run_batch.done += len(arguments[-1])
        return real(*arguments)

    run_batch.done = 0
    monkeypatch.setattr(module, "run_batch", run_batch)


def test_an_interrupt_keeps_what_is_done_and_says_so(whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(Interrupted) as caught:
        stopped_after(patched, 4)
        sweep(write(tmp_path), tmp_path / "out")
    assert (
        str(caught.value)
        == f"interrupted; 4 of 12 points are kept in {tmp_path / 'out'}, the same command "
        f"goes on from there"
    )
    seen = []
    again = sweep(write(tmp_path), tmp_path / "out", watcher=lambda *told: seen.append(told))
    assert again.finished_before == 4 and seen[0] == (4, 12, 0) and seen[-1] == (12, 12, 0)
    assert (again.folder / "results.parquet").read_bytes() == (
        whole.folder / "results.parquet"
    ).read_bytes()
    assert json.loads((again.folder / "_timing.json").read_text())["run_last"] == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("steps: 3", "steps: 4"),
            "the study changed since this sweep was started; --fresh starts over",
        ),
        (("node: teaching-4", "node: mi300x-8"), "the study and the node changed since"),
    ],
)
def test_another_study_does_not_go_on(tmp_path, monkeypatch, change, message):
    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        stopped_after(patched, 4)
        sweep(write(tmp_path), tmp_path / "out")
    changed = write(tmp_path, STUDY.replace(*change))
    with pytest.raises(InputError) as caught:
        sweep(changed, tmp_path / "out")
    assert message in str(caught.value)
    assert sweep(changed, tmp_path / "out", fresh=True).finished_before == 0


def test_another_version_of_the_code_does_not_go_on(tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        stopped_after(patched, 4)
        sweep(write(tmp_path), tmp_path / "out")
    monkeypatch.setattr("c3sim.experiments.plan.code_hash", lambda: "another")
    with pytest.raises(InputError, match="code of c3sim changed"):
        sweep(write(tmp_path), tmp_path / "out")


@pytest.mark.parametrize("left", ["results.parquet", "parts/part-00000000.parquet"])
def test_a_folder_with_other_results_is_left_alone(tmp_path, left):
    path = tmp_path / "out" / left
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(InputError, match="holds results, but not what"):
        sweep(write(tmp_path), tmp_path / "out")
    assert path.read_text() == "mine"


def test_fresh_removes_only_what_a_sweep_writes(tmp_path):
    first = sweep(write(tmp_path), tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert sweep(write(tmp_path), tmp_path / "out", fresh=True).finished_before == 0
    assert (first.folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("damage", [b"cut", "half", "other"])
def test_a_damaged_part_is_set_aside_and_run_again(whole, tmp_path, monkeypatch, damage):
    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        stopped_after(patched, 4)
        sweep(write(tmp_path), tmp_path / "out")
    part = tmp_path / "out" / "parts" / "part-00000000.parquet"
    if damage == "other":  # a file of something else
        pq.write_table(pa.table({"point": [0, 1]}), part)
    else:
        part.write_bytes(part.read_bytes()[:-20] if damage == "half" else damage)
    held = 4 - 2
    again = sweep(write(tmp_path), tmp_path / "out")
    assert [path.name for path in again.set_aside] == ["part-00000000.damaged"]
    assert again.finished_before == held
    assert (again.folder / "results.parquet").read_bytes() == (
        whole.folder / "results.parquet"
    ).read_bytes()


def test_damaged_results_are_set_aside_and_run_again(whole, tmp_path):
    first = sweep(write(tmp_path), tmp_path / "out")
    (first.folder / "results.parquet").write_bytes(b"cut")
    again = sweep(write(tmp_path), tmp_path / "out")
    assert [path.name for path in again.set_aside] == ["results.damaged"]
    assert again.finished_before == 0 and again.table.equals(whole.table)


LONG = STUDY.replace("steps: 3", "steps: 10")  # 40 points
COMMAND = (
    sys.executable,
    "-c",
    "from c3sim.cli import main; main()",
    "sweep",
    "small.yaml",
    "--out",
    "out",
)


def killed(folder, how, jobs):
    """Starts a sweep and sends it the signal *how* once two parts are there; its exit code,
    standard error, and the parts.
    """
    process = subprocess.Popen(
        [*COMMAND, "--jobs", jobs],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=hear_interrupts,
    )
    try:
        deadline = time.monotonic() + 100
        while len(list((folder / "out").glob("parts/part-*.parquet"))) < 2:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
        said = ""
        if how == signal.SIGINT:
            os.killpg(process.pid, how)  # as a terminal does, to all of them
            said = process.communicate(timeout=60)[1]
        else:
            process.send_signal(how)
            process.wait()
        return process.returncode, said, sorted((folder / "out").glob("parts/part-*.parquet"))
    finally:
        process.stderr.close()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # workers that outlive it


@pytest.mark.slow
@pytest.mark.long
@with_signals
@pytest.mark.parametrize("jobs", ["2"])
def test_a_killed_sweep_loses_and_repeats_nothing(tmp_path, jobs):
    """kill -9 in the middle; going on runs exactly the points that no part holds, and gives the
    bytes of an unbroken run.
    """
    write(tmp_path, LONG)
    code, _, kept = killed(tmp_path, signal.SIGKILL, jobs)
    assert code == -signal.SIGKILL and len(kept) >= 2
    held = sum(pq.read_metadata(part).num_rows for part in kept)
    assert 0 < held < 40
    again = sweep(tmp_path / "small.yaml", tmp_path / "out", workers=Workers(jobs=1))
    assert (
        again.finished_before == held
        and json.loads((tmp_path / "out" / "_timing.json").read_text())["run_last"] == 40 - held
    )
    unbroken = sweep(tmp_path / "small.yaml", tmp_path / "unbroken", workers=Workers(jobs=1))
    assert (tmp_path / "out" / "results.parquet").read_bytes() == (
        unbroken.folder / "results.parquet"
    ).read_bytes()


@pytest.mark.slow
@with_signals
@pytest.mark.parametrize("jobs", ["2"])
def test_ctrl_c_is_one_line_and_can_be_gone_on_from(tmp_path, jobs):
    write(tmp_path, LONG)
    code, said, kept = killed(tmp_path, signal.SIGINT, jobs)
    assert code == 130 and said.count("\n") == 1, said
    assert said.startswith("c3sim: interrupted; ") and said.endswith(
        " of 40 points are kept in out, the same command goes on from there\n"
    )
    assert (
        sweep(tmp_path / "small.yaml", tmp_path / "out", workers=Workers(jobs=1)).finished_before
        >= 2
        and kept
    )


def test_two_at_once_is_refused(tmp_path):
    from c3sim.experiments.store import locked

    with (
        locked(tmp_path / "out"),
        pytest.raises(InputError, match="another process is running a sweep here"),
    ):
        sweep(write(tmp_path), tmp_path / "out")

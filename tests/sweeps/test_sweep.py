"""A sweep into its folder: the format, resuming, what fails, and that nothing depends on who does the work."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pyarrow.parquet as pq
import pytest
from sweep_case import STUDY, write

from c3sim.api import run
from c3sim.errors import InputError
from c3sim.prepared import run_prepared
from c3sim.sweeps import sweep as module
from c3sim.sweeps.executor import Workers
from c3sim.sweeps.points import workload_and_node
from c3sim.sweeps.sweep import Interrupted, sweep

COLUMNS = [
    "point", "gpu.dma_engines.count", "links.bandwidth", "scenario", "strategy", "wall_s", "fraction_of_ideal",
    "tasks.gemm.slowdown", "tasks.gather.slowdown", "area", "error",
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The small study, run once, without a stop."""
    folder = tmp_path_factory.mktemp("whole")
    return sweep(write(folder), folder / "out")


def test_the_file_of_results(whole):
    table = pq.read_table(whole.folder / "results.parquet")
    assert table.column_names == COLUMNS
    rows = table.to_pylist()
    assert [row["point"] for row in rows] == list(range(12))
    assert [(row["gpu.dma_engines.count"], row["links.bandwidth"], row["strategy"]) for row in rows] == [
        (n, b, s) for n in (1.0, 2.0) for b in (10e9, 20e9, 30e9) for s in ("base", "conccl")
    ]
    assert {row["scenario"] for row in rows} == {"small"} and {row["error"] for row in rows} == {None}
    about = json.loads(table.schema.metadata[b"c3sim"])
    assert about["version"] == 1 and about["node"] == "teaching-4" and about["study"]["name"] == "small"
    assert about["axes"]["links.bandwidth"] == {"unit": "B/s", "label": "links bandwidth"}
    assert about["outputs"]["wall_s"]["unit"] == "s" and set(about["outputs"]) == set(COLUMNS[5:10])
    assert sorted(path.name for path in whole.folder.iterdir()) == [
        "results.parquet",
        "sweep.json",
        "timing.json",
    ]


def test_every_point_is_what_run_says(whole):
    for row in whole.table.to_pylist():
        values = {path: row[path] for path in COLUMNS[1:3]}
        settings = {
            "hw.sdma.engines": int(values["gpu.dma_engines.count"]),
            "links.bandwidth": f"{values['links.bandwidth']} B/s",
        }
        one = run("gemm-beside-all-gather", node="teaching-4", strategy=row["strategy"], set=settings)
        assert (row["wall_s"], row["fraction_of_ideal"]) == (one.wall_s, one.fraction_of_ideal)
        assert row["tasks.gather.slowdown"] == one.tasks["gather"].slowdown


def test_a_point_can_be_simulated_again_from_the_file_alone(whole):
    table = pq.read_table(whole.folder / "results.parquet")
    study = json.loads(table.schema.metadata[b"c3sim"])["study"]
    for row in table.to_pandas().to_dict(
        "records"
    ):  # as whoever shows a point has it, NumPy's numbers and gaps
        assert run_prepared(*workload_and_node(study, row)).wall_s == row["wall_s"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_number_of_workers_changes_no_byte(whole, tmp_path, jobs):
    again = sweep(write(tmp_path), tmp_path / "out", workers=Workers(jobs=jobs))
    assert (again.folder / "results.parquet").read_bytes() == (whole.folder / "results.parquet").read_bytes()


def test_a_complete_sweep_is_not_run_again(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "run_points", lambda *_: pytest.fail("it ran again"))
    again = sweep(write(tmp_path), whole.folder)
    assert again.found == 12 and again.table.equals(whole.table)


def stopped_after(monkeypatch, points):
    """Ctrl-C once so many points are done."""
    real = module.run_points

    def run_points(*arguments):
        if run_points.done >= points:
            raise KeyboardInterrupt
        run_points.done += len(arguments[-1])
        return real(*arguments)

    run_points.done = 0
    monkeypatch.setattr(module, "run_points", run_points)


def test_an_interrupt_keeps_what_is_done_and_says_so(whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(Interrupted) as caught:
        stopped_after(patched, 4)
        sweep(write(tmp_path), tmp_path / "out")
    assert (
        str(caught.value)
        == f"interrupted; 4 of 12 points are kept in {tmp_path / 'out'}, the same command goes on from there"
    )
    seen = []
    again = sweep(write(tmp_path), tmp_path / "out", watcher=lambda *told: seen.append(told))
    assert again.found == 4 and seen[0] == (4, 12, 0) and seen[-1] == (12, 12, 0)
    assert (again.folder / "results.parquet").read_bytes() == (whole.folder / "results.parquet").read_bytes()
    assert json.loads((again.folder / "timing.json").read_text())["run_last"] == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("steps: 3", "steps: 4"), "the study changed since this sweep was started; --fresh starts over"),
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
    assert sweep(changed, tmp_path / "out", fresh=True).found == 0


def test_another_version_of_the_code_does_not_go_on(tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        stopped_after(patched, 4)
        sweep(write(tmp_path), tmp_path / "out")
    monkeypatch.setattr("c3sim.sweeps.plan.code_hash", lambda: "another")
    with pytest.raises(InputError, match="code of c3sim changed"):
        sweep(write(tmp_path), tmp_path / "out")


def test_a_failing_point_is_recorded_and_ends_nothing(tmp_path):
    """Channels may not outnumber compute units; those points say so, the others have their numbers."""
    text = STUDY.replace("hw.sdma.engines: [1, 2]", "task.gather.channels: [2, 4000]")
    found = sweep(write(tmp_path, text), tmp_path / "out")
    assert found.failed == 6
    for row in found.table.to_pylist():
        if row["task.gather.channels"] == 4000:
            assert "must be at most" in row["error"] and row["wall_s"] is None
        else:
            assert row["error"] is None and row["wall_s"] > 0


def test_what_is_no_mistake_of_the_user_is_recorded_too(tmp_path, monkeypatch):
    monkeypatch.setattr("c3sim.sweeps.points.run_prepared", lambda *_, **__: 1 / 0)
    found = sweep(write(tmp_path), tmp_path / "out")
    assert set(found.table.column("error").to_pylist()) == {"ZeroDivisionError: division by zero"}


def test_words_and_lists_are_texts(tmp_path):
    axes = "axes:\n  links.topology: [ring, full_mesh]\n  gpu.dies.shader_engines: [[4, 3], [4, 4]]\n  stream.communication.compute_units: [4, 0-5]\n"
    found = sweep(write(tmp_path, STUDY.split("axes:")[0] + axes), tmp_path / "out")
    assert found.failed == 0
    study = found.plan.resolved
    for row in found.table.to_pylist():
        workload, node, strategy = workload_and_node(study, row)
        assert json.loads(row["gpu.dies.shader_engines"]) == list(node.gpu.dies.shader_engines)
        assert (
            str(workload.streams["communication"].compute_units) == row["stream.communication.compute_units"]
        )
        assert run_prepared(workload, node, strategy).wall_s == row["wall_s"]


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
    assert sweep(write(tmp_path), tmp_path / "out", fresh=True).found == 0
    assert (first.folder / "notes.txt").read_text() == "mine"


def test_a_damaged_part_is_named(tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        stopped_after(patched, 4)
        sweep(write(tmp_path), tmp_path / "out")
    (tmp_path / "out" / "parts" / "part-00000000.parquet").write_text("cut")
    with pytest.raises(InputError, match=r"part-00000000.parquet: is no whole part of a sweep"):
        sweep(write(tmp_path), tmp_path / "out")


LONG = STUDY.replace("steps: 3", "steps: 20")  # 80 points
COMMAND = (sys.executable, "-c", "from c3sim.cli import main; main()", "sweep", "small.yaml", "--out", "out")


def killed(folder, how, jobs):
    """Starts a sweep and sends it the signal *how* once two parts are there; its standard error, and the parts then."""
    process = subprocess.Popen(
        [*COMMAND, "--jobs", jobs],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 100
        while len(list((folder / "out").glob("parts/part-*.parquet"))) < 2:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
        if how == signal.SIGINT:
            os.killpg(process.pid, how)  # as a terminal does, to all of them
        else:
            process.kill()
        if how == signal.SIGINT:
            said = process.communicate(timeout=60)[1]
        else:
            process.wait()
            said = ""
        kept = {path.name: path.stat().st_mtime_ns for path in (folder / "out").glob("parts/part-*.parquet")}
        return process.returncode, said, kept
    finally:
        process.stderr.close()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # workers that outlive it


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_killed_sweep_loses_and_repeats_nothing(tmp_path, jobs):
    """kill -9 in the middle; going on runs exactly the points that no part holds, and gives the bytes of an unbroken run."""
    write(tmp_path, LONG)
    code, _, kept = killed(tmp_path, signal.SIGKILL, jobs)
    assert code == -signal.SIGKILL and len(kept) >= 2
    held = sum(pq.read_metadata(tmp_path / "out" / "parts" / name).num_rows for name in kept)
    assert 0 < held < 80
    again = sweep(tmp_path / "small.yaml", tmp_path / "out", workers=Workers(jobs=1))
    assert (
        again.found == held
        and json.loads((tmp_path / "out" / "timing.json").read_text())["run_last"] == 80 - held
    )
    unbroken = sweep(tmp_path / "small.yaml", tmp_path / "unbroken", workers=Workers(jobs=1))
    assert (tmp_path / "out" / "results.parquet").read_bytes() == (
        unbroken.folder / "results.parquet"
    ).read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_ctrl_c_is_one_line_and_can_be_gone_on_from(tmp_path, jobs):
    write(tmp_path, LONG)
    code, said, kept = killed(tmp_path, signal.SIGINT, jobs)
    assert code == 130 and said.count("\n") == 1, said
    assert said.startswith("c3sim: interrupted; ") and said.endswith(
        " of 80 points are kept in out, the same command goes on from there\n"
    )
    assert sweep(tmp_path / "small.yaml", tmp_path / "out", workers=Workers(jobs=1)).found >= 2 and kept


def test_two_at_once_is_refused(tmp_path):
    from c3sim.sweeps.store import locked

    with locked(tmp_path / "out"), pytest.raises(InputError, match="another process is running a sweep here"):
        sweep(write(tmp_path), tmp_path / "out")


@pytest.mark.slow
def test_a_real_dask_scheduler_with_two_workers(whole, tmp_path):
    """``dask scheduler`` and two ``dask worker`` processes, as on a cluster: the same bytes."""
    distributed = pytest.importorskip("distributed")
    address_file = tmp_path / "scheduler.json"
    python = (
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--host",
        "127.0.0.1",
    )
    started = [subprocess.Popen([*python, "--scheduler-file", str(address_file)], stderr=subprocess.DEVNULL)]
    try:
        worker = (sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(address_file))
        worker = (
            *worker,
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--local-directory",
            str(tmp_path),
        )
        started += [subprocess.Popen([*worker, "--name", str(n)], stderr=subprocess.DEVNULL) for n in (1, 2)]
        with distributed.Client(scheduler_file=str(address_file), timeout="60s") as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address
        workers = Workers(jobs=2, backend="dask", scheduler=address)
        found = sweep(write(tmp_path), tmp_path / "out", workers=workers)
        assert (found.folder / "results.parquet").read_bytes() == (
            whole.folder / "results.parquet"
        ).read_bytes()
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=30)


def test_a_scheduler_that_is_not_there(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="no scheduler answers there"):
        sweep(write(tmp_path), tmp_path / "out", workers=Workers(backend="dask", scheduler="nonsense://1"))


def test_a_scheduler_needs_dask(tmp_path):
    with pytest.raises(InputError, match="a scheduler is Dask's; add --backend dask"):
        sweep(write(tmp_path), tmp_path / "out", workers=Workers(jobs=2, scheduler="tcp://localhost:1"))


def test_a_worker_with_other_code_is_refused(tmp_path):
    found = module.make_plan(write(tmp_path))
    with pytest.raises(InputError, match="another version of the code"):
        module.run_points(found.setup, "name", "another", [found.point(0)])

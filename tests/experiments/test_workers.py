"""Who does the work changes no byte: this process, others, a Dask cluster."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from signals import hear_interrupts, with_signals
from sweep_case import STUDY, write

from c3sim.errors import InputError
from c3sim.experiments import starting
from c3sim.experiments import sweep as module
from c3sim.experiments.jobs import Workers
from c3sim.experiments.points import PointRunner
from c3sim.experiments.sweep import sweep

pytestmark = pytest.mark.turns(5)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_number_of_workers_changes_no_byte(whole, tmp_path, jobs):
    again = sweep(write(tmp_path), tmp_path / "out", workers=Workers(jobs=jobs))
    assert (again.folder / "results.parquet").read_bytes() == (
        whole.folder / "results.parquet"
    ).read_bytes()


def test_a_machine_of_many_cores_starts_no_more_processes_than_pay(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 96)
    few = Workers(worth=10, most=8)
    assert (few.count(9), few.count(10), Workers(worth=10).count(10)) == (1, 8, 96)
    assert Workers(jobs=-1, most=8).count(1) == 96  # who asks for all gets them


def test_a_dask_cluster_gives_the_same_bytes(whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        workers = Workers(jobs=2, backend="dask", scheduler=cluster.scheduler_address)
        found = sweep(write(tmp_path), tmp_path / "out", workers=workers)
    same = (whole.folder / "results.parquet").read_bytes()
    assert (found.folder / "results.parquet").read_bytes() == same


def dask(kind, file, *words):
    """A process of ``dask scheduler`` or ``dask worker``, which find each other by *file*."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard", *words]
    return subprocess.Popen([*command, "--scheduler-file", file], stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers, and the address of the first."""
    distributed = pytest.importorskip("distributed")
    file = str(tmp_path / "scheduler.json")
    started = [dask("scheduler", file, "--port", "0", "--host", "127.0.0.1")]
    try:
        words = ("--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))
        started += [dask("worker", file, *words, "--name", str(n)) for n in (1, 2)]
        with distributed.Client(scheduler_file=file, timeout="60s") as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address
        yield started, address
    finally:
        for process in reversed(started):
            process.kill()  # asked to end, a worker may wait for its scheduler, which ends as well
        for process in started:
            process.wait(timeout=30)


@pytest.mark.long
def test_a_real_dask_scheduler_with_two_workers(whole, cluster, tmp_path):
    """``dask scheduler`` and two ``dask worker`` processes, as on a cluster: the same bytes, though
    one worker is killed on the way. Then the scheduler is: what was done is kept, and others go on.
    """
    started, address = cluster
    workers = Workers(jobs=2, backend="dask", scheduler=address)
    same = (whole.folder / "results.parquet").read_bytes()

    def killing(process):
        return lambda done, *_: process.kill() if done else None

    found = sweep(write(tmp_path), tmp_path / "out", workers=workers, watcher=killing(started[1]))
    assert (found.folder / "results.parquet").read_bytes() == same
    more = write(tmp_path, STUDY.replace("steps: 3", "steps: 60"))  # not over before it is seen
    with suppress(InputError):  # or all was done before it was missed
        sweep(more, tmp_path / "more", workers=workers, watcher=killing(started[0]))
    found = sweep(more, tmp_path / "more", workers=Workers(jobs=1))
    alone = sweep(more, tmp_path / "alone", workers=Workers(jobs=1))
    assert found.finished_before > 0
    assert found.table.equals(alone.table)


def test_a_scheduler_that_is_not_there(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="no scheduler answers there"):
        sweep(
            write(tmp_path),
            tmp_path / "out",
            workers=Workers(backend="dask", scheduler="nonsense://1"),
        )
    assert not (tmp_path / "out").exists()


def test_a_scheduler_without_workers(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        with pytest.raises(InputError, match=f"no workers; start one: dask worker {address}"):
            sweep(
                write(tmp_path),
                tmp_path / "out",
                workers=Workers(backend="dask", scheduler=address),
            )
    assert not (tmp_path / "out").exists()


def test_a_scheduler_needs_dask(tmp_path):
    with pytest.raises(InputError, match="a scheduler is Dask's; add --backend dask"):
        sweep(
            write(tmp_path),
            tmp_path / "out",
            workers=Workers(jobs=2, scheduler="tcp://localhost:1"),
        )


def test_a_worker_with_other_code_is_refused(tmp_path):
    found = module.make_plan(write(tmp_path))
    with pytest.raises(InputError, match="another version of the code"):
        module.run_batch(found.setup, "name", "another", PointRunner.row, [])


PARENT = """
import subprocess, sys
sys.exit(subprocess.call([sys.executable, "-c", sys.argv[1]]))
"""
WORKER = """
import os, time
from c3sim.experiments import starting
starting.begin(os.getppid())
print("watching", flush=True)
time.sleep(100)
"""


@with_signals
def test_a_worker_does_not_outlive_who_started_it():
    """The worker holds the pipe that the test reads: its end is the end of the worker."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout.readline() == "watching\n"
        parent.kill()
        begin = time.monotonic()
        assert parent.stdout.read() == "" and time.monotonic() - begin < 60


#: A command whose workers have started and wait for work; a worker of its own says so.
WAITING = """
import signal, sys, time
from joblib import delayed
from c3sim.experiments.jobs import side_by_side
signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # what a shell puts into the background ignores it
done = side_by_side([delayed(time.sleep)(seconds) for seconds in (0, 0, 100)], 2)
print(next(done), flush=True)
next(done), next(done)
"""


@pytest.mark.slow
@with_signals
def test_killing_the_parent_ends_a_busy_and_an_idle_worker():
    """Both of them hold the pipe that is read here: its end is the end of the last."""
    parent = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with parent:
        assert parent.stdout.readline() == "None\n"
        parent.kill()
        begin = time.monotonic()
        assert parent.stdout.read() == "" and time.monotonic() - begin < 20


@pytest.mark.slow
@with_signals
@pytest.mark.parametrize("after", [0, 0.02])
def test_ctrl_c_while_workers_start_is_the_parents_alone(after):
    """The first line comes before processes are started, which takes some 50 ms; no worker says a
    word, though threads of the parent (BLAS's) are given the signal as well.
    """
    script = WAITING.replace("done =", "print('starting', flush=True)\ndone =")
    script = f"try:\n    exec({script!r})\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_interrupts,
    )
    with parent:
        assert parent.stdout.readline() == "starting\n"
        time.sleep(after)
        os.killpg(parent.pid, signal.SIGINT)  # as a terminal does, to all of them
        said, errors = parent.communicate(timeout=60)
        assert said.endswith("interrupted\n") and "Traceback" not in errors, errors


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="masks of signals")
def test_processes_that_any_thread_starts_never_see_ctrl_c():
    """A process has the mask of the thread that starts it; the laboratory starts some in threads
    of its own, whose handler is not theirs to set.
    """

    def seen():
        with starting.interrupts_wait():
            said = subprocess.run([sys.executable, "-c", MASK], capture_output=True, text=True)
            return said.stdout.strip()

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(seen).result() == seen() == "True"


#: A process that says whether it masks Ctrl-C.
MASK = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"

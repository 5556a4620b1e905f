"""Every figure of speed, of this tree beside that of another commit, in the same minutes.

    python benchmarks/bench_pairs.py [COMMIT] [--only ROW] [--rounds N] [--json]
    python benchmarks/bench_pairs.py --counts          beside counts.json; exit code 1 where more
    python benchmarks/bench_pairs.py --counts --write  the counts are right: keep them

COMMIT, left out ``origin/main``, or HEAD where there is none, is unpacked into a folder of its own.
Both trees run each row in turns, in a process of its own each time; seconds are those of the
processor, so that what else runs matters less, and a pair is less disturbed than a figure. Shown
are medians, the ratio of the medians, and the least and greatest ratio of a pair.

``--counts`` compares what is the same on every computer: simulations, their events, calls of
functions, and the peak of memory that Python allocated.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from cProfile import Profile
from functools import partial
from io import BytesIO
from pathlib import Path
from pstats import Stats
from statistics import median
from tarfile import open as open_tar
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

HERE = Path(__file__).resolve()
ROOT, KEPT = HERE.parent.parent, HERE.parent / "counts.json"
PACKAGED = ("hwmodels", "workloads", "validation")
PAIR, PIECES = "gemm-beside-all-gather", "gemm-behind-all-gather-in-pieces"
STEP = "llama3-70b-training"
MORE = {"simulations": 0.0, "events": 0.0, "calls": 0.05, "peak MB": 0.25}  # relative, of counts
Work = Callable[[], object]


def changed_runs(strategy: str, count: int, *, read: bool = False) -> Work:
    """*count* runs, each with another bandwidth of the links; *read*: and what is made of the times
    of each task alone, which are run for who reads it.
    """
    import c3sim

    bandwidths = [{"links.bandwidth": f"{40 + 0.01 * number} GB/s"} for number in range(count)]

    def once(bandwidth: dict[str, str]) -> object:
        result = c3sim.run(PAIR, strategy=strategy, set=bandwidth)
        return (result.tasks, result.speedup, result.overlap.own_fraction) if read else result

    once({})
    return lambda: [once(each) for each in bandwidths]


def points(steps: int) -> Work:
    """A sweep in this process: 180 points a step."""
    from bench_sweep import ONE_SPLIT, study_text

    import c3sim

    folder = TemporaryDirectory()
    study = Path(folder.name) / "bench.yaml"
    study.write_text(study_text(steps, ONE_SPLIT), encoding="utf-8")

    def work() -> None:
        c3sim.sweep(study, Path(folder.name) / "out", jobs=1, fresh=True)
        folder.cleanup()

    return work


def many_tasks(count: int) -> Work:
    """GEMMs in one stream, all-gathers in another, one beside the other."""
    import c3sim

    tasks: dict[str, dict[str, object]] = {}
    for number in range(count // 2):
        tasks[f"gemm{number}"] = {"kind": "gemm", "stream": "a", "m": 2048, "n": 2048, "k": 2048}
        size = f"{8 + number % 7} MiB"
        gather = {"kind": "collective", "stream": "b", "op": "all_gather", "size": size}
        tasks[f"gather{number}"] = gather
    workload = {"schema": 1, "name": "many", "node": "mi300x-8", "tasks": tasks}
    c3sim.run(PAIR)
    return lambda: c3sim.run(workload)


def pieces(count: int, *, whole: bool = False) -> Work:
    """The result of a GEMM behind an all-gather in pieces by engines; *whole*: with all that is
    worked out when it is looked at, as what its overlap loses and why.
    """
    import c3sim

    changes = {"workload.schedule.steps": "uniform", "task.gemm.m": 16384}
    changes |= {"workload.schedule.pieces": count, "task.gather.backend": "dma"}
    c3sim.run(PAIR)
    run = partial(c3sim.run, PIECES, set=changes)
    return (lambda: run().to_dict()) if whole else run


def on_gpus(strategy: str, gpus: int) -> Work:
    import c3sim

    other = {"links.bandwidth": "41 GB/s"}  # else the run of the node's own GPUs is remembered
    c3sim.run(PAIR, strategy=strategy, set=other)
    return lambda: c3sim.run(PAIR, strategy=strategy, set={"gpus": gpus})


def study() -> Work:
    """The main study with its band, in this process."""
    import c3sim

    return lambda: c3sim.study("conccl", n_jobs=1, agree=lambda _effort: None)


def layers(what: str) -> Work:
    """A step of 80 layers: its first run, the same again, what explains or compares it behind a
    run.
    """
    import c3sim

    c3sim.run(PAIR)
    if what != "first":
        c3sim.run(STEP)
    call = {"explain": c3sim.explain, "compare": c3sim.compare}.get(what, c3sim.run)
    return lambda: call(STEP)


def two_layers() -> Work:
    """The first run of a step of two layers."""
    import c3sim

    c3sim.run(PAIR)
    return lambda: c3sim.run(STEP, set={"layers": 2})


def screening() -> Work:
    """The numbers that move a step of 80 layers most, in this process."""
    import c3sim

    return lambda: c3sim.sensitivity(STEP, jobs=1)


def cold() -> Work:
    """The first run of a process, with all that it imports."""

    def work() -> None:
        import c3sim

        c3sim.run(PAIR)

    return work


def completions(kind: str, count: int, pure: bool) -> Work:
    """Ends of flows that are told to Python, 56 or more at once."""
    from bench_against_simgrid import told
    from flow_sets import flow_set

    from c3sim.engine.progress import Progress

    flows, progress = flow_set(kind, count, 4), Progress
    if not pure:
        from c3sim.engine.compiled.progress import CompiledProgress as Compiled

        told(flows, Compiled)
        return lambda: told(flows, Compiled)
    return lambda: told(flows, progress)


#: Name -> the work, what its seconds are multiplied by, and the unit then.
ROWS: dict[str, tuple[Callable[[], Work], float, str]] = {
    "run, set=new, base": (lambda: changed_runs("base", 60), 1e3 / 60, "ms"),
    "run, set=new, conccl": (lambda: changed_runs("conccl", 60), 1e3 / 60, "ms"),
    "run, set=new, base, read": (lambda: changed_runs("base", 60, read=True), 1e3 / 60, "ms"),
    "run, set=new, conccl, read": (lambda: changed_runs("conccl", 60, read=True), 1e3 / 60, "ms"),
    "run, cold": (cold, 1.0, "s"),
    "sweep of 10,080 points, over two": (lambda: points(2), 10_080 / 360 / 2, "s"),
    **{
        f"80 layers, {what}": (lambda what=what: layers(what), 1.0, "s")
        for what in ("first", "again", "explain", "compare")
    },
    "80 layers, sensitivity": (screening, 1.0, "s"),
    "10,000 tasks": (lambda: many_tasks(10_000), 1.0, "s"),
    "64 pieces by engines": (lambda: pieces(64), 1e3, "ms"),
    "256 pieces by engines": (lambda: pieces(256), 1e3, "ms"),
    "64 pieces, and what they lose": (lambda: pieces(64, whole=True), 1e3, "ms"),
    "256 pieces, and what they lose": (lambda: pieces(256, whole=True), 1e3, "ms"),
    "main study with its band, over two": (study, 0.5, "s"),
    "8 GPUs, base": (lambda: on_gpus("base", 8), 1e3, "ms"),
    "1024 GPUs, base": (lambda: on_gpus("base", 1024), 1e3, "ms"),
    "8 GPUs, conccl": (lambda: on_gpus("conccl", 8), 1e3, "ms"),
    "1024 GPUs, conccl": (lambda: on_gpus("conccl", 1024), 1e3, "ms"),
    **{
        f"224 ends, {kind} of 56, {'pure' if pure else 'compiled'}": (
            lambda kind=kind, pure=pure: completions(kind, 56, pure),
            1e3,
            "ms",
        )
        for kind in ("mesh", "links", "random")
        for pure in (True, False)
    },
}
#: What is counted, small enough to be profiled.
COUNTED: dict[str, Callable[[], Work]] = {
    "run, set=new, base": lambda: changed_runs("base", 10),
    "run, set=new, conccl": lambda: changed_runs("conccl", 10),
    "run, set=new, base, read": lambda: changed_runs("base", 10, read=True),
    "run, set=new, conccl, read": lambda: changed_runs("conccl", 10, read=True),
    "200 tasks": lambda: many_tasks(200),
    "2 layers": two_layers,
    "8 pieces by engines": lambda: pieces(8),
    "64 GPUs, conccl": lambda: on_gpus("conccl", 64),
}


def counts_of(make: Callable[[], Work]) -> dict[str, float]:
    """Simulations, events, calls of functions, and peak MB, each from a work of its own."""
    from c3sim.simulation import runs, simulate

    found, once = {"simulations": 0, "events": 0}, simulate._simulated

    def counted(*args: Any) -> Any:
        run, turns = once(*args)
        found["simulations"] += 1
        found["events"] += run.events
        return run, turns

    work, profile = make(), Profile()
    runs.forget()
    simulate._simulated = counted
    profile.runcall(work)
    simulate._simulated = once
    work = make()
    runs.forget()
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    return {**found, "calls": Stats(profile).total_calls, "peak MB": round(peak, 1)}


def unpacked(commit: str | None, folder: Path) -> Path:
    """A folder to import c3sim from: of *commit*, or of this tree (None), with its data inside."""
    tree, package = folder / "tree", folder / "import" / "c3sim"
    if commit is not None:
        command = ["git", "archive", commit, "c3sim", *PACKAGED]
        packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
        with open_tar(fileobj=BytesIO(packed)) as archive:
            archive.extractall(tree, filter="data")
    else:
        tree = ROOT
    package.mkdir(parents=True)
    for each in (tree / "c3sim").iterdir():
        (package / each.name).symlink_to(each)
    for name in PACKAGED:
        (package / name).symlink_to(tree / name)
    return package.parent


def child(what: str, name: str, tree: Path) -> Any:
    """Output of this file as a process that imports c3sim from *tree*."""
    command = [sys.executable, str(HERE), what, name]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}, {tree}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def pairs(commit: str, names: list[str], rounds: int) -> Iterator[dict[str, object]]:
    """A line of the table for each row."""
    with TemporaryDirectory() as folder:
        trees = [unpacked(each, Path(folder) / (each or "here")) for each in (commit, None)]
        for name in names:
            _, factor, unit = ROWS[name]
            taken = [[child("--row", name, tree) for tree in trees] for _ in range(rounds)]
            before, now = (factor * median(each) for each in zip(*taken, strict=True))
            ratios = sorted(after / first for first, after in taken)
            line = {"row": name, "unit": unit, "before": before, "now": now, "ratio": now / before}
            yield line | {"least": ratios[0], "greatest": ratios[-1]}


def compare_counts(names: list[str], write: bool) -> int:
    """1 if there is more of anything than was kept."""
    with TemporaryDirectory() as folder:
        tree = unpacked(None, Path(folder))
        found = {name: child("--count", name, tree) for name in names}
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    more = 0
    for name, counts in found.items():
        for what, count in counts.items():
            was = kept.get(name, {}).get(what)
            over = was is not None and count > was * (1 + MORE[what])
            more |= over
            print(f"{name:24} {what:12} {count:12g} {was or 0:12g}{'  more' * over}")
    if write:
        KEPT.write_text(json.dumps(kept | found, indent=1) + "\n", encoding="utf-8")
        return 0
    return int(more)


def last_accepted() -> str:
    known = subprocess.run(["git", "rev-parse", "-q", "--verify", "origin/main"], cwd=ROOT)
    return "HEAD" if known.returncode else "origin/main"


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed beside another commit's, row by row.")
    parser.add_argument("commit", nargs="?", help="left out: origin/main, or HEAD")
    parser.add_argument("--only", action="append", help="rows whose name begins so")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of each row")
    parser.add_argument("--json", action="store_true", help="one JSON document, no table")
    parser.add_argument("--counts", action="store_true", help="counts beside counts.json")
    parser.add_argument("--write", action="store_true", help="keep the counts")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--count", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row or given.count:
        return measure(given.row, given.count)
    asked = tuple(given.only or [""])
    names = [name for name in (COUNTED if given.counts else ROWS) if name.startswith(asked)]
    if given.counts:
        return compare_counts(names, given.write)
    lines = []
    for line in pairs(given.commit or last_accepted(), names, given.rounds):
        lines.append(line)
        if not given.json:
            numbers = (
                "{before:10.4g} {now:10.4g} {unit:3} {ratio:6.2f}x ({least:.2f} to {greatest:.2f})"
            )
            print(f"{line['row']:34} " + numbers.format(**line), flush=True)
    if given.json:
        print(json.dumps({"benchmark": "pairs", "rows": lines}, indent=2))
    return 0


def measure(row: str | None, count: str | None) -> int:
    """Print the seconds of a *row*, or its *count*."""
    if count is not None:
        print(json.dumps(counts_of(COUNTED[count])))
        return 0
    assert row is not None
    work = ROWS[row][0]()
    begin = process_time()
    work()
    print(json.dumps(process_time() - begin))
    return 0


if __name__ == "__main__":
    sys.exit(main())

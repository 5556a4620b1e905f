"""Times, events and memory of scenarios and of the study, beside the bounds asked of them.

    python benchmarks/bench_scenarios.py [--json] [--quick]

A scenario is one GEMM beside one all-gather on eight GPUs, folded. Its result is computed again
each time (a process otherwise remembers runs). The study runs in a process of its own without its
band; its time includes start-up. Times hold for the computer on which they were taken; those of the
large runs are processor times, and their growth, of four times as many tasks over four times the
time, is that of the program: one that is more than linear ends the benchmark with an error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from math import inf
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from figures import Row, show

from c3sim.api import prepare
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.strategies.table import candidates_of
from c3sim.experiments.cases import workload_cases
from c3sim.iterations.measure import result_of
from c3sim.iterations.measured import measure
from c3sim.simulation import runs
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_node, load_study, open_iteration

PIECES, ITERATION = "gemm-behind-all-gather-in-pieces", "llama3-405b-training"
LAYERS = 104  # of ITERATION that have 10,000 tasks
GROWTH = "growth"
MOST = 1.5  # of a growth

COMMAND = (
    sys.executable,
    "-c",
    "from c3sim.cli import main; main()",
    "study",
    "conccl",
    "--no-band",
)


def typical(call: Callable[[], object], repeats: int) -> float:
    """Median seconds of one *call*, the first one left out."""
    call()
    taken = []
    for _ in range(repeats):
        begin = perf_counter()
        call()
        taken.append(perf_counter() - begin)
    return median(taken)


def scenario_rows(repeats: int) -> list[Row]:
    """One scenario: simulated once, and as ``c3sim.run`` gives it, with isolated times, baseline
    and energy.
    """
    rows = []
    workload, node = prepare("gemm-beside-all-gather", None)
    for strategy in ("base", "conccl"):
        (candidate,) = candidates_of(strategy, workload, node)
        once = typical(partial(simulate, node, candidate.workload), repeats)

        def whole(name: str = strategy) -> None:
            runs.forget()
            evaluate_run(workload, node, name)

        rows.append(Row(name=f"scenario, {strategy}: simulated once", value=1e3 * once, unit="ms"))
        name = f"scenario, {strategy}: whole result"
        rows.append(Row(name=name, value=1e3 * typical(whole, repeats), unit="ms", bound=30, aim=5))
    return rows


def event_rows() -> list[Row]:
    """Events of every scenario of the study under every candidate of every strategy."""
    events = [
        simulate(case.node, candidate.workload).events
        for case in workload_cases(load_study("conccl"))
        for strategy in ("base", "sp", "rp", "sp_rp", "conccl", "conccl_rp")
        for candidate in candidates_of(strategy, case.workload, case.node)
    ]
    return [
        Row(
            name=f"events per scenario, median of {len(events)}",
            value=median(events),
            unit="events",
        ),
        Row(name="events per scenario, most", value=max(events), unit="events", bound=500),
    ]


def least(call: Callable[[], object], repeats: int) -> float:
    """Processor seconds of *call*, the least of *repeats*, the first one left out."""
    call()
    taken = []
    for _ in range(repeats):
        begin = process_time()
        call()
        taken.append(process_time() - begin)
    return min(taken)


def pieces_rows(repeats: int) -> list[Row]:
    """All-gather and GEMM on eight GPUs in 64 pieces, simulated once; and against 16 pieces."""
    rows, changes = [], {"workload.schedule.steps": "uniform", "task.gemm.m": 16384}
    for words, backend in (("engines", "dma"), ("kernels", "rccl")):

        def taken(pieces: int, moved_by: str = backend) -> float:
            changed = {"workload.schedule.pieces": pieces, "task.gather.backend": moved_by}
            workload, node = prepare(PIECES, None, {**changes, **changed})
            return least(partial(simulate, node, workload), repeats)

        many, few = taken(64), taken(16)
        rows += [
            Row(
                name=f"64 pieces by {words}: simulated once", value=1e3 * many, unit="ms", bound=50
            ),
            Row(name=f"64 pieces by {words}: {GROWTH}", value=many / few / 4, unit="x", bound=MOST),
        ]
    return rows


def iteration_rows(layers: int) -> list[Row]:
    """A training step with every layer simulated: with all tasks, one side, and the other."""
    opened = open_iteration(ITERATION)
    node = load_node(opened.iteration.node)
    counts, tasks = (layers // 4, layers), 0
    times = dict.fromkeys(counts, inf)  # per task: the least of two, since others use the cores
    for count in 2 * counts:
        some = opened.iteration.changed(layers=count)
        runs.forget()
        begin = process_time()
        measured = measure(some, opened.model, node, all_layers=True)
        tasks = len(result_of(measured, "as_written").tasks)
        times[count] = min(times[count], (process_time() - begin) / tasks)
    name, (few, many) = f"iteration of {tasks} tasks", times.values()
    return [
        Row(name=f"{name}: per 10,000", value=10_000 * many, unit="s", bound=10),
        Row(name=f"{name}: {GROWTH}", value=many / few, unit="x", bound=MOST),
    ]


def study_rows(repeats: int) -> list[Row]:
    """The study as a command: seconds, and the most memory that was resident."""
    with TemporaryDirectory() as folder:
        plain = [_child([*COMMAND], folder) for _ in range(repeats)]
        drawn = _child([*COMMAND, "--plot", "study.png"], folder)
    return [
        Row(
            name="study without its band",
            value=median(s for s, _ in plain),
            unit="s",
            bound=20,
            aim=5,
        ),
        Row(name="the same with its picture", value=drawn[0], unit="s"),
        Row(
            name="peak memory of the study", value=max(mb for _, mb in plain), unit="MB", bound=300
        ),
        Row(name="peak memory with its picture", value=drawn[1], unit="MB", bound=300),
    ]


def _child(command: list[str], folder: str) -> tuple[float, float]:
    """Seconds and peak resident memory [MB] of a process."""
    begin = perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the study ended with exit code {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return perf_counter() - begin, usage.ru_maxrss * unit / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and size of scenarios and of the study.")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document instead of a table"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few repeats, no study: does it run, and what order of magnitude?",
    )
    args = parser.parse_args()
    repeats = 3 if args.quick else 50
    rows = [
        *scenario_rows(repeats),
        *event_rows(),
        *pieces_rows(min(repeats, 8)),
        *iteration_rows(LAYERS // 13 if args.quick else LAYERS),
        *([] if args.quick else study_rows(3)),  # .ci/run asks for the study from a wheel
    ]
    show("scenarios", rows, as_json=args.json)
    for row in rows:
        if row.name.endswith(GROWTH) and row.bound is not None and row.value > row.bound:
            raise SystemExit(f"{row.name}: {row.value:.2f} times; bound {row.bound}")


if __name__ == "__main__":
    main()

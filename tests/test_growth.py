"""Twice as much of anything is at most twice as much work, and a little: cases in growth.yaml.

Steps are calls of functions (``tests/support/steps.py``); they do not depend on the machine or on
what runs beside. Work inside one call of a library, such as a copy of a long list, is not seen.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from iteration_case import result
from kineto_case import MadeTrace
from places import ROOT
from steps import steps

import c3sim
from c3sim.api import prepare
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.strategies.table import candidates_of
from c3sim.importers import find_target, import_file
from c3sim.result import Result
from c3sim.simulation import runs
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_node, load_workload, parse_workload
from c3sim.spec.reading.records import load_records

MOST = 1.1  # exponent
CASES = yaml.safe_load(Path(__file__).with_name("growth.yaml").read_text(encoding="utf-8"))
TEACHING = load_node("teaching-4")
Work = Callable[[], Any]


def kernels(count: int, **fields: Any) -> dict[str, Any]:
    """So many kernels, no two alike."""
    tasks = {
        f"k{n}": {"kind": "kernel", "time": f"{10 + n / 1000} us", "workgroups": 4, **fields}
        for n in range(count)
    }
    return {"schema": 1, "name": "many", "node": "teaching-4", "tasks": tasks}


def row(count: int, _: Path) -> Work:
    workload = parse_workload(kernels(count, stream="s"))
    return lambda: simulate(TEACHING, workload)


def side_by_side(workgroups: int, **fields: Any) -> Callable[[int, Path], Work]:
    """Each kernel on a stream of its own. A GPU has room for 14 x 4 = 56 workgroups, of which four
    fit on a unit; those that come alone all go to the first engine, which has four units: with 32
    on a unit it has room for 128 kernels.
    """

    def work(count: int, _: Path) -> Work:
        workload = parse_workload(kernels(count, workgroups=workgroups, **fields))
        return lambda: simulate(TEACHING, workload)

    return work


def noted(count: int, _: Path) -> Work:
    workload = parse_workload(kernels(count, stream="s"))
    return lambda: with_tasks(evaluate_run(workload, TEACHING, "as_written"))


def with_tasks(result: Result) -> object:
    """What tasks alone are run for."""
    return result.tasks, result.fraction_of_ideal, result.overlap.own_fraction


def rewritten(count: int, _: Path) -> Work:
    """As many kernels beside a collective, in no streams: the strategy deals them out."""
    gather = {"kind": "collective", "op": "all_gather", "size": "8 MiB"}
    case = kernels(count)
    workload = parse_workload({**case, "tasks": {**case["tasks"], "gather": gather}})
    return lambda: candidates_of("conccl_rp", workload, TEACHING)


def pieces(backend: str | None) -> Callable[[int, Path], Work]:
    def work(count: int, _: Path) -> Work:
        schedule = {"workload.schedule.pieces": count, "workload.schedule.steps": "uniform"}
        changes = {**schedule, **({"task.gather.backend": backend} if backend else {})}
        workload, node = prepare("gemm-behind-all-gather-in-pieces", None, changes)
        return lambda: with_tasks(
            evaluate_run(workload, node, "as_written", noted=False, stretched=False)
        )

    return work


def gpus(count: int, _: Path) -> Work:
    gather = {"kind": "collective", "op": "all_gather", "size": "1 GiB"}
    workload = parse_workload({"schema": 1, "name": "w", "tasks": {"gather": gather}})
    settings = {"scale_out.nodes": count // 8}
    workload, node = prepare(workload, "mi300x-cluster", settings)
    return lambda: simulate(node, workload)


def layers(*, every: bool) -> Callable[[int, Path], Work]:
    node = "h200-2" if every else "teaching-4"
    fields = {"node": node, "tokens": 512, "parallel": {"kind": "fsdp"}, "phase": "forward"}
    if every:  # so many as one wants
        model = yaml.safe_load((ROOT / "workloads/models/llama-3-8b.yaml").read_text())
        fields["model"] = {**model, "layers": 100}
    return lambda count, _: lambda: result(every, layers=count, **fields)


def records(count: int, folder: Path) -> Work:
    line = (ROOT / "validation/data/h200/power-run1.jsonl").read_text().split("\n")[0]
    file = folder / f"{count}.jsonl"
    file.write_text((line + "\n") * count, encoding="utf-8")
    return lambda: load_records(file)


def points(count: int, folder: Path) -> Work:
    study = {
        **{"schema": 1, "name": "s", "node": "teaching-4", "workload": "gemm-beside-all-gather"},
        "axes": {"links.bandwidth": [f"{10 + n / 100} GB/s" for n in range(count)]},
        **{"strategies": ["as_written"], "outputs": ["wall_s"]},
    }
    file = folder / f"{count}.yaml"
    file.write_text(yaml.safe_dump(study), encoding="utf-8")
    out = tempfile.mkdtemp(dir=folder)  # a sweep goes on with what it finds
    return lambda: c3sim.sweep(file, out, jobs=1)


def traced(count: int, folder: Path) -> Work:
    made = MadeTrace()
    for n in range(count):
        made.kernel("gemm", 20.0 * n, 10.0, called=20.0 * n - 8, operator="aten::mm", dims=[[8, 8]])
    file = folder / f"{count}.json"
    file.write_text(made.text(), encoding="utf-8")
    target, _ = find_target("h200-2", "validation", "", {})
    return lambda: import_file(file, "auto", target)


def lines(count: int, folder: Path) -> Work:
    file = folder / f"{count}.json"
    file.write_text(json.dumps(kernels(count)), encoding="utf-8")  # which is YAML too
    return lambda: load_workload(file)


WORK: dict[str, Callable[[int, Path], Work]] = {
    "tasks of a row": row,
    "tasks side by side": side_by_side(16),
    "tasks that all have room": side_by_side(1, per_unit=32),
    "notes on tasks": noted,
    "tasks under a strategy": rewritten,
    "pieces by kernels": pieces(None),
    "pieces by engines": pieces("dma"),
    "GPUs of a cluster": gpus,
    "layers, all simulated": layers(every=True),
    "layers, a few simulated": layers(every=False),
    "repeats of a record": records,
    "points of a sweep": points,
    "kernels of a trace": traced,
    "lines of a workload": lines,
}


def exponent(make: Callable[[int, Path], Work], sizes: tuple[int, int], folder: Path) -> float:
    """Of the steps between the two *sizes*. What is worked out once for a process is counted in
    neither: the larger one is done before. It was in the larger one alone, as far as no other test
    had worked it out.
    """
    counts = []
    for size in (sizes[1], *sizes):
        runs.forget()
        counts.append(steps(make(size, folder)))
    return math.log(counts[2] / counts[1]) / math.log(sizes[1] / sizes[0])


@pytest.mark.slow
@pytest.mark.turns(5)
@pytest.mark.parametrize("name", CASES)
def test_work_grows_no_faster_than_what_is_asked(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sizes = CASES[name]["wide" if request.config.getoption("--every-case") else "sizes"]
    assert exponent(WORK[name], tuple(sizes), tmp_path) <= MOST


def test_work_that_grows_with_the_square_is_seen(tmp_path: Path) -> None:
    def square(count: int, _: Path) -> Work:
        return lambda: [abs(a - b) for a in range(count) for b in range(count)]

    assert exponent(square, (20, 200), tmp_path) > 1.8


def test_every_case_has_work() -> None:
    assert CASES.keys() == WORK.keys()

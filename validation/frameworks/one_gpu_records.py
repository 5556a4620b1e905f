"""The cases of one_gpu.py as workloads, and what it measured as records:

python -m c3sim.validation.frameworks.one_gpu_records PLAN.yaml one-gpu.jsonl RUN > FILE

The power of a load stands in ``observed.energy``, as the probe's does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from c3sim.spec.record import record_id

NODE = "h200-2"  # one of its GPUs
SOFTWARE = "PyTorch 2.11.0, CUDA 13.0"
SOURCE = "validation/frameworks/one_gpu.py, one NVIDIA H200 in a virtual machine, run {}"
DATE = "2026-11-23"
ROLES = ("calibration", "validation")  # in turns, in the order of the plan


def cases(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each case of *plan*: its ``suite``, ``role``, ``workload`` and what one_gpu.py calls it."""
    for suite, types in plan["gemms"].items():
        for dtype, shapes in types.items():
            for place, shape in enumerate(shapes):
                about = {"suite": suite, "dtype": dtype, "shape": shape}
                task = _gemm(shape, dtype) | {"repeat": plan["turns"]}
                name = f"{dtype} GEMM {'x'.join(map(str, shape))}, {plan['turns']} in a queue"
                yield {**about, "role": ROLES[place % 2], "workload": _workload(name, "gemm", task)}
    for place, load in enumerate(plan["power"]["loads"]):
        about = {"suite": "h200_power_types", "load": load}
        name, task = _load(load)
        yield {**about, "role": ROLES[place % 2], "workload": _workload(name, "load", task)}


def _gemm(shape: list[int], dtype: str, data: str = "random") -> dict[str, Any]:
    m, n, k = shape
    gemm = {"kind": "gemm", "m": m, "n": n, "k": k, "dtype": dtype, "library": "cublas"}
    return gemm | {"inputs": "warm", "data": data}


def _load(load: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if load["kind"] == "gemm":
        extent, data = load["extent"], load.get("data", "random")
        name = f"{load['dtype']} GEMM {extent}^3 of {data} data, over and over"
        return name, _gemm([extent] * 3, load["dtype"], data)
    ends = {end: load[end] for end in ("source", "destination")}
    name = f"copy of {load['mib']} MiB, {ends['source']} to {ends['destination']}, over and over"
    return name, {"kind": "copy", "bytes": load["mib"] << 20, **ends, "executor": "dma"}


def _workload(name: str, task: str, what: dict[str, Any]) -> dict[str, Any]:
    return {"schema": 1, "name": name, "node": NODE, "tasks": {task: what}}


def records(
    plan: dict[str, Any], lines: list[dict[str, Any]], run: str
) -> Iterator[dict[str, Any]]:
    """A record for each line that one_gpu.py has written; lines that say an error are left out."""
    for case, line in zip(cases(plan), lines, strict=True):
        assert all(case.get(key) == line.get(key) for key in ("suite", "dtype", "shape", "load"))
        if "error" in line:
            print(f"left out: {line}", file=sys.stderr)
            continue
        yield _record(case, line, SOURCE.format(run))


def _record(case: dict[str, Any], line: dict[str, Any], source: str) -> dict[str, Any]:
    about: dict[str, Any] = {"measured": {"isolated": {}}, "samples": 1}
    if "us" in line:
        about["measured"] = {"isolated": {"gemm": round(median(line["us"]), 3)}}
        about |= {"samples": len(line["us"]), "sets": {"isolated.gemm": {"times_us": line["us"]}}}
    else:
        energy = {"gpus": [{"power_w": line["power_w"]}], "iteration_us": line["turn_us"]}
        about["observed"] = {"energy": energy, "clocks_mhz": line["clocks_mhz"]}
    workload = case["workload"]
    return {
        "schema": 1,
        "id": record_id(NODE, workload, "as_written", SOFTWARE),
        "suite": case["suite"],
        "node": NODE,
        "workload": workload,
        "strategy": "as_written",
        **about,
        "source": source,
        "software": SOFTWARE,
        "role": case["role"],
        "date": DATE,
    }


def main(plan_file: str, measured: str, run: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    texts = Path(measured).read_text(encoding="utf-8").splitlines()
    for record in records(plan, [json.loads(text) for text in texts], run):
        print(json.dumps(record))


if __name__ == "__main__":
    main(*sys.argv[1:])

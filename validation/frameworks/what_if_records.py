"""The GEMMs and pairs of one H100 and one H200 that were predicted first, as records:

python -m c3sim.validation.frameworks.what_if_records > validation/data/kernels/what-if.jsonl

Four plans, each run twice on each card (validation/data/kernels). A record needs tasks that say
what was run and nothing of the model: GEMMs, streams, copies to and from the host. Pairs with other
kernels are what an iteration makes of its operators, and stand in docs/predictions alone.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from c3sim.spec.record import record_id

HERE = Path(__file__).parent
DATA = HERE.parent / "data/kernels"
SOFTWARE = "PyTorch 2.11.0, CUDA 13.0"
SOURCE = "validation/frameworks/{}.py, one {} in a virtual machine, run {}"
CALLS, MIB, RUNS = 16, 1 << 20, 2
#: name of the runs -> suffix of the plans, and when they were run
PLANS = {
    "what-if": ("", "2026-11-24"),
    "what-if-2": ("-2", "2026-11-24"),
    "what-if-3": ("-3", "2026-11-28"),
    "what-if-4": ("-4", "2026-11-28"),
}
NODES = {"h200": "h200-1", "h100": "h100-1"}
#: A kernel of one thread that sleeps: it has room beside any other.
LATE = {"kind": "kernel", "workgroups": 1, "per_unit": 64, "lds": 0.0}


def lines(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def gemm_task(row: dict[str, Any]) -> dict[str, Any]:
    """A GEMM called over and over, on new operands each time or on the same."""
    shape = {extent: row[extent] for extent in ("m", "n", "k")}
    gemm = {"kind": "gemm", **shape, "dtype": row["dtype"], "library": "cublas"}
    return {**gemm, "inputs": row["buffers"], "data": "random", "repeat": CALLS}


def pair_task(task: dict[str, Any]) -> dict[str, Any] | None:
    """A task of a pair; None for one that a record cannot say."""
    if task["kind"] == "gemm":
        shape = {extent: task[extent] for extent in ("m", "n", "k")}
        return {
            "kind": "gemm",
            **shape,
            "library": "cublas",
            "inputs": "rotating",
            "data": "random",
        }
    size = {"bytes": task.get("mib", 0) * MIB}
    if task["kind"] == "stream":  # beside.py: its kernels claim no shared memory
        groups = {"workgroups": task["workgroups"], "lds": 0.0}
        return {"kind": "stream", "pattern": task["pattern"], **size, **groups}
    if task["kind"] == "copy":
        ends = ("host", "gpu") if task["from"] == "host" else ("gpu", "host")
        return {"kind": "copy", **size, "source": ends[0], "destination": ends[1]}
    return None


def record(suite: str, workload: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    node = workload["node"]
    return {
        "schema": 1,
        "id": record_id(node, workload, "as_written", SOFTWARE),
        "suite": suite,
        "node": node,
        "workload": workload,
        "strategy": "as_written",
        **about,
        "software": SOFTWARE,
        "role": "validation",
    }


def gemms(plan: str, gpu: str, run: int) -> Iterator[dict[str, Any]]:
    """Records of isolated GEMMs."""
    for row in lines(f"{gpu}-{plan}-kernels-{run}"):
        if row["operator"] != "gemm" or "error" in row:
            continue
        shape = f"{row['m']}x{row['n']}x{row['k']} {row['dtype']}"
        name = f"GEMM {shape}, {row['buffers']}, {CALLS} in a graph"
        workload = {"schema": 1, "name": name, "node": NODES[gpu], "host": {"launch": "graph"}}
        about = {
            "measured": {"isolated": {"gemm": round(CALLS * median(row["us"]), 2)}},
            "samples": len(row["us"]),
            "source": SOURCE.format("kernels", row["gpu"], run),
            "date": PLANS[plan][1],
        }
        yield record("what_if_gemms", {**workload, "tasks": {"gemm": gemm_task(row)}}, about)


def pairs(plan: str, gpu: str, run: int) -> Iterator[dict[str, Any]]:
    """Records of pairs, with the times of both tasks alone."""
    said = yaml.safe_load((HERE / f"beside-blind{PLANS[plan][0]}.yaml").read_text(encoding="utf-8"))
    alone: dict[str, float] = {}
    for line in lines(f"{gpu}-{plan}-beside-{run}"):
        us = {name: median(times) for name, times in line["us"].items()}
        if len(us) == 1:
            alone |= us
            continue
        tasks = {name: pair_task(said["tasks"][name]) for name in us}
        if None in tasks.values():
            continue
        first, second = ({**task, "stream": name} for name, task in tasks.items() if task)
        names = list(us)
        late = {**LATE, "time": 1e-6 * said["later_us"], "stream": names[1]}
        workload = {
            "schema": 1,
            "name": f"{names[0]} + {names[1]}, {said['later_us']} us later",
            "node": NODES[gpu],
            "tasks": {names[0]: first, "late": late, names[1]: second},
        }
        about = {
            "measured": {
                "wall_us": median(line["wall_us"]),
                "tasks": {name: {"time_us": time} for name, time in us.items()},
                "isolated": {name: alone[name] for name in us},
            },
            "samples": len(line["wall_us"]),
            "source": SOURCE.format("beside", line["gpu"], run),
            "date": PLANS[plan][1],
        }
        yield record("what_if_pairs", workload, about)


def main() -> None:
    for plan in PLANS:
        for gpu in NODES:
            for run in range(1, RUNS + 1):
                if not (DATA / f"{gpu}-{plan}-kernels-{run}.jsonl.gz").exists():
                    continue
                for each in (*gemms(plan, gpu, run), *pairs(plan, gpu, run)):
                    print(json.dumps(each))


if __name__ == "__main__":
    main()

"""Predicts the schedules of a plan of validation/frameworks/pieces.py before they are measured: one
JSON line per case.

python tools/predict_pieces.py validation/frameworks/pieces.yaml h200-2
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

from c3sim.input.loading import load_hardware, parse_workload
from c3sim.simulation.runs import run_once
from c3sim.specs.workload import Workload

ELEMENT = 2  # bytes of bf16


def workload(
    name: str, gemm: dict[str, int], schedule: dict[str, Any] | None, by: str, turns: int
) -> Workload:
    """One case: released behind a barrier of the GPUs, in a loop of *turns*. The host is far ahead:
    kernels are queued in the order of their launches, copies have been called for.
    """
    size = gemm["m"] * gemm["k"] * ELEMENT
    gather: dict[str, Any] = {"kind": "collective", "op": "all_gather", "size": size, "backend": by}
    if by == "dma":
        gather |= {"direction": "pull", "mapping": "ipc", "out_of_place": schedule is None}
    release = "per_rank" if by == "dma" else "event"
    plain: dict[str, Any] = {
        "schema": 1,
        "name": name,
        "tasks": {"gather": gather, "gemm": {"kind": "gemm", "after": ["gather"], **gemm}},
        "host": {"release": release, "loop": {"iterations": turns, "begin": "release"}},
    }
    if schedule is not None:
        plain["schedule"] = schedule
    return parse_workload(plain, plain_si=True)


def main(plan_file: str, node_name: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    node = load_hardware(node_name).node
    for gemm, shape in plan["gemms"].items():
        for by in plan["by"]:
            for schedule, given in plan["schedules"].items():
                run = run_once(node, workload(gemm, shape, given, by, plan["turns"]))
                case = {"gemm": gemm, "schedule": schedule, "by": by, "node": node_name}
                print(json.dumps({**case, "time_us": round(run.end * 1e6, 2)}))


if __name__ == "__main__":
    main(*sys.argv[1:])

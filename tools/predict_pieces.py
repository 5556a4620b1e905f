"""Predicts the schedules of a plan of validation/frameworks/pieces.py before they are measured: one
JSON line per case.

python tools/predict_pieces.py validation/frameworks/pieces.yaml h200-2
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

from c3sim.input.loading import load_hardware, parse_workload
from c3sim.simulation.runs import run_once
from c3sim.validation.frameworks.pieces_records import workload


def main(plan_file: str, node_name: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    node = load_hardware(node_name).node
    for gemm in plan["gemms"]:
        for by in plan["by"]:
            for schedule in plan["schedules"]:
                case = {"gemm": gemm, "schedule": schedule, "by": by, "node": node_name}
                plain = workload(plan, **case)
                run = run_once(node, parse_workload(plain, plain_si=True))
                print(json.dumps({**case, "time_us": round(run.end * 1e6, 2)}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Predicts the cases of a plan of validation/frameworks/pieces.py or operators.py before they are
measured: one JSON line per case.

python tools/predict_pieces.py validation/frameworks/pieces.yaml h200-2
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

from c3sim.simulation.runs import run_once
from c3sim.spec.reading.loading import load_hardware, parse_workload
from c3sim.validation.frameworks import operators_records, pieces_records
from c3sim.validation.frameworks.plan import operators_of, pieces_of


def main(plan_file: str, node_name: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    node = load_hardware(node_name).node
    of_operators = "ways" in plan
    cases = operators_of(plan) if of_operators else pieces_of(plan)
    workload = operators_records.workload if of_operators else pieces_records.workload
    for case in cases:
        plain = workload(plan, **case, node=node_name)
        run = run_once(node, parse_workload(plain, plain_si=True))
        of = {**case, **plan["gemms"].get(case["gemm"], {}), "node": node_name}
        print(json.dumps({**of, "time_us": round(run.end * 1e6, 2)}))


if __name__ == "__main__":
    main(*sys.argv[1:])

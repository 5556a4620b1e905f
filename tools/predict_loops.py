"""Predicts every loop of a plan of validation/frameworks before it is measured: one JSON line per
loop, by the name of its workload.

python tools/predict_loops.py validation/frameworks/ordinary.yaml h200-2
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import yaml

from c3sim.importers.loops import loop_workload
from c3sim.simulation.runs import isolated, run_once
from c3sim.spec.reading.loading import load_hardware, parse_workload
from c3sim.validation.frameworks.plan import cases_of


def main(plan_file: str, node_name: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text())
    node = load_hardware(node_name).node
    for case in cases_of(plan):
        document = loop_workload({**asdict(case), "turns": plan["turns"]})
        workload = parse_workload(document, plain_si=True)
        run = run_once(node, workload)
        print(
            json.dumps(
                {
                    "workload": workload.name,
                    "node": node_name,
                    "wall_us": round(run.end * 1e6, 2),
                    "tasks": {t: round(run.task(t).end * 1e6, 2) for t in workload.tasks},
                    "isolated": {
                        t: round(isolated(node, workload, t).end * 1e6, 2) for t in workload.tasks
                    },
                }
            )
        )


if __name__ == "__main__":
    main(*sys.argv[1:])

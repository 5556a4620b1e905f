"""Predicts every pair of a file of GEMMs and collectives, before it is measured: one JSON line per
pair, with the whole workload.

python tools/predict_pairs.py validation/frameworks/mi300x-loops.yaml
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

import c3sim
from c3sim.spec.reading.loading import parse_workload


def main(file: str) -> None:
    plan = yaml.safe_load(Path(file).read_text())
    for gemm in plan["gemm"]:
        for collective in plan["collective"]:
            tasks = {
                "collective": {"kind": "collective", **collective, "stream": "comm"},
                "gemm": {"kind": "gemm", **gemm, "inputs": "warm", "stream": "compute"},
            }
            shape = "x".join(str(extent) for extent in gemm.values())
            document = {
                "schema": 1,
                "name": f"{shape} beside {' '.join(str(value) for value in collective.values())}",
                "tasks": tasks,
                "streams": {"comm": {}, "compute": {}},
                "host": plan["host"],
            }
            found = c3sim.run(parse_workload(document), node=plan["node"])
            line = {
                "workload": document,
                "node": plan["node"],
                "wall_us": round(found.wall_s * 1e6, 1),
                "wall_p5_us": round(found.ranks.wall_p5_s * 1e6, 1),
                "wall_p95_us": round(found.ranks.wall_p95_s * 1e6, 1),
                "tasks": {
                    name: {
                        "time_us": round(task.time_s * 1e6, 1),
                        "waited_for_ranks_us": round(task.waited_for_ranks_s * 1e6, 1),
                        "isolated_us": round(task.isolated_s * 1e6, 1),
                    }
                    for name, task in found.tasks.items()
                },
            }
            print(json.dumps(line))


if __name__ == "__main__":
    main(*sys.argv[1:])

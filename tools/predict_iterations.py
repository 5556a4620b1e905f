"""Predicts the iterations of a plan of validation/frameworks before they are measured: one JSON
line per case.

python tools/predict_iterations.py validation/frameworks/iterations.yaml h200-2
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

import c3sim
from c3sim.iterations.result import IterationResult
from c3sim.specs.iteration import Iteration

MIB = 1 << 20
SAME = ("model", "layers", "head", "batch", "tokens", "context", "phase", "optimizer")


def description(name: str, case: dict[str, Any]) -> Iteration:
    """The case as an iteration: PyTorch, eager, default kernels of the optimizer, no profiler."""
    parallel = {key: value for key, value in case["parallel"].items() if key != "bucket_mib"}
    if "bucket_mib" in case["parallel"]:
        parallel["bucket"] = case["parallel"]["bucket_mib"] * MIB
    fields = {key: case[key] for key in SAME if key in case}
    said = {"schema": 1, "kind": "iteration", "name": name, "parallel": parallel}
    how = {"profile": "framework_alone", "optimizer_kernels": "foreach"}
    return Iteration.model_validate({**said, **how, **fields})


def main(plan_file: str, node: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    for name, case in plan["cases"].items():
        found = c3sim.run(description(name, case), node=node)
        assert isinstance(found, IterationResult)
        line = {
            "name": name,
            "node": node,
            "together_s": round(found.wall_s, 6),
            "compute_s": round(found.compute_s, 6),
            "communication_s": round(found.communication_s, 6),
            "exposed_s": round(found.exposed_s, 6),
            "host_bound": found.host_bound,
        }
        print(json.dumps(line))


if __name__ == "__main__":
    main(*sys.argv[1:])

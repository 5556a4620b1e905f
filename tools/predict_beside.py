"""Predicts the pairs of a plan of validation/frameworks/beside.py: one JSON line per case.

python tools/predict_beside.py validation/frameworks/beside-blind.yaml NODE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml
from predict_kernels import ops

import c3sim
from c3sim.spec.hardware import Gpu
from c3sim.spec.workload import Workload

MIB = 1 << 20
#: A kernel of one thread that sleeps: it has room beside any other.
LATE = {"kind": "kernel", "workgroups": 1, "per_unit": 64, "lds": 0}


def kernels(gpu: Gpu, task: dict[str, Any]) -> list[dict[str, Any]]:
    """Tasks of one call of *task*."""
    kind = task["kind"]
    if kind == "stream":
        said = {"pattern": task["pattern"], "bytes": task["mib"] * MIB, "lds": 0.0}
        return [{"kind": "stream", **said, "workgroups": task["workgroups"]}]
    if kind == "copy":
        ends = {"source": "host", "destination": "gpu"}
        if task["from"] == "gpu":
            ends = {"source": "gpu", "destination": "host"}
        return [{"kind": "copy", "bytes": task["mib"] * MIB, **ends}]
    row = {"operator": kind, "buffers": "rotating", "dtype": "bf16", "width": 128, **task}
    if kind == "attention":
        row["causal"] = True
    found = [op.task for op in ops(gpu, row)]
    return [{**t.model_dump(mode="json", exclude_defaults=True), "kind": t.kind} for t in found]


def case(gpu: Gpu, plan: dict[str, Any], names: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The workload of a case, and the last task of each call."""
    tasks: dict[str, Any] = {}
    last = []
    for stream, name in enumerate(names):
        if stream:
            late = {**LATE, "time": 1e-6 * plan["later_us"], "stream": "s1"}
            tasks["late"] = late
        for number, task in enumerate(kernels(gpu, plan["tasks"][name])):
            tasks[f"{name}-{number}"] = {**task, "stream": f"s{stream}"}
        last.append(list(tasks)[-1])
    return {"schema": 1, "name": "+".join(names), "tasks": tasks}, last


def main(plan_file: str, node_name: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    node = c3sim.load_hardware(node_name).node
    cases = [[name] for name in plan["tasks"]]
    cases += [list(order) for pair in plan["pairs"] for order in (pair, pair[::-1])]
    for names in cases:
        said, last = case(node.gpu, plan, names)
        result = c3sim.run(Workload.model_validate(said), node=node)
        ends = {name: result.tasks[task].end_s for name, task in zip(names, last, strict=True)}
        us = {name: round(1e6 * end, 2) for name, end in ends.items()}
        line = {"node": node.name, "tasks": names, "us": us, "wall_us": round(max(us.values()), 2)}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The cases of operators.py as workloads, and what it measured as records:

python -m c3sim.validation.frameworks.operators_records PLAN.yaml operators.jsonl NODE SUITE > FILE
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from .pieces_records import turns_record

SOURCE = "validation/frameworks/operators.py, two NVIDIA H200 of one host in a virtual machine"
ELEMENT = 2  # bytes of bf16


def workload(plan: dict[str, Any], op: str, gemm: str, way: str, node: str) -> dict[str, Any]:
    """One case in SI units, behind a barrier of the GPUs, in a loop; the host is far ahead."""
    shape, operator = plan["gemms"][op][gemm], way == "operator"
    moved = shape["m"] * shape["k" if op == "all_gather" else "n"] * ELEMENT
    exchange = {"kind": "collective", "op": op, "size": moved, "backend": "nccl"}
    if operator:
        exchange |= {"backend": "dma", "mapping": "ipc"}
    both = {"exchange": exchange, "gemm": {"kind": "gemm", **shape}}
    first, second = ("exchange", "gemm") if op == "all_gather" else ("gemm", "exchange")
    loop = {"iterations": plan["turns"], "begin": "release"}
    plain: dict[str, Any] = {
        "schema": 1,
        "name": f"{op}, {gemm}, {way}",
        "node": node,
        "tasks": {first: both[first], second: {**both[second], "after": [first]}},
        "host": {"release": "per_rank" if operator else "event", "loop": loop},
    }
    return plain | ({"schedule": {"kind": "micro_pipeline"}} if operator else {})


def records(
    plan: dict[str, Any], lines: list[dict[str, Any]], node: str, suite: str
) -> Iterator[Any]:
    """A record for each line that operators.py has written."""
    for line in lines:
        case = {key: line[key] for key in ("op", "gemm", "way")}
        conditions = workload(plan, **case, node=node)
        yield turns_record(conditions, line["turns_s"], suite, SOURCE)


def main(plan_file: str, measured: str, node: str, suite: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    texts = Path(measured).read_text(encoding="utf-8").splitlines()
    for record in records(plan, [json.loads(text) for text in texts], node, suite):
        print(json.dumps(record))


if __name__ == "__main__":
    main(*sys.argv[1:])

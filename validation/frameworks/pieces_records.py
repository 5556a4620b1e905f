"""The cases of pieces.py as workloads, and what it measured as records:

python -m c3sim.validation.frameworks.pieces_records PLAN.yaml pieces.jsonl NODE > FILE
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

SOFTWARE = "PyTorch 2.11.0, NCCL 2.28.9, CUDA 13.0"
SOURCE = "validation/frameworks/pieces.py, two NVIDIA H200 of one host in a virtual machine"
DATE = "2026-11-23"
ELEMENT = 2  # bytes of bf16


def workload(plan: dict[str, Any], gemm: str, schedule: str, by: str, node: str) -> dict[str, Any]:
    """One case in SI units: released behind a barrier of the GPUs, in a loop. The host is far
    ahead: kernels are queued in the order of their launches, copies have been called for.
    """
    shape, given, ahead = plan["gemms"][gemm], plan["schedules"][schedule], by == "dma"
    size = shape["m"] * shape["k"] * ELEMENT
    gather: dict[str, Any] = {"kind": "collective", "op": "all_gather", "size": size, "backend": by}
    if ahead:
        gather |= {"direction": "pull", "mapping": "ipc", "out_of_place": given is None}
    loop = {"iterations": plan["turns"], "begin": "release"}
    plain: dict[str, Any] = {
        "schema": 1,
        "name": f"{gemm}, {schedule}, by {by}",
        "node": node,
        "tasks": {"gather": gather, "gemm": {"kind": "gemm", "after": ["gather"], **shape}},
        "host": {"release": "per_rank" if ahead else "event", "loop": loop},
    }
    return plain | ({} if given is None else {"schedule": given})


def records(plan: dict[str, Any], lines: list[dict[str, Any]], node: str) -> Iterator[Any]:
    """A record for each line that pieces.py has written."""
    for line in lines:
        conditions = workload(plan, line["gemm"], line["schedule"], line["by"], node)
        yield turns_record(conditions, line["turns_s"], "h200_pieces", SOURCE)


def turns_record(
    conditions: dict[str, Any], turns_s: list[float], suite: str, source: str
) -> dict[str, Any]:
    """A record of *turns_s* [s] under *conditions*, which name their node."""
    node, turns = conditions["node"], [round(1e6 * each, 3) for each in turns_s]
    return {
        "schema": 1,
        "id": record_id(node, conditions, "as_written", SOFTWARE),
        "suite": suite,
        "node": node,
        "workload": conditions,
        "strategy": "as_written",
        "measured": {"wall_us": round(median(turns), 3)},
        "samples": len(turns),
        "source": source,
        "software": SOFTWARE,
        "role": "validation",
        "date": DATE,
        "sets": {"wall": {"times_us": turns}},
    }


def main(plan_file: str, measured: str, node: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    texts = Path(measured).read_text(encoding="utf-8").splitlines()
    for record in records(plan, [json.loads(text) for text in texts], node):
        print(json.dumps(record))


if __name__ == "__main__":
    main(*sys.argv[1:])

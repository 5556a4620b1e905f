"""Turns what stress.py measured into records: ``python -m ... stress_records FOLDER NODE > FILE``.

Of several ranks a record has the slowest. Times of GEMMs after a pause are those of the second to
eighth, in a loop at the power limit of the last eight.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from c3sim.spec.record import record_id

SOFTWARE = "PyTorch 2.11.0, CUDA 13.0"
SOURCE = "validation/frameworks/stress.py, two NVIDIA H200 of one host in a virtual machine"
DATE = "2026-11-22"
HOLD_TIME = 12e-3
LOOPED = 400  # turns of GEMMs before those that are taken to be at the power limit


def main(folder: str, node: str) -> None:
    tables = {
        name: [json.loads(file.read_text()) for file in sorted(Path(folder).glob(f"{name}.*"))]
        for name in ("gemm_beside_holds", "streams", "clock")
    }
    for record in (
        *_holds(node, tables["gemm_beside_holds"]),
        *_streams(node, tables["streams"]),
        *_clock(node, tables["clock"]),
    ):
        print(json.dumps(record))


def _record(
    node: str, suite: str, role: str, workload: dict[str, Any], measured: dict[str, Any]
) -> dict[str, Any]:
    conditions = {"schema": 1, "node": node, **workload}
    return {
        "schema": 1,
        "id": record_id(node, conditions, "as_written", SOFTWARE),
        "suite": suite,
        "node": node,
        "workload": conditions,
        "strategy": "as_written",
        "measured": measured,
        "source": SOURCE,
        "software": SOFTWARE,
        "role": role,
        "date": DATE,
    }


def _gemm(m: int, n: int, k: int, data: str) -> dict[str, Any]:
    return {"kind": "gemm", "m": m, "n": n, "k": k, "data": data}


def _holds(node: str, ranks: list[Any]) -> Iterator[dict[str, Any]]:
    rows: dict[tuple[Any, ...], float] = {}
    for row in (row for rank in ranks for row in rank):
        key = (*row["gemm"], row["data"], row["held"])
        rows[key] = max(rows.get(key, 0.0), median(row["us"][1:]))
    for (m, n, k, data, held), time in rows.items():
        if not held:
            continue
        hold = {"kind": "hold", "workgroups": held, "time": HOLD_TIME}
        name = f"{m}x{n}x{k} of {data} data beside {held} held SMs"
        workload = {
            "name": name,
            "tasks": {"hold": hold, "gemm": _gemm(m, n, k, data)},
            "host": {"order": ["hold", "gemm"]},
        }
        isolated = {"gemm": rows[m, n, k, data, 0]}
        measured = {"tasks": {"gemm": {"time_us": time}}, "isolated": isolated}
        yield _record(node, "h200_gemm_beside_holds", "validation", workload, measured)


def _streams(node: str, ranks: list[Any]) -> Iterator[dict[str, Any]]:
    for rows in zip(*ranks, strict=True):
        row = rows[0]
        if row["pattern"] not in ("copy", "triad", "write"):
            continue  # a sum writes as well; a call of the runtime is a copy
        stream = {
            "kind": "stream",
            "pattern": row["pattern"],
            "bytes": row["kib"] * 1024,
            "repeat": 40,
            "inputs": "warm",
        }
        name = f"{row['pattern']} of {row['kib']} KiB, 40 in a queue"
        measured = {"isolated": {"stream": max(40 * median(each["us"]) for each in rows)}}
        workload = {"name": name, "tasks": {"stream": stream}}
        yield _record(node, "h200_streams_in_loops", "validation", workload, measured)


def _clock(node: str, ranks: list[Any]) -> Iterator[dict[str, Any]]:
    for rows in zip(*ranks, strict=True):
        row = rows[0]
        n, data, before = row["n"], row["data"], row["before"]
        if data == "pattern" or before not in ("idle", "gemm16384"):
            continue
        task = {"gemm": _gemm(n, n, n, data)}
        if before == "idle":
            time = max(median(each["gemm_us"][1:8]) for each in rows)
            workload = {"name": f"{n}^3 of {data} data after a pause", "tasks": task}
            loop = {"iterations": 2, "barrier": True}
        else:
            time = max(median(each["gemm_us"][-8:]) for each in rows)
            workload = {"name": f"{n}^3 of {data} data at the power limit", "tasks": task}
            loop = {"iterations": LOOPED, "barrier": True}
        workload["host"] = {"loop": loop}
        measured = {"isolated": {"gemm": time}}
        yield _record(node, "h200_clock", "calibration", workload, measured)


if __name__ == "__main__":
    main(*sys.argv[1:])

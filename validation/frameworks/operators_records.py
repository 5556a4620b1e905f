"""The cases of operators.py as workloads, and what it measured as records:

python -m c3sim.validation.frameworks.operators_records PLAN.yaml operators.jsonl NODE > FILE

What PyTorch's operators do is read from their source, torch/distributed/_symmetric_memory of 2.11.

all-gather      barrier, own shard into the shared buffer, barrier; the own rows' GEMM on the
                caller's stream; each other shard is copied from its GPU, then its rows' GEMM, on
                two streams in turn; the own shard is copied into the gathered operand; barrier
reduce-scatter  barrier; each other rank's rows' GEMM, a barrier, a copy of the peer's part, a
                barrier, on two streams in turn; the own rows' GEMM, on two GPUs behind a kernel
                that sleeps; barrier; a sum of the parts
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from c3sim.specs.record import record_id

SOFTWARE = "PyTorch 2.11.0, NCCL 2.28.9, CUDA 13.0"
SOURCE = "validation/frameworks/operators.py, two NVIDIA H200 of one host in a virtual machine"
DATE = "2026-11-23"
ELEMENT = 2  # bytes of bf16
#: Seconds per number that torch.sum over the first of two dimensions writes, two parts: 147.9 us
#: for 6144 x 6144, a profiler's trace of an operator of another size.
SUM_TIME = 147.9e-6 / 6144**2
#: One warp, without shared memory: it fits beside any GEMM.
ONE_WARP: dict[str, Any] = {"kind": "kernel", "workgroups": 1, "per_unit": 64, "lds": 0}
BARRIER = {**ONE_WARP, "time": 4.2e-6}  # of the GPUs; in the same trace
#: torch.cuda._sleep(100): it ends 7.1 us after the barrier before it, in the same trace, which is
#: 5.1 us and a gap; the GEMM of the other stream has begun by then.
SLEEP = {**ONE_WARP, "time": 5.1e-6}
GAP = 2e-6  # seconds from one kernel of a stream to the next, in the same traces
FLOW = ("main", "side")  # streams, of even and odd steps


class Operator:
    """The tasks of one operator, each behind the one before it on its stream."""

    def __init__(self, ranks: int, shape: dict[str, int]):
        self.ranks, self.shape = ranks, shape
        self.rows = shape["m"] // ranks
        self.tasks: dict[str, dict[str, Any]] = {}

    def add(self, name: str, stream: str, task: dict[str, Any], *after: str) -> None:
        self.tasks[name] = {**task, "stream": stream, "after": list(after)}

    def gemm(self, name: str, stream: str, *after: str) -> None:
        shape = {"kind": "gemm", **self.shape, "m": self.rows}
        self.add(name, stream, shape, *after)

    def copy(self, name: str, stream: str, size: float, peer: int | None, *after: str) -> None:
        """From the GPU *peer* further round by an engine; None: on the GPU itself, by a kernel."""
        own = {"source": "gpu", "executor": "kernel"}
        other = {"source": "peer", "peer": peer, "executor": "dma", "mapping": "ipc"}
        how = own if peer is None else other
        task = {"kind": "copy", "bytes": size, "destination": "gpu", "gpus": "all", **how}
        self.add(name, stream, task, *after)

    def all_gather(self) -> None:
        shard = self.rows * self.shape["k"] * ELEMENT
        self.add("begin", "main", BARRIER)
        self.copy("shared", "main", shard, None)
        self.add("ready", "main", BARRIER)
        self.gemm("gemm-0", "main")
        last = "ready"
        for step in range(1, self.ranks):
            stream = FLOW[step % 2]
            self.copy(f"copy-{step}", stream, shard, step, *(["ready"] if step == 1 else []))
            self.gemm(f"gemm-{step}", stream)
            last = f"gemm-{step}" if stream == "side" else last
        keeps = FLOW[self.ranks % 2]
        self.copy("gathered", keeps, shard, None)
        self.add("end", "main", BARRIER, last if keeps == "main" else "gathered")

    def reduce_scatter(self) -> None:
        part = self.rows * self.shape["n"] * ELEMENT
        self.add("begin", "main", BARRIER)
        last = ""
        for step in range(1, self.ranks):
            stream = FLOW[step % 2]
            self.gemm(f"gemm-{step}", stream, *(["begin"] if step == 1 else []))
            self.add(f"made-{step}", stream, BARRIER)
            self.copy(f"copy-{step}", stream, part, self.ranks - step)
            self.add(f"read-{step}", stream, BARRIER)
            last = f"read-{step}" if stream == "side" else last
        if self.ranks == 2:
            self.add("sleep", "main", SLEEP)  # so that the other GEMM comes first
        self.gemm("gemm-0", "main")
        self.add("end", "main", BARRIER, last)
        numbers = self.rows * self.shape["n"]
        time = SUM_TIME * numbers * (self.ranks + 1) / 3
        moved = {"read": part * self.ranks, "written": part, "time": time}
        self.add("sum", "main", {"kind": "kernel", **moved})


def workload(plan: dict[str, Any], op: str, gemm: str, way: str, node: str) -> dict[str, Any]:
    """One case in SI units, behind a barrier of the GPUs, in a loop; the host is far ahead."""
    shape, ranks = plan["gemms"][op][gemm], int(node.rsplit("-", 1)[1])
    if way == "operator":
        operator = Operator(ranks, shape)
        getattr(operator, op)()
        tasks = operator.tasks
    else:
        moved = shape["m"] * shape["k" if op == "all_gather" else "n"] * ELEMENT
        exchange = {"kind": "collective", "op": op, "size": moved, "backend": "nccl"}
        both = {"exchange": exchange, "gemm": {"kind": "gemm", **shape}}
        first, second = ("exchange", "gemm") if op == "all_gather" else ("gemm", "exchange")
        tasks = {first: both[first], second: {**both[second], "after": [first]}}
    host: dict[str, Any] = {"release": "event"}
    if way == "operator":
        host = {"release": "per_rank", "kernel_gap": GAP}
    return {
        "schema": 1,
        "name": f"{op}, {gemm}, {way}",
        "node": node,
        "tasks": tasks,
        "host": {**host, "loop": {"iterations": plan["turns"], "begin": "release"}},
    }


def records(plan: dict[str, Any], lines: list[dict[str, Any]], node: str) -> Iterator[Any]:
    """A record for each line that operators.py has written."""
    for line in lines:
        case = {key: line[key] for key in ("op", "gemm", "way")}
        conditions = workload(plan, **case, node=node)
        turns = [round(1e6 * each, 3) for each in line["turns_s"]]
        yield {
            "schema": 1,
            "id": record_id(node, conditions, "as_written", SOFTWARE),
            "suite": "h200_operators",
            "node": node,
            "workload": conditions,
            "strategy": "as_written",
            "measured": {"wall_us": round(median(turns), 3)},
            "samples": len(turns),
            "source": SOURCE,
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

"""Predict rows of validation/frameworks/kernels.py, or the pairs of a plan of beside.py there: one
JSON line for each.

    python tools/predict_kernels.py ROWS.jsonl NODE [--compare]
    python tools/predict_kernels.py validation/frameworks/beside-blind.yaml NODE

ROWS says what each row is (its ``us`` are read with --compare alone). A call is predicted as the
driver times it: CALLS of it in one stream, each behind the one before, all launched ahead.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import yaml

import c3sim
from c3sim.iterations.load import Load
from c3sim.iterations.one_token import sums_of_parts
from c3sim.iterations.operators import LIST_CHUNK, OperatorSet
from c3sim.iterations.steps import Op
from c3sim.spec.hardware import Gpu
from c3sim.spec.workload import Workload

CALLS = 16
MIB = 1 << 20
#: FLOP of a compute unit in a cycle, in which it looks up one line of L1: the lanes of a transpose
#: read a line each (counters of one H200: 2 GB of L2 reads for 134 MB).
LOOKED_UP = 256.0
#: Loads in whose time the last workgroup of a sum of all numbers counts, reads what the others left
#: and exchanges it within itself: sums of 2 to 64 MiB, validation/data/kernels/h100-kernels, h200.
SUM_LOADS = 5
#: Numbers that a workgroup of a kernel over lists loads at once, before it loads the next ones:
#: four for each of 512 threads (PyTorch: MultiTensorApply.cuh, kILP and BLOCK_SIZE).
LIST_STEP = 2048
#: Tensors that it reads and writes.
MOVED = {"add": (2, 1), "neg": (1, 1), "fill": (0, 1), "sum": (1, 0), "cast": (1, 0.5)}
#: Of each row what tells it from others.
SAID = ("operator", "mib", "rows", "width", "batch", "tokens", "groups", "heads", "causal")
SAID += ("tensors", "numbers", "m", "n", "k", "dtype", "out_dtype", "buffers")
SAID += ("experts", "skew", "count", "each", "value")


def ops(gpu: Gpu, row: dict[str, Any]) -> list[Op]:
    """Kernels of a *row*, as iterations describe them."""
    dtype = row.get("dtype", "bf16")
    o = OperatorSet.on(gpu, dtype, rms=row["operator"] == "rms-norm")
    name = row["operator"]
    if name in PARTS:
        return PARTS[name](o, row)
    if "mib" in row:
        return [_elementwise(o, name, row["mib"] * MIB / 2)]
    if name == "gemm":
        op = o.gemm("gemm", row["m"], row["n"], row["k"])
        said = {"inputs": "warm"} if row["buffers"] == "warm" else {}
        said |= {"out_dtype": row["out_dtype"]} if "out_dtype" in row else {}
        return [Op(op.name, op.task.changed(**said), op.operator)]
    if name == "attention-of-one":
        b, g, h = row["batch"], row["groups"], row["heads"]
        op = o.attention("a", b, 1, h, g, 128, causal=True, context=row["tokens"] - 1)
        return [op, *sums_of_parts(o, "s", b, g, h, 128)]
    if name == "attention":
        b, t, h, d = row["batch"], row["tokens"], row["heads"], row["width"]
        return [o.attention("a", b, t, h, h, d, causal=row["causal"])]
    if "tensors" in row:
        return [_lists(o, name, float(row["tensors"] * row["numbers"]))]
    rows, width = row["rows"], row["width"]
    if name in ("rms-norm", "layer-norm"):
        return [o.normalisation(name, rows, width)]
    if name == "layer-norm-input":
        return [o.normalisation_backward("n", rows, width, 0)[0]]
    if name == "log-softmax-fp32":
        return [o.softmax("s", rows, width)]
    if name in ("softmax", "log-softmax"):
        return [o.over_rows("s", rows, width, 2, 1, 1, log=name == "log-softmax")]
    if name in ("softmax-input", "log-softmax-input"):
        product = [o.elementwise("p", rows * width, 2, 1)] if name == "softmax-input" else []
        return [*product, o.over_rows("s", rows, width, 2, 2, 1, backward=True)]
    if name == "embedding":
        return [o.gather("g", rows, width)]
    if name == "column-sum":
        return o.column_sum("c", rows, width)
    return []


def _grouped(o: OperatorSet, row: dict[str, Any]) -> list[Op]:
    m, n, k, experts = (row[key] for key in ("m", "n", "k", "experts"))
    loads = Load(row["skew"], 1).fullest(experts * m, experts, 1)
    return [o.grouped("g", -(-sum(loads) // len(loads)) if loads else m, n, k, experts, loads)]


def _total(o: OperatorSet, row: dict[str, Any]) -> list[Op]:
    op = _elementwise(o, "sum", row["mib"] * MIB / 2)
    last = op.task.changed(closing_loads=SUM_LOADS)
    return [o.cleared("sum"), replace(op, task=last)]


def _wide(o: OperatorSet, row: dict[str, Any], *ways: bool) -> list[Op]:
    b, t, h = (row[key] for key in ("batch", "tokens", "heads"))
    how: dict[str, Any] = {"value": row["value"], "causal": True}
    return [o.attention("a", b, t, h, h, row["width"], **how, backward=way) for way in ways]


#: Parts of layers (validation/frameworks/parts.py).
PARTS: dict[str, Callable[[OperatorSet, dict[str, Any]], list[Op]]] = {
    "sum": _total,
    "grouped": _grouped,
    "grouped-weight": lambda o, r: [o.grouped("g", r["n"], r["k"], r["m"], r["experts"])],
    "top-k": lambda o, r: o.top_k("t", r["rows"], r["width"], r["k"]),
    "scores": lambda o, r: [o.softmax("s", r["rows"], r["width"])],
    "sort": lambda o, r: o.sort("s", r["count"]),
    "count": lambda o, r: [o.elementwise(c, r["count"], 1, 0, element=8) for c in "zc"],
    "permute": lambda o, r: [o.permute("p", r["rows"], r["each"], r["width"])],
    "unpermute": lambda o, r: [o.scatter("u", r["rows"] * r["each"], r["width"])],
    "by-heads": lambda o, r: [o.gemm("h", r["m"], r["n"], r["k"], r["batch"])],
    "wide": lambda o, r: _wide(o, r, False),
    "wide-both": lambda o, r: _wide(o, r, False, True),
}


def _lists(o: OperatorSet, name: str, n: float) -> Op:
    read, written = {"adamw-fused": (8, 6), "foreach-copy": (2, 2), "foreach-add": (4, 2)}[name]
    op = o.over_lists("l", n, read, written)
    if name == "adamw-fused":
        return op
    one = o.over_lists("l", n / op.launches, read, written).task  # as others come in between
    chain = {"dependent_loads": 1 + LIST_CHUNK // LIST_STEP, "repeat": op.launches}
    return replace(op, task=one.changed(**chain, stream_efficiency=o.parts.contiguous))


def _elementwise(o: OperatorSet, name: str, n: float) -> Op:
    parts = o.parts
    if name == "silu-strided":
        return o.elementwise(name, n / 2, 1, 1, strided=True, flops=parts.activation_flops)
    if name in ("transpose", "heads"):
        apart = o.parts.strided_flops + LOOKED_UP if name == "transpose" else 0.0
        return o.elementwise(name, n, 1, 1, strided=True, flops=apart)
    if name == "gelu":
        return o.elementwise(name, n, 1, 1, flops=parts.activation_flops)
    if name == "silu":
        return o.elementwise(name, n, 1, 1, flops=parts.silu_flops or parts.activation_flops)
    if name == "dropout":
        return o.dropout(name, n, 1, 1.5)
    read, written = MOVED[name]
    return o.elementwise(name, n, read, written)


def predicted(node: Any, row: dict[str, Any]) -> float | None:
    """Us of a call; None: nothing describes it."""
    kernels = ops(node.gpu, row)
    if not kernels:
        return None
    tasks, calls = {}, CALLS
    if row["buffers"] == "warm":  # the same task over and over finds what it left
        calls = 1
        kernels = [replace(op, task=op.task.changed(repeat=CALLS)) for op in kernels]
    for call in range(calls):
        for number, op in enumerate(kernels):
            tasks[f"k{call}-{number}"] = op.task.changed(stream="s")
    said = {
        name: {**task.model_dump(mode="json", exclude_defaults=True), "kind": task.kind}
        for name, task in tasks.items()
    }
    named = {"schema": 1, "name": "kernels", "host": {"launch": "graph"}}
    workload = Workload.model_validate({**named, "tasks": said})
    return 1e6 * c3sim.run(workload, node=node).wall_s / CALLS


#: A kernel of one thread that sleeps: it has room beside any other.
LATE = {"kind": "kernel", "workgroups": 1, "per_unit": 64, "lds": 0}


def kernels(gpu: Gpu, task: dict[str, Any]) -> list[dict[str, Any]]:
    """Tasks of one call of *task*."""
    kind = task["kind"]
    if kind == "stream":
        said = {"pattern": task["pattern"], "bytes": task["mib"] * MIB, "lds": 0.0}
        return [{"kind": "stream", **said, "workgroups": task["workgroups"]}]
    if kind == "copy":
        to = task.get("to", "gpu" if task["from"] == "host" else "host")
        ends = {"source": task["from"], "destination": to}
        return [{"kind": "copy", "bytes": task["mib"] * MIB, **ends}]
    row = {"operator": kind, "buffers": "rotating", "dtype": "bf16", "width": 128, **task}
    if kind == "attention":
        row["causal"] = True
    found = [op.task for op in ops(gpu, row)]
    return [{**t.model_dump(mode="json", exclude_defaults=True), "kind": t.kind} for t in found]


def pair(gpu: Gpu, plan: dict[str, Any], names: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The workload of a case, and the last task of each call."""
    tasks: dict[str, Any] = {}
    last, streams = [], {}
    for stream, name in enumerate(names):
        streams[f"s{stream}"] = {"priority": plan["tasks"][name].get("priority", 0)}
        if stream:
            late = {**LATE, "time": 1e-6 * plan["later_us"], "stream": "s1"}
            tasks["late"] = late
        for number, task in enumerate(kernels(gpu, plan["tasks"][name])):
            tasks[f"{name}-{number}"] = {**task, "stream": f"s{stream}"}
        last.append(list(tasks)[-1])
    return {"schema": 1, "name": "+".join(names), "streams": streams, "tasks": tasks}, last


def pairs(plan: dict[str, Any], node: Any) -> None:
    cases = [[name] for name in plan["tasks"]]
    cases += [list(order) for each in plan["pairs"] for order in (each, each[::-1])]
    for names in cases:
        said, last = pair(node.gpu, plan, names)
        result = c3sim.run(Workload.model_validate(said), node=node)
        ends = {name: result.tasks[task].end_s for name, task in zip(names, last, strict=True)}
        us = {name: round(1e6 * end, 2) for name, end in ends.items()}
        line = {"node": node.name, "tasks": names, "us": us, "wall_us": round(max(us.values()), 2)}
        print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("node")
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args()
    node = c3sim.load_hardware(given.node).node
    if given.rows.suffix == ".yaml":
        pairs(yaml.safe_load(given.rows.read_text(encoding="utf-8")), node)
        return
    for line in given.rows.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "error" in row:
            continue
        us = predicted(node, row)
        said = {key: row[key] for key in SAID if key in row}
        out = {**said, "us": us}
        if given.compare and us is not None:
            measured = median(row["us"])
            out |= {"measured": measured, "error": us / measured - 1}
        print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()

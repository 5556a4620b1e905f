"""Kernels of one GPU, each by itself: what limits an operator shows in its time over sizes.

    python -m validation.frameworks.kernels PLAN.yaml OUT.jsonl

A row is one call, captured in a CUDA graph over and over, each behind the one before. Calls take
turns on sets of buffers that together are several times the last cache (``rotating``), or all use
one set (``warm``). ``us`` is the time of the graph by the number of its calls, of each repeat.
``kernels`` is what the profiler shows of one replay, for one row of each operator.

Plans name sizes. Every row says what it is in words of its own operator: rows, width, bytes. It
needs PyTorch and a GPU, and nothing of c3sim.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import yaml
from torch import Tensor

from .plan import write_line
from .timing import BF16, FP32, MIB, Call, span

Plan = dict[str, Any]
ROTATED = 256 * MIB  # bytes of all sets: several times the last cache
SPENT, MOST_CALLS, REPEATS = 4000.0, 200, 7  # us of a graph, its calls, replays that count


@dataclass
class Row:
    """One operator at one size. *make* gives a call on buffers of its own; *bytes*: of those."""

    operator: str
    about: dict[str, Any]
    bytes: float
    make: Callable[[], Call]
    buffers: str = "rotating"


def numbers(*shape: int, **kind: Any) -> Tensor:
    made = torch.empty(*shape, **(kind or BF16))
    return made.normal_()


def summed(n: int) -> Call:
    x, y = numbers(n // 2, **FP32), torch.empty((), **FP32)
    return lambda: torch.sum(x, 0, out=y)


def signed(n: int) -> Call:
    x, y = numbers(n), torch.empty(n, **BF16)
    return lambda: torch.neg(x, out=y)


def added(n: int) -> Call:
    x, y, z = numbers(n), numbers(n), torch.empty(n, **BF16)
    return lambda: torch.add(x, y, out=z)


def filled(n: int) -> Call:
    y = torch.empty(n, **BF16)
    return lambda: y.fill_(1.0)


def over(call: Callable[[Tensor], Any], *width: int, **kind: Any) -> Callable[[int], Call]:
    """*call* on a tensor of rows of *width*; it makes its own result."""

    def make(n: int) -> Call:
        count = n // (2 if kind else 1)
        for each in width:
            count //= each
        x = numbers(count, *width, **kind)
        return lambda: call(x)

    return make


#: Operator -> MiB of all tensors, of one MiB; a call on so many numbers of two bytes.
ELEMENTWISE: dict[str, tuple[float, Callable[[int], Call]]] = {
    "add": (3, added),
    "neg": (2, signed),
    "fill": (1, filled),
    "sum": (1, summed),
    "silu": (2, over(F.silu)),
    "gelu": (2, over(F.gelu)),
    "silu-strided": (1.5, over(lambda x: F.silu(x[:, :4096]), 8192)),
    "transpose": (2, over(lambda x: x.t().contiguous(), 4096)),
    "heads": (2, over(lambda x: x.transpose(0, 1).contiguous(), 32, 128)),
    "cast": (1.5, over(lambda x: x.to(torch.bfloat16), **FP32)),
    "dropout": (2.5, over(lambda x: torch.native_dropout(x, 0.1, True))),
}


def elementwise(plan: Plan) -> Iterator[Row]:
    """Chains over whole tensors of so many MiB."""
    for mib, (name, (arrays, make)) in product(plan["mib"], ELEMENTWISE.items()):
        yield Row(name, {"mib": mib}, arrays * mib * MIB, partial(make, mib * MIB // 2))


def rms(rows: int, width: int) -> Call:
    x, w = numbers(rows, width), numbers(width)
    return lambda: F.rms_norm(x, (width,), w)


def layer(rows: int, width: int) -> Call:
    x, w, b = numbers(rows, width), numbers(width), numbers(width)
    return lambda: F.layer_norm(x, (width,), w, b)


def layer_input(rows: int, width: int) -> Call:
    """Gradient of a layer norm's input."""
    x, g, w = numbers(rows, width), numbers(rows, width), numbers(width)
    _, mean, rstd = torch.native_layer_norm(x, (width,), w, w, 1e-5)
    wanted, step = [True, False, False], torch.ops.aten.native_layer_norm_backward
    return lambda: step(g, x, (width,), mean, rstd, w, w, wanted)


def log_softmax(rows: int, width: int) -> Call:
    x = numbers(rows, width, **FP32)
    return lambda: F.log_softmax(x, -1)


def softmax(rows: int, width: int) -> Call:
    x = numbers(rows, width)
    return lambda: F.softmax(x, -1)


def log_softmax_16(rows: int, width: int) -> Call:
    x = numbers(rows, width)
    return lambda: F.log_softmax(x, -1)


def softmax_input(rows: int, width: int) -> Call:
    """Gradient of a softmax's input."""
    y, g = F.softmax(numbers(rows, width), -1), numbers(rows, width)
    step = torch.ops.aten._softmax_backward_data
    return lambda: step(g, y, -1, y.dtype)


def log_softmax_input(rows: int, width: int) -> Call:
    """Gradient of a log-softmax's input."""
    y, g = F.log_softmax(numbers(rows, width), -1), numbers(rows, width)
    step = torch.ops.aten._log_softmax_backward_data
    return lambda: step(g, y, -1, y.dtype)


def gathered(rows: int, width: int) -> Call:
    table = numbers(65536, width)
    index = torch.randint(0, 65536, (rows,), device="cuda")
    return lambda: F.embedding(index, table)


def column_sum(rows: int, width: int) -> Call:
    x = numbers(rows, width)
    return lambda: x.sum(0)


#: Operators of each list of rows and widths, with the bytes of a number that they move.
OF_ROWS: dict[str, dict[str, tuple[int, Callable[[int, int], Call]]]] = {
    "norms": {"rms-norm": (4, rms), "layer-norm": (4, layer), "layer-norm-input": (6, layer_input)},
    "softmax": {"log-softmax-fp32": (8, log_softmax), "softmax": (4, softmax)},
    "more_softmax": {
        "log-softmax": (4, log_softmax_16),
        "softmax-input": (6, softmax_input),
        "log-softmax-input": (6, log_softmax_input),
    },
    "gathered": {"embedding": (4, gathered), "column-sum": (2, column_sum)},
}


def rows_of_numbers(plan: Plan) -> Iterator[Row]:
    """Norms, softmax, rows of a table."""
    norms = product(plan["norm_widths"], plan["norm_rows"])
    sizes = {**plan, "norms": [(r, w) for w, r in norms if r * w * 2 <= 512 * MIB]}
    for group, operators in OF_ROWS.items():
        for (rows, width), (name, (moved, make)) in product(
            sizes.get(group, ()), operators.items()
        ):
            about = {"rows": rows, "width": width}
            yield Row(name, about, moved * rows * width, partial(make, rows, width))


def attention_of_one(batch: int, tokens: int, groups: int, heads: int) -> Call:
    q = numbers(batch, heads, 1, 128)
    k, v = numbers(batch, groups, tokens, 128), numbers(batch, groups, tokens, 128)
    return lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def attention(plan: Plan) -> Iterator[Row]:
    """Attention of one new token, and over whole sequences."""
    for batch, tokens, groups, heads in plan["decoding"]:
        about = {"batch": batch, "tokens": tokens, "groups": groups, "heads": heads}
        make = partial(attention_of_one, batch, tokens, groups, heads)
        yield Row("attention-of-one", about, 4.0 * batch * tokens * groups * 128, make)
    for batch, tokens, heads, width, causal in plan["attention"]:

        def whole(
            b: int = batch, t: int = tokens, h: int = heads, d: int = width, causal: bool = causal
        ) -> Call:
            q, k, v = (numbers(b, h, t, d) for _ in range(3))
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)

        about = {"batch": batch, "tokens": tokens, "heads": heads, "width": width, "causal": causal}
        yield Row("attention", about, 8.0 * batch * tokens * heads * width, whole)


def lists(plan: Plan) -> Iterator[Row]:
    """Kernels over lists of tensors of 4 Mi numbers."""
    for tensors in plan["tensors"]:
        count = 4 * MIB

        def adamw(tensors: int = tensors, count: int = count) -> Call:
            w, g, m, v = ([numbers(count) for _ in range(tensors)] for _ in range(4))
            steps = [torch.ones((), **FP32) for _ in range(tensors)]
            for each in v:
                each.abs_()
            return lambda: torch._fused_adamw_(
                w,
                g,
                m,
                v,
                [],
                steps,
                lr=1e-6,
                beta1=0.9,
                beta2=0.999,
                weight_decay=0.01,
                eps=1e-8,
                amsgrad=False,
                maximize=False,
            )

        def copies(tensors: int = tensors, count: int = count) -> Call:
            w, g = ([numbers(count) for _ in range(tensors)] for _ in range(2))
            return lambda: torch._foreach_copy_(w, g)

        def foreach(tensors: int = tensors, count: int = count) -> Call:
            w, g = ([numbers(count) for _ in range(tensors)] for _ in range(2))
            return lambda: torch._foreach_add_(w, g, alpha=1e-3)

        about = {"tensors": tensors, "numbers": count}
        yield Row("adamw-fused", about, 8.0 * tensors * count, adamw)
        yield Row("foreach-copy", about, 4.0 * tensors * count, copies)
        yield Row("foreach-add", about, 4.0 * tensors * count, foreach)


def gemm(m: int, n: int, k: int, kind: str = "bf16", out: str = "bf16") -> Call:
    result = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[out]
    if kind == "fp8":
        a = numbers(m, k).to(torch.float8_e4m3fn)
        b = numbers(n, k).to(torch.float8_e4m3fn).t()
        one = torch.ones((), **FP32)
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=result)
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[kind]
    a, w = numbers(m, k).to(dtype), numbers(n, k).to(dtype)
    if out == "fp32":
        return lambda: torch.mm(a, w.t(), out_dtype=result)
    return lambda: F.linear(a, w)


def gemms(plan: Plan) -> Iterator[Row]:
    """Products x[m,k] W[n,k]^T."""

    def row(m: int, n: int, k: int, buffers: str = "rotating", kind: str = "bf16") -> Row:
        size = (m * k + n * k + m * n) * (1 if kind == "fp8" else 2)
        about = {"m": m, "n": n, "k": k, "dtype": kind}
        return Row("gemm", about, size, lambda: gemm(m, n, k, kind), buffers)

    for m, (n, k) in product(plan["few_rows"], plan["weights"]):
        yield row(m, n, k)
    for m, (n, k) in product(plan["warm_rows"], plan["warm_weights"]):
        yield row(m, n, k, "warm")
    for m, n, k in plan["gemms"]:
        yield row(m, n, k)
    for kind, (m, n, k) in product(("fp8", "fp16"), plan["other_types"]):
        yield row(m, n, k, kind=kind)
    yield from results(plan)


def results(plan: Plan) -> Iterator[Row]:
    """Products that differ in the type of operands and of results."""
    for (m, n, k), kind, out in product(plan.get("results", []), ("bf16", "fp8"), ("bf16", "fp32")):
        element, result = (1 if kind == "fp8" else 2), (4 if out == "fp32" else 2)
        size = (m * k + n * k) * element + m * n * result
        about = {"m": m, "n": n, "k": k, "dtype": kind, "out_dtype": out}
        yield Row("gemm", about, size, partial(gemm, m, n, k, kind, out))


Group = Callable[[Plan], Iterator[Row]]
GROUPS: tuple[Group, ...] = (elementwise, rows_of_numbers, attention, lists, gemms)


def captured(calls: list[Call], sets: int) -> torch.cuda.CUDAGraph:
    """*calls* in a graph; results of so many *sets* are kept, so that they take turns as well."""
    results: list[Any] = [None] * sets
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls[:2]:
            call()
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for number, call in enumerate(calls):
            results[number % sets] = call()
    return graph


def measured(row: Row) -> dict[str, Any]:
    sets = 1 if row.buffers == "warm" else min(64, max(2, -(-ROTATED // int(row.bytes))))
    with torch.no_grad():
        made = [row.make() for _ in range(sets)]
        graph = captured(made, sets)
        span(graph.replay)
        once = span(graph.replay) / sets
        calls = int(min(MOST_CALLS, max(sets, SPENT / once)))
        calls += -calls % sets
        graph = captured([made[i % sets] for i in range(calls)], sets)
        for _ in range(2):
            span(graph.replay)
        times = [round(span(graph.replay) / calls, 3) for _ in range(REPEATS)]
    return {"sets": sets, "calls": calls, "us": times}


def shown(row: Row) -> list[dict[str, Any]]:
    from torch.profiler import ProfilerActivity, profile

    with torch.no_grad():
        call = row.make()
        call()
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            call()
            torch.cuda.synchronize()
    found = [each for each in profiler.events() if each.device_type.name == "CUDA"]
    return [
        {"name": e.name[:120], "us": round(e.time_range.end - e.time_range.start, 2)} for e in found
    ]


def fill(line: dict[str, Any], row: Row, seen: set[str]) -> None:
    """Put times into *line*, and kernels where they were not *seen*."""
    line |= measured(row)
    if row.operator not in seen and row.operator != "gemm":
        seen.add(row.operator)
        line["kernels"] = shown(row)


def main(plan_file: str, out: str, groups: tuple[Group, ...] = GROUPS) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    torch.manual_seed(1)
    seen: set[str] = set()
    about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    with Path(out).open("a", encoding="utf-8") as file:
        for group in groups:
            began = time.monotonic()
            for row in group(plan):
                time.sleep(plan.get("pause", 0.0))  # the power limit acts on an average
                line = {"operator": row.operator, **row.about, "buffers": row.buffers, **about}
                write_line(file, line, partial(fill, row=row, seen=seen))
                torch.cuda.empty_cache()
            print(f"{group.__name__}: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

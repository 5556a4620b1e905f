"""Short kernels, each by itself, as decoding has them: chains of one kernel in a CUDA graph.

    python -m validation.frameworks.short --out FOLDER

A chain is one call over and over in one graph, each behind the one before: matrix products of few
rows and attention of one token (over weights and keys that the caches do not hold), norms,
element-wise kernels, copies into a cache, all-reduces of all ranks; and norms with a sum behind,
for the step from one kernel to another. One line of JSON per chain goes to ``short.rankR.jsonl``:
microseconds of a call by the time of the whole graph, and what the profiler shows of one replay:
names of kernels, their time, the pause before each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

from .iterations import replayed
from .plan import write_line
from .ranks import command_line, joined, start
from .timing import BF16, Call, span

CALLS, REPEATS, WARM_UP = 24, 7, 3
KEPT = 128 << 20  # bytes of weights or keys that a chain goes over: more than the last cache holds
ROWS = (8, 32, 96, 384)
#: Columns and depth of the products of layers that two GPUs share.
PRODUCTS = {
    "70b-query": (4096, 8192),
    "70b-key": (512, 8192),
    "70b-output": (8192, 4096),
    "70b-up": (14336, 8192),
    "70b-down": (8192, 14336),
    "8b-query": (2048, 4096),
    "8b-key": (512, 4096),
    "8b-output": (4096, 2048),
    "8b-up": (7168, 4096),
    "8b-down": (4096, 7168),
}
#: Sequences, tokens, groups of keys, heads, of attention of one token.
CACHES = ((8, 1024, 4, 16), (32, 2048, 4, 32), (96, 1024, 4, 16), (16, 4096, 4, 32))
REDUCED_KIB = (16, 64, 128, 256, 384, 512, 768, 1024, 2048, 4096)


def chains() -> Iterator[tuple[str, Callable[[], Call]]]:
    """Names of chains that a rank runs by itself, and what makes a call of each."""
    for name, (columns, depth) in PRODUCTS.items():
        for rows in ROWS:
            yield f"gemm-{name}-{rows}", partial(product, rows, columns, depth)
    for hidden in (4096, 8192):
        for rows in ROWS:
            yield f"norm-{rows}x{hidden}", partial(norm, rows, hidden)
            yield f"add-{rows}x{hidden}", partial(added, rows, hidden)
            yield f"silu-{rows}x{hidden}", partial(plain, F.silu, rows, hidden)
            yield f"norm-add-{rows}x{hidden}", partial(pair, norm, added, rows, hidden)
    for sizes in CACHES:
        yield "attention-" + "x".join(map(str, sizes)), partial(attention, *sizes)
        yield "cache-" + "x".join(map(str, sizes)), partial(cached, *sizes)
    yield "add-one", partial(added, 1, 1)


def product(rows: int, columns: int, depth: int) -> Call:
    x = torch.randn(rows, depth, **BF16)
    copies = max(2, KEPT // (2 * columns * depth))
    weights = cycle([torch.randn(columns, depth, **BF16) for _ in range(copies)])
    return lambda: F.linear(x, next(weights))


def norm(rows: int, hidden: int) -> Call:
    x, made = torch.randn(rows, hidden, **BF16), torch.nn.RMSNorm(hidden, **BF16)
    return lambda: made(x)


def added(rows: int, hidden: int) -> Call:
    x, y = torch.randn(rows, hidden, **BF16), torch.randn(rows, hidden, **BF16)
    return lambda: x + y


def plain(call: Callable[[Any], Any], rows: int, hidden: int) -> Call:
    x = torch.randn(rows, hidden, **BF16)
    return lambda: call(x)


def pair(one: Callable[..., Call], other: Callable[..., Call], rows: int, hidden: int) -> Call:
    first, second = one(rows, hidden), other(rows, hidden)
    return lambda: (first(), second())


def attention(sequences: int, tokens: int, groups: int, heads: int) -> Call:
    q = torch.randn(sequences, heads, 1, 128, **BF16)
    shape = (sequences, groups, tokens, 128)
    copies = max(2, KEPT // (4 * sequences * groups * tokens * 128))
    pairs = [(torch.randn(shape, **BF16), torch.randn(shape, **BF16)) for _ in range(copies)]
    caches = cycle(pairs)
    return lambda: F.scaled_dot_product_attention(q, *next(caches), enable_gqa=True)


def cached(sequences: int, tokens: int, groups: int, _heads: int) -> Call:
    """The new token's keys into the cache."""
    cache = torch.randn(sequences, groups, tokens, 128, **BF16)
    new = torch.randn(sequences, groups, 1, 128, **BF16)

    def once() -> None:
        cache[:, :, -1:] = new

    return once


def reduced(kib: int) -> Call:
    x = torch.randn(kib * 512, **BF16)
    return lambda: dist.all_reduce(x)


def repeated(call: Call) -> Call:
    def once() -> None:
        with torch.no_grad():
            for _ in range(CALLS):
                call()

    return once


def measured(call: Call) -> dict[str, Any]:
    """Us of a call in *call*, a graph of :data:`CALLS`; then the kernels of one replay."""
    times = []
    for number in range(WARM_UP + REPEATS):
        us = span(call)
        if number >= WARM_UP:
            times.append(us / CALLS)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    return {"us": [round(us, 3) for us in times], "kernels": kernels_of(profiler)}


def kernels_of(profiler: Any) -> list[dict[str, Any]]:
    """By name, in order: how many, and medians of their time and of the pause before [us]."""
    events = [each for each in profiler.events() if each.device_type.name == "CUDA"]
    events.sort(key=lambda each: each.time_range.start)
    found: dict[str, list[tuple[float, float]]] = {}
    ended = None
    for each in events:
        begin, end = each.time_range.start, each.time_range.end
        pause = 0.0 if ended is None else begin - ended
        found.setdefault(each.name, []).append((end - begin, pause))
        ended = end
    return [
        {
            "name": name[:120],
            "count": len(times),
            "us": round(median(time for time, _ in times), 3),
            "pause_us": round(median(pause for _, pause in times), 3),
        }
        for name, times in found.items()
    ]


def run_rank(rank: int, ranks: int, out: Path) -> None:
    with joined(rank, ranks) as group:
        torch.manual_seed(1 + rank)
        file = out / f"short.rank{rank}.jsonl"
        for name, make in chains():
            write(file, name, make)
        for kib in REDUCED_KIB:
            dist.barrier(group)
            write(file, f"all_reduce-{kib}", partial(reduced, kib))


def write(file: Path, name: str, make: Callable[[], Call]) -> None:
    """Measure a chain and write its line; one that fails costs no other."""
    with file.open("a") as lines:
        line = {"chain": name, "calls": CALLS}
        write_line(lines, line, lambda line: line.update(measured(replayed(repeated(make())))))
    torch.cuda.empty_cache()


if __name__ == "__main__":
    start(run_rank, command_line(__doc__, "short").parse_args())

"""Products by depth: the time of each kernel of a library, apart from what stands between two.

    python -m validation.frameworks.gemm_depth OUT.jsonl.gz

A call is x[m,k] W[n,k]^T in bf16, over and over in a CUDA graph, each behind the one before.
``us``: time of the graph by the number of its calls, of seven replays. ``kernels``: how many the
profiler shows of each name in one more replay, and the median of their times; ``gap``: median from
the end of one to the start of the next. ``sets``: operands that calls take in turn, 1: warm. It
needs PyTorch and a GPU, and nothing of c3sim.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Any

import torch

from .timing import BF16, Call, launched, span

REPLAYS, MOST = 7, 2**38  # of a graph; products of m, n and k that fit a short run
SQUARES = (2048, 4096, 5120, 6656, 8192, 12288, 16384)
OTHERS = ((1024, 4096), (512, 4096), (512, 1024), (1024, 1024), (2048, 1024))
DEPTHS = (64, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)
ROWS, COLUMNS = (8, 16, 32, 48, 64, 96, 128), (1024, 2048, 4096, 4608, 8448, 16384)
IN_CACHE = 44e6  # bytes of weights that L2 holds


def calls_of(m: int, n: int, k: int, sets: int, *, zeros: bool = False) -> list[Call]:
    """A call on each of so many sets of operands."""
    fill = torch.zeros if zeros else torch.randn

    def one() -> Call:
        x, w, y = fill(m, k, **BF16), fill(n, k, **BF16), torch.empty(m, n, **BF16)
        return lambda: torch.mm(x, w.t(), out=y)

    return [one() for _ in range(sets)]


def measured(calls: list[Call], count: int) -> dict[str, Any]:
    """Times of a graph of so many *calls*, and its kernels."""
    with torch.cuda.stream(torch.cuda.Stream()):
        for call in calls:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for number in range(count):
            calls[number % len(calls)]()
    graph.replay()
    us = []
    for _ in range(REPLAYS):
        us.append(round(span(graph.replay) / count, 3))
    return {"calls": count, "us": us} | kernels_of(graph)


def kernels_of(graph: torch.cuda.CUDAGraph) -> dict[str, Any]:
    """Kernels and memsets of a replay by name, and the gap between them."""
    shown = launched(graph.replay, host=True)
    spans = [(float(each["ts"]), float(each["dur"]), each["name"]) for each in shown]
    times: dict[str, list[float]] = {}
    for _, lasted, name in spans:
        times.setdefault(name[:90], []).append(lasted)
    gaps = [later[0] - start - lasted for (start, lasted, _), later in pairwise(spans)]
    kernels = {name: [len(all_), round(median(all_), 3)] for name, all_ in times.items()}
    return {"kernels": kernels, "gap": round(median(gaps), 3) if gaps else None}


def rows() -> Iterator[dict[str, Any]]:
    """Rows of a shape and its measured times."""
    for m, n in (*((side, side) for side in SQUARES), *OTHERS):
        for k in (depth for depth in DEPTHS if m * n * depth <= MOST):
            for sets in (1, 8) if m * n < 2**26 else (1, 2):
                about = {"what": "depth", "shape": [m, n, k], "sets": sets}
                yield about | measured(calls_of(m, n, k, sets), 16)
    for side in (8192, 16384):
        for k in (64, 128, 256, 512, 1024):
            about = {"what": "zeros", "shape": [side, side, k], "sets": 1}
            yield about | measured(calls_of(side, side, k, 1, zeros=True), 16)
    for m in ROWS:
        for n in COLUMNS:
            for k in (128, 256, 512, 768, 1024, 1280, 2048, 3072, 4096, 8192):
                if 2 * n * k <= IN_CACHE:
                    about = {"what": "few rows", "shape": [m, n, k], "sets": 1}
                    yield about | measured(calls_of(m, n, k, 1), 20)


if __name__ == "__main__":
    with gzip.open(sys.argv[1], "wt", encoding="utf-8") as out:
        for each in rows():
            print(json.dumps(each), file=out, flush=True)

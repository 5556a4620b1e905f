"""Names, grids and shared memory of the kernels that a library of products launches, by shape.

    python -m validation.frameworks.kernel_names SHAPES.json OUT.jsonl.gz

SHAPES: [[m, n, k, "bf16"], ...]. A line says what the profiler shows of a call of x[m,k] W[n,k]^T;
``us`` are the least of three calls, their operands as the caches have them: no isolated times.
``span_us``: from the first kernel's start to the last one's end. It needs PyTorch and a GPU, and
nothing of c3sim.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import torch

from .timing import launched

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
CALLS, AT_ONCE = 4, 40
Shape = tuple[int, int, int, str]


def traced(shapes: list[Shape]) -> list[list[dict[str, Any]]]:
    """Kernels and memsets of CALLS calls of each of *shapes*, in order."""
    made = []
    for m, n, k, dtype in shapes:
        kind = {"dtype": TYPES[dtype], "device": "cuda"}
        x, w = torch.randn(m, k, **kind), torch.randn(n, k, **kind)
        made.append((x, w.t(), torch.empty(m, n, **kind)))
        torch.mm(x, w.t(), out=made[-1][-1])
    mark = torch.zeros(7, device="cuda")
    torch.cuda.synchronize()

    def products() -> None:
        for x, w, y in made:
            mark.fill_(1.0)
            for _ in range(CALLS):
                torch.mm(x, w, out=y)

    groups: list[list[dict[str, Any]]] = []
    for event in launched(products, host=True):
        if "FillFunctor" in event["name"]:
            groups.append([])
        elif groups:
            groups[-1].append(event)
    return groups


def row(shape: Shape, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Names of the kernels that one call of *shape* launches."""
    each = len(events) // CALLS
    calls = [events[at : at + each] for at in range(each, len(events), each)]  # without the first
    kernels = []
    for same in zip(*calls, strict=True):
        about = same[0].get("args", {})
        kernels.append(
            {
                "name": same[0]["name"][:160],
                "grid": about.get("grid"),
                "block": about.get("block"),
                "lds": about.get("shared memory"),
                "regs": about.get("registers per thread"),
                "us": round(min(event["dur"] for event in same), 3),
            }
        )
    span = min(call[-1]["ts"] + call[-1]["dur"] - call[0]["ts"] for call in calls)
    m, n, k, dtype = shape
    return {"m": m, "n": n, "k": k, "dtype": dtype, "span_us": round(span, 3), "kernels": kernels}


def main(shapes_file: str, out: str) -> None:
    shapes = [tuple(each) for each in json.loads(Path(shapes_file).read_text(encoding="utf-8"))]
    about = torch.cuda.get_device_properties(0)
    with gzip.open(out, "wt", encoding="utf-8") as file:
        first = {"gpu": about.name, "torch": torch.__version__, "cuda": torch.version.cuda}
        file.write(json.dumps(first | {"sms": about.multi_processor_count}) + "\n")
        for at in range(0, len(shapes), AT_ONCE):
            part = shapes[at : at + AT_ONCE]
            for shape, events in zip(part, traced(part), strict=True):
                file.write(json.dumps(row(shape, events)) + "\n")
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

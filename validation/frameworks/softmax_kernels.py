"""Writes times of softmax and log-softmax over rows, forward and backward, with the kernel's grid,
threads, registers and LDS, by width of the rows: by the profiler, one call after the other.

    python -m validation.frameworks.softmax_kernels softmax.csv
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch

from .timing import launched

WIDTHS = (
    *(128, 256, 384, 512, 640, 768, 1024, 1152, 1280, 1536, 1792, 2048, 2304, 3072, 3584, 4096),
    *(4608, 5120, 5632, 6144, 7168, 8192, 9216, 12288, 20480, 24576, 32768),
)
SIZES = (16, 192)  # MiB of a tensor
FIRST, CALLS = 3, 10


def kernels(call: Callable[[], object]) -> list[dict[str, Any]]:
    """Kernels of softmax in CALLS calls, behind FIRST others."""
    for _ in range(FIRST):
        call()
    torch.cuda.synchronize()
    found = launched(lambda: [call() for _ in range(CALLS)])
    return [each for each in found if "softmax" in each["name"].lower()]


def calls(dtype: torch.dtype, rows: int, width: int) -> dict[str, Callable[[], object]]:
    """Calls over *rows* of *width* random numbers."""
    x = torch.randn(rows, width, device="cuda", dtype=dtype, requires_grad=True)
    back, soft, log = torch.randn_like(x), torch.softmax(x, -1), torch.log_softmax(x, -1)
    return {
        "softmax": lambda: torch.softmax(x, -1),
        "log_softmax": lambda: torch.log_softmax(x, -1),
        "softmax_backward": lambda: torch.autograd.grad(soft, x, back, retain_graph=True),
        "log_softmax_backward": lambda: torch.autograd.grad(log, x, back, retain_graph=True),
    }


def rows() -> Iterator[dict[str, Any]]:
    """A row for each call."""
    for dtype in (torch.bfloat16, torch.float32):
        for width in WIDTHS:
            for mib in SIZES:
                count = (mib << 20) // (width * dtype.itemsize)
                for name, call in calls(dtype, count, width).items():
                    found = kernels(call)
                    how = found[0]["args"]
                    yield {
                        "op": name,
                        "dtype": str(dtype).removeprefix("torch."),
                        "rows": count,
                        "width": width,
                        "us": median(kernel["dur"] for kernel in found),
                        "least_us": min(kernel["dur"] for kernel in found),
                        "workgroups": how["grid"][0],
                        "threads": how["block"][0] * how["block"][1],
                        "registers": how["registers per thread"],
                        "lds": how["shared memory"],
                        "kernel": found[0]["name"].split("<")[0].split("::")[-1],
                    }


def main() -> None:
    torch.manual_seed(0)
    with open(sys.argv[1], "w", newline="") as file:
        first, *others = rows()
        writer = csv.DictWriter(file, first)
        writer.writeheader()
        writer.writerows([first, *others])


if __name__ == "__main__":
    main()

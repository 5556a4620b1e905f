"""Bytes that kernels of one GPU move through its last cache and its memory, by its counters.

    ncu --profile-from-start off --nvtx --print-nvtx-rename kernel --clock-control none \
        --cache-control none --csv --page raw --metrics dram__bytes_read.sum,... \
        python -m validation.frameworks.counters

Each case runs often enough that caches hold what they would in a loop, or behind a read of much
else (cold); then one call is counted, in a range that has the name of the case.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .kernels import ELEMENTWISE, OF_ROWS, attention_of_one, gemm, numbers
from .timing import MIB, Call

SIZES = (2, 8, 16, 24, 32, 40, 48, 56, 64, 96, 160, 512)
GEMMS = (
    *((16, n, 4096) for n in (3072, 4608, 6144, 14336)),
    *((128, n, 4096) for n in (6144, 14336)),
    *((16384, 16384, 128), (8192, 8192, 128), (8192, 8192, 512), (4096, 4096, 4096)),
    *((8192, 8192, 8192), (2048, 2048, 2048), (4096, 14336, 4096), (1024, 28672, 8192)),
)


def simple() -> Iterator[tuple[str, Call]]:
    for mib in SIZES:
        for name in ("neg", "fill", "sum"):
            yield f"{name}-{mib}", ELEMENTWISE[name][1](mib * MIB // 2)


def others() -> Iterator[tuple[str, Call]]:
    for rows in (1024, 4096, 16384):
        for name in ("rms-norm", "layer-norm"):
            yield f"{name}-{rows}x4096", OF_ROWS["norms"][name][1](rows, 4096)
        for name in ("gelu", "silu-strided", "transpose"):
            yield f"{name}-{rows}x4096", ELEMENTWISE[name][1](rows * 4096)
        wide = OF_ROWS["softmax"]["log-softmax-fp32"][1](rows // 4, 30592)
        yield f"log-softmax-{rows // 4}x30592", wide
        yield f"column-sum-{rows}x4096", OF_ROWS["gathered"]["column-sum"][1](rows, 4096)
    for b, t, g, h in ((8, 1024, 4, 16), (32, 2048, 4, 32), (64, 2048, 8, 32), (16, 4096, 8, 32)):
        yield f"attention-of-one-{b}x{t}x{g}x{h}", attention_of_one(b, t, g, h)
    for m, n, k in GEMMS:
        yield f"gemm-{m}x{n}x{k}", gemm(m, n, k)


def main() -> None:
    torch.manual_seed(1)
    profiler = torch.cuda.cudart()
    other = numbers(256 * MIB)
    for make in (simple, others):
        for name, call in make():
            for state in ("warm", "cold"):
                with torch.no_grad():
                    for _ in range(3):
                        call()
                    if state == "cold":
                        other.sum()
                    torch.cuda.synchronize()
                    profiler.cudaProfilerStart()
                    torch.cuda.nvtx.range_push(f"{name}-{state}")
                    call()
                    torch.cuda.nvtx.range_pop()
                    torch.cuda.synchronize()
                    profiler.cudaProfilerStop()


if __name__ == "__main__":
    main()

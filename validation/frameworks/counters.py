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
import torch.nn.functional as F

from .kernels import MIB, Call, gemm, numbers

SIZES = (2, 8, 16, 24, 32, 40, 48, 56, 64, 96, 160, 512)


def simple() -> Iterator[tuple[str, Call]]:
    for mib in SIZES:
        n = mib * MIB // 2
        x, y = numbers(n), torch.empty(n, dtype=torch.bfloat16, device="cuda")
        z = numbers(n // 2, dtype=torch.float32, device="cuda")
        yield f"neg-{mib}", lambda x=x, y=y: torch.neg(x, out=y)
        yield f"fill-{mib}", lambda y=y: y.fill_(1.0)
        yield f"sum-{mib}", lambda z=z: z.sum()


def others() -> Iterator[tuple[str, Call]]:
    for rows in (1024, 4096, 16384):
        x, w = numbers(rows, 4096), numbers(4096)
        yield f"rms-norm-{rows}x4096", lambda x=x, w=w: F.rms_norm(x, (4096,), w)
        yield f"layer-norm-{rows}x4096", lambda x=x, w=w: F.layer_norm(x, (4096,), w, w)
        yield f"gelu-{rows}x4096", lambda x=x: F.gelu(x)
        yield f"silu-strided-{rows}x2048", lambda x=x: F.silu(x[:, :2048])
        yield f"transpose-{rows}x4096", lambda x=x: x.t().contiguous()
        wide = numbers(rows // 4, 30592, dtype=torch.float32, device="cuda")
        yield f"log-softmax-{rows // 4}x30592", lambda x=wide: F.log_softmax(x, -1)
        yield f"column-sum-{rows}x4096", lambda x=x: x.sum(0)
    for b, t, g, h in ((8, 1024, 4, 16), (32, 2048, 4, 32), (64, 2048, 8, 32), (16, 4096, 8, 32)):
        q = numbers(b, h, 1, 128)
        k, v = numbers(b, g, t, 128), numbers(b, g, t, 128)
        yield (
            f"attention-of-one-{b}x{t}x{g}x{h}",
            lambda q=q, k=k, v=v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        )
    for m, n, k in (
        (16, 3072, 4096),
        (16, 4608, 4096),
        (16, 6144, 4096),
        (16, 14336, 4096),
        (128, 6144, 4096),
        (128, 14336, 4096),
        (16384, 16384, 128),
        (8192, 8192, 128),
        (8192, 8192, 512),
        (4096, 4096, 4096),
        (8192, 8192, 8192),
        (2048, 2048, 2048),
        (4096, 14336, 4096),
        (1024, 28672, 8192),
    ):
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

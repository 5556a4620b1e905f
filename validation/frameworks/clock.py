"""GEMMs after loops of other loads: the clock, the power limit, and what operands hold."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist

from .timing import events


def recovery() -> list[dict[str, Any]]:
    """GEMMs at the power limit, then a lighter load for a while, then GEMMs again."""
    rows = []
    n = 8192
    a, b = torch.randn(n, n, device="cuda").bfloat16(), torch.randn(n, n, device="cuda").bfloat16()
    c = torch.empty_like(a)
    gib = torch.empty(1 << 30, dtype=torch.uint8, device="cuda").random_()
    other = torch.empty_like(gib)
    for kind in ("copy", "nothing"):
        for pause_ms in (1, 5, 20, 50, 100, 200, 400):
            for _ in range(400):
                torch.mm(a, b, out=c)
            if kind == "copy":
                for _ in range(max(1, round(pause_ms / 0.52))):
                    other.copy_(gib)
            else:
                torch.cuda._sleep(int(pause_ms * 1.9e6))
            marks = events(21)
            marks[0].record()
            for mark in marks[1:]:
                torch.mm(a, b, out=c)
                mark.record()
            torch.cuda.synchronize()
            rows.append(
                {
                    "between": kind,
                    "ms": pause_ms,
                    "gemm_us": [round(x.elapsed_time(y) * 1e3, 1) for x, y in pairwise(marks)],
                }
            )
    return rows


class Sampler(threading.Thread):
    """Power [W] and clock [MHz] of one GPU, as fast as the driver answers."""

    def __init__(self, gpu: int):
        super().__init__(daemon=True)
        import pynvml

        pynvml.nvmlInit()
        self.nvml, self.handle = pynvml, pynvml.nvmlDeviceGetHandleByIndex(gpu)
        self.rows: list[tuple[float, float, int, int]] = []
        self.going = True
        self.begun = time.perf_counter()

    def run(self) -> None:
        nvml, handle = self.nvml, self.handle
        while self.going:
            self.rows.append(
                (
                    round((time.perf_counter() - self.begun) * 1e3, 2),
                    nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
                    nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
                    nvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
                )
            )
            time.sleep(0.003)


def _matrices(n: int, data: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Operands of a GEMM with *data*, and room for its result."""
    a, b = torch.randn(n, n, device="cuda").bfloat16(), torch.randn(n, n, device="cuda").bfloat16()
    if data == "zero":
        a.zero_(), b.zero_()
    if data == "pattern":  # integers of -2 to 2, as many a test has
        a.copy_((torch.arange(n * n, device="cuda") % 5 - 2).view(n, n))
        b.copy_((torch.arange(n * n, device="cuda") % 5 - 2).view(n, n))
    return a, b, torch.empty(n, n, dtype=torch.bfloat16, device="cuda")


def clock(rank: int, seconds: float = 1.2) -> list[dict[str, Any]]:
    """Every rank runs the same loops; the samples are this rank's."""
    rows = []
    big = _matrices(16384, "random")
    gib = torch.empty(1 << 30, dtype=torch.uint8, device="cuda").random_()
    other = torch.empty_like(gib)
    loops: dict[str, tuple[Callable[[], Any], float]] = {
        "gemm16384": (lambda: torch.mm(big[0], big[1], out=big[2]), 11.5e-3),
        "copy": (lambda: other.copy_(gib), 0.52e-3),
        "all_gather": (
            lambda: dist.all_gather_into_tensor(other, gib[: (1 << 30) // dist.get_world_size()]),
            3e-3,
        ),
        "idle": (lambda: time.sleep(0.01), 10e-3),
    }
    for data in ("random", "pattern", "zero"):
        for n in (8192, 12288):
            gemm = _matrices(n, data)
            for before, (call, each) in loops.items():
                if data == "random" or before == "idle":
                    found = _sampled(rank, call, int(seconds / each), gemm)
                    rows.append({"before": before, "n": n, "data": data, **found})
    return rows


def _sampled(
    rank: int, call: Callable[[], Any], count: int, gemm: tuple[torch.Tensor, ...]
) -> dict[str, Any]:
    """A loop of *count* calls, 30 GEMMs behind it, and samples of the GPU of *rank* meanwhile."""
    torch.cuda.synchronize()
    sampler = Sampler(rank)
    sampler.start()
    time.sleep(0.3)
    marks = events(31)
    begun = time.perf_counter() - sampler.begun
    for _ in range(count):
        call()
    torch.cuda.synchronize()
    loop_end = time.perf_counter() - sampler.begun
    marks[0].record()
    for mark in marks[1:]:
        torch.mm(gemm[0], gemm[1], out=gemm[2])
        mark.record()
    torch.cuda.synchronize()
    end = time.perf_counter() - sampler.begun
    time.sleep(0.1)
    sampler.going = False
    sampler.join()
    return {
        "loop_ms": [round(begun * 1e3, 1), round(loop_end * 1e3, 1)],
        "end_ms": round(end * 1e3, 1),
        "gemm_us": [round(a.elapsed_time(b) * 1e3, 1) for a, b in pairwise(marks)],
        "samples": sampler.rows[::2],
    }

"""Kernels of a layer by themselves, and behind GEMMs that take the GPU to its power limit.

    python -m validation.frameworks.held_clock --out held.jsonl      # one GPU, three minutes

Each of KERNELS runs in a loop of a second and more, alone and behind a GEMM of 8192 numbers each
way, once or twice. One line of JSON per loop and kernel of it: its microseconds, in the mean of the
loop's last part, with the clock of the SMs [MHz] and the power [W] that the driver told meanwhile.
No two kernels run at once.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import pynvml
import torch
import torch.nn.functional as F
from torch import Tensor

from .timing import BF16, launched

SECONDS = 1.2
LAST = 0.4  # part of the loop, and of its seconds, that counts
MOST = 6000  # turns
WIDTH = 4096
Call = Callable[[], Any]


def tensors(*shape: int, count: int = 1) -> list[Tensor]:
    return [torch.randn(*shape, **BF16) for _ in range(count)]


def both_ways(call: Callable[..., Tensor], *inputs: Tensor) -> Call:
    """*call* of *inputs*, forward and backward."""
    leaves = [each.requires_grad_() for each in inputs]
    gradient = torch.randn_like(call(*leaves))

    def run() -> None:
        call(*leaves).backward(gradient)
        for leaf in leaves:
            leaf.grad = None

    return run


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


def kernels(rows: int) -> Iterator[tuple[str, Call]]:
    """Kernels of layers of so many tokens, by name."""
    x, y = tensors(rows, WIDTH, count=2)
    weight, bias = tensors(WIDTH, count=2)
    yield "rms_norm", both_ways(lambda x, w: F.rms_norm(x, (WIDTH,), w), x.clone(), weight.clone())
    yield (
        "layer_norm",
        both_ways(
            lambda x, w, b: F.layer_norm(x, (WIDTH,), w, b), x.clone(), weight.clone(), bias.clone()
        ),
    )
    yield "add", lambda: x + y
    yield "copy", lambda: x.clone()
    wide, other = tensors(rows, 14336, count=2)
    yield "silu_mul", both_ways(lambda a, b: F.silu(a) * b, wide.clone(), other.clone())
    yield "gelu", both_ways(F.gelu, wide.clone())
    heads = tensors(1, rows, WIDTH // 128, 128)[0]
    cos, sin = tensors(rows, 128, count=2)

    def rotary(x: Tensor) -> Tensor:
        return turned(x.transpose(1, 2), cos, sin)

    yield "rotary", both_ways(rotary, heads)
    yield "sum", lambda: x.sum(0)
    yield "to_fp32", lambda: x.float()
    logits = tensors(rows // 4, 32000)[0]
    words = torch.randint(0, 32000, (rows // 4,), device="cuda")
    yield "cross_entropy", both_ways(lambda x: F.cross_entropy(x, words)[None], logits)
    weights = [torch.nn.Parameter(each) for each in tensors(WIDTH, WIDTH, count=4)]
    for each in weights:
        each.grad = torch.randn_like(each)
    yield "adamw", torch.optim.AdamW(weights, fused=True).step
    for width in (64, 128):
        q, k, v = tensors(1, WIDTH // width, rows, width, count=3)

        def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        yield f"attention_{width}", both_ways(attention, q, k, v)
    a, b = tensors(4096, 4096, count=2)
    yield "gemm_4096", lambda: a @ b


@contextmanager
def watched(seen: list[tuple[float, float, float]]) -> Iterator[None]:
    """Fills *seen* with the time [s], clock of the SMs [MHz] and power [W] in between."""
    pynvml.nvmlInit()
    gpu, over = pynvml.nvmlDeviceGetHandleByIndex(0), threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            clock = pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM)
            watts = pynvml.nvmlDeviceGetPowerUsage(gpu) / 1e3
            seen.append((time.monotonic(), clock, watts))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def loop(turn: Call) -> dict[str, Any]:
    """Kernels of a *turn* in the last part of a loop, with the clock and power there."""
    for _ in range(3):
        turn()
    torch.cuda.synchronize()
    begin = time.monotonic()
    turn()
    turn()
    torch.cuda.synchronize()
    turns = min(MOST, max(10, int(2 * SECONDS / (time.monotonic() - begin))))
    seen: list[tuple[float, float, float]] = []
    ended = 0.0

    def run() -> None:
        nonlocal ended
        for _ in range(turns):
            turn()
        torch.cuda.synchronize()
        ended = time.monotonic()

    with watched(seen):
        shown = launched(run)
    late = [each for each in seen if ended - LAST * SECONDS < each[0] < ended]
    found: dict[str, list[float]] = defaultdict(list)
    for each in shown:
        found[each["name"]].append(float(each["dur"]))
    kept = {name: us[-max(1, int(LAST * len(us))) :] for name, us in found.items()}
    return {
        "turns": turns,
        "mhz": round(fmean([mhz for _, mhz, _ in late]), 1) if late else None,
        "watts": round(fmean([watts for *_, watts in late]), 1) if late else None,
        "kernels": {
            name[:160]: [round(len(found[name]) / turns, 3), round(fmean(us), 3)]
            for name, us in kept.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    a, b = tensors(8192, 8192, count=2)
    with out.open("w") as file:
        for rows in (4096, 16384):
            for name, call in kernels(rows):
                for gemms, calls in ((0, 1), (1, 1), (1, 4), (2, 1)):

                    def turn(gemms: int = gemms, calls: int = calls, call: Call = call) -> None:
                        for _ in range(gemms):
                            a @ b
                        for _ in range(calls):
                            call()

                    about = {"rows": rows, "kernel": name, "gemms": gemms, "calls": calls}
                    file.write(json.dumps({**about, **loop(turn)}) + "\n")
                    file.flush()


if __name__ == "__main__":
    main()

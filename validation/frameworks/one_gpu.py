"""Runs of one GPU by itself: GEMMs of several data types and shapes, and the power of loads.

    python -m validation.frameworks.one_gpu PLAN.yaml OUT.jsonl

One JSON line per case. A GEMM runs ``turns`` times behind a kernel that sleeps, so that the host is
far ahead; ``us`` has the time between two events around all turns, of each repeat. A load of which
the power is asked runs for some seconds; ``power_w`` is the energy counter of the GPU over the
later half of them, by the host's clock, ``turn_us`` the time of one turn there.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml

from .timing import span

DTYPES = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp8": torch.float8_e4m3fn,
    "fp64": torch.float64,
}
SLEEP = 20_000_000  # cycles, 10 ms: the host submits all turns meanwhile


def gemm(m: int, n: int, k: int, dtype: str, data: str = "random") -> Callable[[], Any]:
    """One GEMM on operands of its own; its result is checked against double precision."""
    kind = DTYPES[dtype]
    fill = torch.zeros if data == "zero" else torch.randn
    a = fill(m, k, device="cuda").to(kind)
    b = (
        fill(n, k, device="cuda").to(kind).t()
        if dtype == "fp8"
        else fill(k, n, device="cuda").to(kind)
    )
    if dtype == "fp8":
        one = torch.ones((), device="cuda")

        def call() -> Any:
            return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    else:
        out = torch.empty(m, n, dtype=kind, device="cuda")

        def call() -> Any:
            return torch.mm(a, b, out=out)

    found = call()[:64].double()
    exact = a[:64].double() @ b.double()
    error = float((found - exact).norm() / exact.norm().clamp(min=1e-30))
    if not error < 2e-2:
        raise ArithmeticError(f"{m}x{n}x{k} {dtype}: off by {error}")
    return call


def copy(source: str, destination: str, mib: int) -> Callable[[], Any]:
    """One copy by an engine, or within the GPU by the runtime's call."""

    def place(where: str) -> torch.Tensor:
        whole = torch.empty(mib << 20, dtype=torch.uint8, pin_memory=where == "host")
        return whole if where == "host" else whole.cuda()

    given, taken = place(source), place(destination)
    return lambda: taken.copy_(given, non_blocking=True)


def timed(call: Callable[[], Any], turns: int, repeats: int) -> list[float]:
    """Us of all turns together, of each repeat."""
    times = []
    for number in range(repeats + 2):
        torch.cuda.synchronize()
        torch.cuda._sleep(SLEEP)
        us = span(lambda: [call() for _ in range(turns)])
        if number >= 2:
            times.append(round(us, 3))
    return times


def powered(call: Callable[[], Any], seconds: float) -> dict[str, Any]:
    """Mean power over the later half of so many *seconds*, and the time of a turn there."""
    import pynvml

    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    batch = max(1, round(0.05 / max(1e-5, timed(call, 4, 1)[0] * 1e-6 / 4)))
    energy, begun, turns, clocks = 0, 0.0, 0, []
    started = time.perf_counter()
    previous = torch.cuda.Event()
    previous.record()
    while True:
        for _ in range(batch):
            call()
        event = torch.cuda.Event()
        event.record()
        previous.synchronize()  # one batch ahead
        previous = event
        now = time.perf_counter()
        if not begun and now - started > seconds / 2:
            energy, begun, turns = pynvml.nvmlDeviceGetTotalEnergyConsumption(handle), now, 0
        elif begun:
            turns += batch
            clocks.append(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))
            if now - started > seconds:
                break
    now = time.perf_counter()
    joules = (pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) - energy) / 1e3
    torch.cuda.synchronize()
    return {
        "power_w": round(joules / (now - begun), 2),
        "turn_us": round((now - begun) * 1e6 / turns, 3),
        "clocks_mhz": clocks[:: max(1, len(clocks) // 8)],
    }


def call_of(load: dict[str, Any]) -> Callable[[], Any]:
    if load["kind"] == "copy":
        return copy(load["source"], load["destination"], load["mib"])
    extent = load["extent"]
    return gemm(extent, extent, extent, load["dtype"], load.get("data", "random"))


def main(plan_file: str, out: str) -> None:
    plan = yaml.safe_load(Path(plan_file).read_text(encoding="utf-8"))
    with Path(out).open("w", encoding="utf-8") as file:

        def write(about: dict[str, Any], measure: Callable[[], dict[str, Any]]) -> None:
            try:
                found = measure()
            except Exception as error:  # one case that fails costs no other
                found = {"error": f"{type(error).__name__}: {error}"[:300]}
            file.write(json.dumps({**about, **found}) + "\n")
            file.flush()
            torch.cuda.empty_cache()

        for suite, types in plan["gemms"].items():
            for dtype, shapes in types.items():
                for shape in shapes:
                    about = {"suite": suite, "dtype": dtype, "shape": shape}
                    write(about, partial(_looped, plan, shape, dtype))
        for load in plan["power"]["loads"]:
            about = {"suite": "h200_power_types", "load": load}
            write(about, partial(_powered, load, plan["power"]["seconds"]))


def _looped(plan: dict[str, Any], shape: list[int], dtype: str) -> dict[str, Any]:
    m, n, k = shape
    return {"us": timed(gemm(m, n, k, dtype), plan["turns"], plan["repeats"])}


def _powered(load: dict[str, Any], seconds: float) -> dict[str, Any]:
    return powered(call_of(load), seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])

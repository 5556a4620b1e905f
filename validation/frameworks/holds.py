"""Kernels that hold compute units, alone and beside copies and GEMMs: which waits for which."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import Any

import torch

from .timing import events

MIB = 1 << 20
HOLD = r"""
extern "C" __global__ void hold(unsigned long long* out, int ns, int slot, int zero)
{
    extern __shared__ float held[];
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    if (threadIdx.x == 0) held[0] = zero;
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now < start + ns);
    if (threadIdx.x == 0) {
        atomicMin(out + 2 * slot, start);
        atomicMax(out + 2 * slot + 1, now);
    }
}
"""
WIDE = r"""
extern "C" __global__ void __launch_bounds__(256, 1)
hold(unsigned long long* out, int ns, int slot, int zero)
{
    float r[240];
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
#pragma unroll
    for (int i = 0; i < 240; ++i) r[i] = zero * i + threadIdx.x;
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
#pragma unroll
        for (int i = 0; i < 240; ++i) r[i] = fmaf(r[i], zero, r[(i + 1) % 240]);
    } while (now < start + ns);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 240; ++i) sum += r[i];
    if (threadIdx.x == 0) {
        atomicMin(out + 2 * slot, start);
        atomicMax(out + 2 * slot + 1, now + (sum == 1.5f));
    }
}
"""


class Holds:
    """Hold kernels, and when each ran by the GPU's own clock."""

    def __init__(self, slots: int):
        self.times = torch.zeros(2 * slots, dtype=torch.int64, device="cuda")
        self.plain = torch.cuda._compile_kernel(HOLD, "hold")
        self.plain.set_shared_memory_config(200 * 1024)
        self.wide = torch.cuda._compile_kernel(WIDE, "hold")
        self.clear()

    def clear(self) -> None:
        self.times.view(-1, 2)[:, 0] = 1 << 62
        self.times.view(-1, 2)[:, 1] = 0

    def run(
        self, slot: int, blocks: int, us: float, threads: int, shared: int, wide: bool = False
    ) -> None:
        kernel = self.wide if wide else self.plain
        kernel(
            grid=(blocks, 1, 1),
            block=(threads, 1, 1),
            args=(self.times, int(us * 1000), slot, 0),
            shared_mem=max(16, shared),
            stream=torch.cuda.current_stream(),
        )

    def spans(self) -> list[list[float]]:
        """[start, end] [us] of every slot, from the first."""
        rows = [row for row in self.times.view(-1, 2).tolist() if row[1]]
        first = min(row[0] for row in rows)
        return [[(start - first) / 1e3, (end - first) / 1e3] for start, end in rows]


@dataclass(frozen=True)
class Race:
    """Two hold kernels behind one event: workgroups of each, launch order, priority of the small
    one, and how they are released (``event``, ``async``, ``single``: see turns.py; single shots).
    """

    big: int
    small: int
    order: str
    priority: int
    mode: str

    @property
    def names(self) -> tuple[str, str]:
        return ("big", "small") if self.order == "big first" else ("small", "big")


RACES = [
    Race(big, small, order, priority, mode)
    for (big, small), order, priority, mode in product(
        ((132, 24), (8, 8)), ("big first", "small first"), (0, -1), ("event", "async", "single")
    )
]


def release(turns: int = 60) -> list[dict[str, Any]]:
    """By how much the small kernel begins after the big one, in every turn of every race [us]."""
    return [{**asdict(race), "small_after_big_us": _race(race, turns)} for race in RACES]


def _race(race: Race, turns: int) -> list[float]:
    holds, control = Holds(2 * turns), torch.cuda.Stream()
    streams = {"big": torch.cuda.Stream(), "small": torch.cuda.Stream(priority=race.priority)}
    base = streams["big"] if race.mode == "async" else control
    torch.cuda.synchronize()
    _occupy(base, 30_000_000)
    for turn in range(turns):
        if race.mode == "single":
            torch.cuda.synchronize()
            _occupy(base, 2_000_000)
        event = base.record_event()
        for name in race.names:
            if streams[name] is not base:
                streams[name].wait_event(event)
            big = name == "big"
            with torch.cuda.stream(streams[name]):
                blocks, us = (race.big, 60) if big else (race.small, 40)
                holds.run(2 * turn + (not big), blocks, us, 512, 180 * 1024)
        for name in race.names:
            if streams[name] is not base:
                base.wait_event(streams[name].record_event())
    torch.cuda.synchronize()
    return [round((span[2] - span[0]) / 1e3, 2) for span in holds.times.view(-1, 4).tolist()]


def _occupy(stream: torch.cuda.Stream, cycles: int) -> None:
    """Keep *stream* busy, so that the host runs ahead of it."""
    with torch.cuda.stream(stream):
        torch.cuda._sleep(cycles)


def _timed(stream: torch.cuda.Stream, call: Callable[[], Any]) -> Callable[[], float]:
    """Launch *call* on *stream*; returns what reads its time [us] once the GPU is done."""
    start, end = events(2)
    with torch.cuda.stream(stream):
        start.record()
        call()
        end.record()
    return lambda: round(float(start.elapsed_time(end)) * 1e3, 1)


#: Limits of a SM: threads, dynamic shared memory, workgroups on each, all registers.
HELD = {
    "threads": (1024, 0, 2, False),
    "shared": (128, 200 * 1024, 1, False),
    "registers": (256, 0, 1, True),
}


def copy_beside_holds() -> list[dict[str, Any]]:
    """A copy within the GPU while kernels hold some SMs by threads, shared memory or registers."""
    streams = {0: torch.cuda.Stream(), -1: torch.cuda.Stream(priority=-1)}
    rows = []
    for mib in (1, 16, 128, 1024):
        source = torch.empty(mib * MIB, dtype=torch.uint8, device="cuda").random_()
        copy = partial(torch.empty_like(source).copy_, source, non_blocking=True)
        for kind, sms, (priority, stream) in product(HELD, (0, 66, 120, 132), streams.items()):
            times = [_beside_held(kind, sms, stream, copy) for _ in range(5)]
            held = {"mib": mib, "holds": kind, "sms": sms, "priority": priority}
            rows.append({**held, "copy_us": times})
    return rows


def _beside_held(kind: str, sms: int, stream: torch.cuda.Stream, call: Callable[[], Any]) -> float:
    """Time [us] of *call* on *stream*, launched while *sms* SMs are held for 3 ms."""
    threads, shared, each, wide = HELD[kind]
    holds = Holds(1)
    torch.cuda.synchronize()
    if sms:
        holds.run(0, sms * each, 3000, threads, shared, wide)
    time.sleep(0.0005)
    read = _timed(stream, call)
    torch.cuda.synchronize()
    return read()


def gemm_beside_holds() -> list[dict[str, Any]]:
    """A GEMM while other kernels hold some SMs all the time, by what its operands hold."""
    control, side = torch.cuda.Stream(), torch.cuda.Stream()
    shapes = ((6144, 6144, 6144), (8192, 8192, 8192), (8192, 16384, 13312), (4096, 4608, 8192))
    rows = []
    for (m, n, k), data in product(shapes, ("random", "zero")):
        scale = float(data == "random")
        a = torch.randn(m, k, device="cuda").mul_(scale).bfloat16()
        b = torch.randn(k, n, device="cuda").mul_(scale).bfloat16()
        multiply = partial(torch.mm, a, b, out=torch.empty(m, n, dtype=a.dtype, device="cuda"))
        multiply()
        for sms in (0, 8, 16, 24, 32, 48, 64, 96):
            times = []
            for _ in range(6):
                holds = Holds(1)
                torch.cuda.synchronize()
                time.sleep(0.01)
                _occupy(control, 1_000_000)
                if sms:
                    with torch.cuda.stream(control):
                        holds.run(0, sms, 12000, 128, 200 * 1024)
                _occupy(side, 1_500_000)  # the GEMM begins behind the holds
                read = _timed(side, multiply)
                torch.cuda.synchronize()
                times.append(read())
            rows.append({"gemm": (m, n, k), "data": data, "held": sms, "us": times})
    return rows


def copy_race() -> list[dict[str, Any]]:
    """A copy within the GPU and a GEMM released by one event: when each ends, in a loop."""
    rows = []
    control, first, second = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Stream()
    a, b = (
        torch.randn(8192, 8192, device="cuda").bfloat16(),
        torch.randn(8192, 8192, device="cuda").bfloat16(),
    )
    c = torch.empty_like(a)
    for mib in (16, 64, 128, 192, 256, 384, 512, 768, 1024):
        source = torch.empty(mib * MIB, dtype=torch.uint8, device="cuda").random_()
        target = torch.empty_like(source)
        copy = partial(target.copy_, source, non_blocking=True)
        calls = {"copy": (first, copy), "gemm": (second, partial(torch.mm, a, b, out=c))}
        for order in ("copy first", "gemm first"):
            torch.cuda.synchronize()
            torch.cuda._sleep(20_000_000)
            control.wait_stream(torch.cuda.current_stream())
            names = ["copy", "gemm"] if order == "copy first" else ["gemm", "copy"]
            marks = [_released(control, {name: calls[name] for name in names}) for _ in range(10)]
            torch.cuda.synchronize()
            ends = [[round(t.elapsed_time(e[x]) * 1e3) for x in ("gemm", "copy")] for t, e in marks]
            rows.append({"mib": mib, "order": order, "ends": ends})
    return rows


def _released(control: torch.cuda.Stream, calls: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """An event on *control*, and the end of each call (its stream and function) that waits for it;
    *control* waits for all.
    """
    begin = torch.cuda.Event(enable_timing=True)
    begin.record(control)
    ends = {}
    for name, (stream, call) in calls.items():
        stream.wait_event(begin)
        with torch.cuda.stream(stream):
            call()
            ends[name] = torch.cuda.Event(enable_timing=True)
            ends[name].record()
        control.wait_event(ends[name])
    return begin, ends

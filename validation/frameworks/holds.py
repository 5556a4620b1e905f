"""Kernels that hold compute units, alone and beside copies and GEMMs: which waits for which."""

from __future__ import annotations

import time
from typing import Any

import torch

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


def release(turns: int = 60) -> list[dict[str, Any]]:
    rows = []
    control = torch.cuda.Stream()
    for big, small in ((132, 24), (8, 8)):
        for order in ("big first", "small first"):
            for priority in (0, -1):
                for mode in ("event", "async", "single"):
                    holds = Holds(2 * turns)
                    streams = {
                        "big": torch.cuda.Stream(),
                        "small": torch.cuda.Stream(priority=priority),
                    }
                    names = ["big", "small"] if order == "big first" else ["small", "big"]
                    torch.cuda.synchronize()
                    with torch.cuda.stream(control):
                        torch.cuda._sleep(30_000_000)
                    for turn in range(turns):
                        if mode == "single":
                            torch.cuda.synchronize()
                            with torch.cuda.stream(control):
                                torch.cuda._sleep(2_000_000)
                        base = streams["big"] if mode == "async" else control
                        if mode == "async" and turn == 0:
                            base.wait_stream(control)
                        event = base.record_event()
                        for name in names:
                            stream = streams[name]
                            if stream is not base:
                                stream.wait_event(event)
                            with torch.cuda.stream(stream):
                                blocks, slot = (
                                    (big, 2 * turn) if name == "big" else (small, 2 * turn + 1)
                                )
                                holds.run(
                                    slot, blocks, 60 if name == "big" else 40, 512, 180 * 1024
                                )
                        for name in names:
                            if streams[name] is not base:
                                base.wait_event(streams[name].record_event())
                    torch.cuda.synchronize()
                    spans = holds.times.view(-1, 4).tolist()
                    late = [round((s[2] - s[0]) / 1e3, 2) for s in spans]
                    rows.append(
                        {
                            "big": big,
                            "small": small,
                            "order": order,
                            "priority": priority,
                            "mode": mode,
                            "small_after_big_us": late,
                        }
                    )
    return rows


def copy_beside_holds() -> list[dict[str, Any]]:
    rows = []
    side, high = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    kinds = {
        "threads": dict(threads=1024, shared=0, each=2),
        "shared": dict(threads=128, shared=200 * 1024, each=1),
        "registers": dict(threads=256, shared=0, each=1, wide=True),
    }
    for mib in (1, 16, 128, 1024):
        source = torch.empty(mib * MIB, dtype=torch.uint8, device="cuda").random_()
        target = torch.empty_like(source)
        for kind, how in kinds.items():
            for sms in (0, 66, 120, 132):
                for stream in (side, high):
                    ends = []
                    for _ in range(5):
                        holds = Holds(1)
                        start, end = (
                            torch.cuda.Event(enable_timing=True),
                            torch.cuda.Event(enable_timing=True),
                        )
                        torch.cuda.synchronize()
                        if sms:
                            holds.run(
                                0,
                                sms * how["each"],
                                3000,
                                how["threads"],
                                how["shared"],
                                bool(how.get("wide", False)),
                            )
                        time.sleep(0.0005)
                        with torch.cuda.stream(stream):
                            start.record()
                            target.copy_(source, non_blocking=True)
                            end.record()
                        torch.cuda.synchronize()
                        ends.append(round(start.elapsed_time(end) * 1e3, 1))
                    rows.append(
                        {
                            "mib": mib,
                            "holds": kind,
                            "sms": sms,
                            "priority": 0 if stream is side else -1,
                            "copy_us": ends,
                        }
                    )
    return rows


def gemm_beside_holds() -> list[dict[str, Any]]:
    """A GEMM while other kernels hold some SMs all the time, by what its operands hold."""
    rows = []
    control, side = torch.cuda.Stream(), torch.cuda.Stream()
    for shape in ((6144, 6144, 6144), (8192, 8192, 8192), (8192, 16384, 13312), (4096, 4608, 8192)):
        m, n, k = shape
        for data in ("random", "zero"):
            a, b = (
                torch.randn(m, k, device="cuda").bfloat16(),
                torch.randn(k, n, device="cuda").bfloat16(),
            )
            if data == "zero":
                a.zero_(), b.zero_()
            c = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
            torch.mm(a, b, out=c)
            for sms in (0, 8, 16, 24, 32, 48, 64, 96):
                times = []
                for _ in range(6):
                    holds = Holds(1)
                    torch.cuda.synchronize()
                    time.sleep(0.01)
                    with torch.cuda.stream(control):
                        torch.cuda._sleep(1_000_000)
                        if sms:
                            holds.run(0, sms, 12000, 128, 200 * 1024)
                    side.wait_stream(control) if not sms else None
                    start, end = (
                        torch.cuda.Event(enable_timing=True),
                        torch.cuda.Event(enable_timing=True),
                    )
                    with torch.cuda.stream(side):
                        torch.cuda._sleep(1_500_000)
                        start.record()
                        torch.mm(a, b, out=c)
                        end.record()
                    torch.cuda.synchronize()
                    times.append(round(start.elapsed_time(end) * 1e3, 1))
                rows.append({"gemm": shape, "data": data, "held": sms, "us": times})
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
        for order in ("copy first", "gemm first"):
            marks = []
            torch.cuda.synchronize()
            torch.cuda._sleep(20_000_000)
            control.wait_stream(torch.cuda.current_stream())
            for _ in range(10):
                begin = torch.cuda.Event(enable_timing=True)
                begin.record(control)
                ends = {}
                for name in ["copy", "gemm"] if order == "copy first" else ["gemm", "copy"]:
                    stream = first if name == "copy" else second
                    stream.wait_event(begin)
                    with torch.cuda.stream(stream):
                        target.copy_(source, non_blocking=True) if name == "copy" else torch.mm(
                            a, b, out=c
                        )
                        ends[name] = torch.cuda.Event(enable_timing=True)
                        ends[name].record()
                    control.wait_event(ends[name])
                marks.append((begin, ends))
            torch.cuda.synchronize()
            rows.append(
                {
                    "mib": mib,
                    "order": order,
                    "ends": [
                        [round(t.elapsed_time(e[x]) * 1e3) for x in ("gemm", "copy")]
                        for t, e in marks
                    ],
                }
            )
    return rows

"""What concurrent runs are made of, each measured by itself: ``python -m validation.frameworks.stress``.

Per test a list of rows in ``stress.json``; times are in us:

- ``release``: two hold kernels on two streams behind one event; which starts first, and how much
  later the other one does;
- ``copy_beside_holds``: a copy within the GPU while kernels hold all threads, registers or shared
  memory of some SMs;
- ``streams``: short kernels that go over memory, over and over;
- ``clock``: a GEMM right after loops of GEMMs, copies or collectives, and the power and clock that
  were sampled meanwhile;
- ``calls``: how long the host's thread takes for each call.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

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
                                how.get("wide", False),
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


def timed(call: Callable[[], Any], repeat: int) -> float:
    """Us per call, of a loop."""
    for _ in range(3):
        call()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    torch.cuda._sleep(5_000_000)
    start.record()
    for _ in range(repeat):
        call()
    end.record()
    torch.cuda.synchronize()
    return round(start.elapsed_time(end) * 1e3 / repeat, 3)


def streams() -> list[dict[str, Any]]:
    rows = []
    for kib in (64, 256, 1024, 4096, 16384, 65536, 262144):
        count = kib * 512
        x, y, z = (torch.randn(count, device="cuda").bfloat16() for _ in range(3))
        calls = {
            "copy": lambda: torch.neg(x, out=y),  # a kernel; copy_ is a call of the runtime
            "runtime_copy": lambda: y.copy_(x),
            "triad": lambda: torch.add(x, y, alpha=2, out=z),
            "write": lambda: y.zero_(),
            "read": lambda: torch.sum(x),
        }
        for name, call in calls.items():
            rows.append({"kib": kib, "pattern": name, "us": [timed(call, 40) for _ in range(3)]})
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
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(21)]
            marks[0].record()
            for mark in marks[1:]:
                torch.mm(a, b, out=c)
                mark.record()
            torch.cuda.synchronize()
            rows.append(
                {
                    "between": kind,
                    "ms": pause_ms,
                    "gemm_us": [
                        round(x.elapsed_time(y) * 1e3, 1) for x, y in zip(marks, marks[1:])
                    ],
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


def clock(rank: int, seconds: float = 1.2) -> list[dict[str, Any]]:
    """Every rank runs the same loops; the samples are this rank's."""
    rows = []

    def matrices(n: int, data: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        a, b = (
            torch.randn(n, n, device="cuda").bfloat16(),
            torch.randn(n, n, device="cuda").bfloat16(),
        )
        if data == "zero":
            a.zero_(), b.zero_()
        if data == "pattern":  # integers of -2 to 2, as many a test has
            a.copy_((torch.arange(n * n, device="cuda") % 5 - 2).view(n, n))
            b.copy_((torch.arange(n * n, device="cuda") % 5 - 2).view(n, n))
        return a, b, torch.empty(n, n, dtype=torch.bfloat16, device="cuda")

    big = matrices(16384, "random")
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
            gemm = matrices(n, data)
            for before, (call, each) in loops.items():
                if data != "random" and before != "idle":
                    continue
                torch.cuda.synchronize()
                sampler = Sampler(rank)
                sampler.start()
                time.sleep(0.3)
                count = int(seconds / each)
                marks = [torch.cuda.Event(enable_timing=True) for _ in range(31)]
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
                rows.append(
                    {
                        "before": before,
                        "n": n,
                        "data": data,
                        "loop_ms": [round(begun * 1e3, 1), round(loop_end * 1e3, 1)],
                        "end_ms": round(end * 1e3, 1),
                        "gemm_us": [
                            round(a.elapsed_time(b) * 1e3, 1) for a, b in zip(marks, marks[1:])
                        ],
                        "samples": sampler.rows[::2],
                    }
                )
    return rows


def calls(rank: int) -> dict[str, list[float]]:
    """Us of the host's thread per call, of 30."""
    a = torch.randn(256, 256, device="cuda").bfloat16()
    out = torch.empty_like(a)
    whole = torch.empty(1 << 20, device="cuda", dtype=torch.bfloat16)
    part = whole[: (1 << 20) // dist.get_world_size()].clone()
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    todo: dict[str, Callable[[], Any]] = {
        "gemm": lambda: torch.mm(a, a, out=out),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, part, async_op=True),
        "all_reduce": lambda: dist.all_reduce(whole, async_op=True),
        "copy": lambda: out.copy_(a, non_blocking=True),
        "record_event": lambda: event.record(),
        "wait_event": lambda: side.wait_event(event),
        "synchronize": torch.cuda.synchronize,
    }
    times: dict[str, list[float]] = {}
    for name, call in todo.items():
        torch.cuda.synchronize()
        for _ in range(30):
            begun = time.perf_counter()
            call()
            times.setdefault(name, []).append(round((time.perf_counter() - begun) * 1e6, 2))
    return times


def run_rank(rank: int, ranks: int, out: Path, tests: list[str]) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29532")
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank)
    )
    dist.all_reduce(torch.zeros(1, device="cuda"))
    tables: dict[str, Callable[[], Any]] = {
        "release": release,
        "copy_beside_holds": copy_beside_holds,
        "streams": streams,
        "gemm_beside_holds": gemm_beside_holds,
        "copy_race": copy_race,
        "recovery": recovery,
        "clock": lambda: clock(rank),
        "calls": lambda: calls(rank),
    }
    for name in tests:
        try:
            rows = tables[name]()
        except Exception as error:  # one test that fails must not cost the others
            rows = [{"error": f"{type(error).__name__}: {error}"}]
        (out / f"{name}.rank{rank}.json").write_text(json.dumps(rows))
        print(f"rank {rank}: {name}", flush=True)
        dist.all_reduce(torch.zeros(1, device="cuda"))
        torch.cuda.synchronize()
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("stress"))
    parser.add_argument("--tests", default="calls,release,copy_beside_holds,streams,clock")
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    processes.spawn(run_rank, (given.gpus, given.out, given.tests.split(",")), nprocs=given.gpus)


if __name__ == "__main__":
    main()

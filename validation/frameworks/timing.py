"""Measuring on one GPU: calls between events, kernels in the profiler's trace, and that trace."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

AHEAD = 20_000_000  # cycles, some 10 ms: the host runs ahead of the GPU
WARM_UP = 3  # turns before those that are timed
MIB = 1 << 20
BF16: dict[str, Any] = {"dtype": torch.bfloat16, "device": "cuda"}
FP32: dict[str, Any] = {"dtype": torch.float32, "device": "cuda"}
Call = Callable[[], Any]


def events(count: int) -> list[torch.cuda.Event]:
    return [torch.cuda.Event(enable_timing=True) for _ in range(count)]


def span(call: Call) -> float:
    """Us of what *call* launches, from event to event on the current stream."""
    begin, end = events(2)
    begin.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return 1e3 * float(begin.elapsed_time(end))


def times_of_turns(turn: Call, turns: int, stream: torch.cuda.Stream) -> list[float]:
    """Seconds of each *turn* on this rank by events on *stream*, behind a barrier of the GPUs (an
    all-reduce of one number), with the host far ahead.
    """
    one = torch.ones(1, device="cuda")
    for _ in range(WARM_UP):
        turn()
    torch.cuda.synchronize()
    marks = [events(2) for _ in range(turns)]
    torch.cuda._sleep(AHEAD)
    stream.wait_stream(torch.cuda.current_stream())
    for begin, end in marks:
        with torch.cuda.stream(stream):
            dist.all_reduce(one)
        begin.record(stream)
        turn()
        end.record(stream)
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) / 1e3 for begin, end in marks]


def launched(run: Call, *, host: bool = False) -> list[dict[str, Any]]:
    """Kernels and memsets in the profiler's trace of *run*, by their begin; *host*: its calls are
    traced as well.
    """
    with profile(activities=[ProfilerActivity.CUDA, *[ProfilerActivity.CPU] * host]) as profiler:
        run()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        found = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    shown = [each for each in found if each.get("cat") in ("kernel", "gpu_memset")]
    return sorted(shown, key=lambda each: float(each["ts"]))


def kernels_of(call: Call, calls: int) -> list[dict[str, Any]]:
    """Kernels of one *call*: name, how often it runs, and its microseconds in all; the mean of
    *calls* calls in one trace, behind as many others.
    """
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    found: dict[str, list[float]] = {}
    for each in launched(lambda: [call() for _ in range(calls)]):
        found.setdefault(each["name"], []).append(float(each["dur"]))
    return [
        {"kernel": name[:140], "calls": len(us) / calls, "us": round(sum(us) / calls, 2)}
        for name, us in found.items()
    ]


def write_trace(profiler: profile, file: Path) -> None:
    """The trace of *profiler* as *file*, compressed."""
    plain = file.with_suffix("")
    profiler.export_chrome_trace(str(plain))
    file.write_bytes(gzip.compress(plain.read_bytes(), 6))
    plain.unlink()

"""Parts of concurrent runs, each measured by itself.

    python -m validation.frameworks.stress --out FOLDER

Per test and rank a list of rows, ``TEST.rankR.json``; times are in us:

- ``release``: two hold kernels on two streams behind one event; which starts first, and how much
  later the other one does;
- ``copy_beside_holds``: a copy within the GPU while kernels hold all threads, registers or shared
  memory of some SMs;
- ``gemm_beside_holds``: a GEMM while other kernels hold some SMs;
- ``copy_race``: a copy within the GPU and a GEMM behind one event;
- ``recovery``: GEMMs at the power limit, a lighter load for a while, GEMMs again;
- ``streams``: short kernels that go over memory, over and over;
- ``clock``: a GEMM right after loops of GEMMs, copies or collectives, and the power and clock that
  were sampled meanwhile;
- ``calls``: how long the host's thread takes for each call.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from .clock import clock, recovery
from .holds import copy_beside_holds, copy_race, gemm_beside_holds, release
from .ranks import command_line, joined, start
from .timing import span

TESTS = (
    *("calls", "release", "copy_beside_holds", "gemm_beside_holds", "copy_race"),
    *("streams", "recovery", "clock"),
)


def timed(call: Callable[[], Any], repeat: int) -> float:
    """Us per call, of a loop."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    torch.cuda._sleep(5_000_000)
    return round(span(lambda: [call() for _ in range(repeat)]) / repeat, 3)


def streams() -> list[dict[str, Any]]:
    return [row for kib in (64, 256, 1024, 4096, 16384, 65536, 262144) for row in _streams(kib)]


def _streams(kib: int) -> list[dict[str, Any]]:
    x, y, z = (torch.randn(kib * 512, device="cuda").bfloat16() for _ in range(3))
    calls: dict[str, Callable[[], Any]] = {
        "copy": lambda: torch.neg(x, out=y),  # a kernel; copy_ is a call of the runtime
        "runtime_copy": lambda: y.copy_(x),
        "triad": lambda: torch.add(x, y, alpha=2, out=z),
        "write": lambda: y.zero_(),
        "read": lambda: torch.sum(x),
    }
    return [
        {"kib": kib, "pattern": name, "us": [timed(call, 40) for _ in range(3)]}
        for name, call in calls.items()
    ]


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
    with joined(rank, ranks):
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


if __name__ == "__main__":
    parser = command_line(__doc__, "stress")
    parser.add_argument("--tests", default=",".join(TESTS))
    given = parser.parse_args()
    start(run_rank, given, given.tests.split(","))

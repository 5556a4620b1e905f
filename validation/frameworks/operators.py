"""PyTorch's operators that overlap a GEMM with its collective, beside a GEMM and the library's:
all-gather -> GEMM and GEMM -> reduce-scatter, a process per GPU.

    python -m validation.frameworks.operators PLAN.yaml --out FOLDER

M rows in all, K and N of a GPU. A turn begins behind a barrier of the GPUs (an all-reduce of one
number), with the host far ahead, and ends with the last kernel; events on the stream of the caller
take its time. One line of JSON per case goes to ``operators.jsonl``: seconds of each turn on the
slowest rank. ``--profile`` writes a profiler trace of one turn per case and rank instead.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory  # registers the operators

from .plan import operators_of
from .ranks import command_line, joined, out_of_time, plan_of, slowest, start, write_turns
from .timing import AHEAD, BF16, times_of_turns


class Case:
    """One GEMM and its collective, by one *way*: its buffers and what a turn calls."""

    def __init__(self, ranks: int, op: str, gemm: dict[str, int], way: str):
        self.op, self.way, (m, n, k) = op, way, (gemm["m"], gemm["n"], gemm["k"])
        self.group = dist.group.WORLD.group_name
        rows = m // ranks if op == "all_gather" else m
        self.a, self.b = torch.randn(rows, k, **BF16), torch.randn(k, n, **BF16)
        self.gathered, self.c = torch.empty(m, k, **BF16), torch.empty(m, n, **BF16)
        self.scattered = torch.empty(m // ranks, n, **BF16)

    def turn(self) -> None:
        """Launch everything once."""
        if self.way == "library":
            self.by_library()
        elif self.op == "all_gather":
            torch.ops.symm_mem.fused_all_gather_matmul(self.a, [self.b], 0, self.group)
        else:
            torch.ops.symm_mem.fused_matmul_reduce_scatter(self.a, self.b, "sum", 0, self.group)

    def by_library(self) -> None:
        if self.op == "all_gather":
            dist.all_gather_into_tensor(self.gathered, self.a)
            torch.mm(self.gathered, self.b, out=self.c)
        else:
            torch.mm(self.a, self.b, out=self.c)
            dist.reduce_scatter_tensor(self.scattered, self.c)


def profile(case: Case, file: Path) -> None:
    """The profiler's trace of one turn, behind two that warm up."""
    for _ in range(2):
        case.turn()
    torch.cuda.synchronize()
    with torch.profiler.profile() as found:
        torch.cuda._sleep(AHEAD)
        case.turn()
        torch.cuda.synchronize()
    found.export_chrome_trace(str(file))


def run_rank(rank: int, ranks: int, out: Path, plan: dict[str, Any], traced: bool) -> None:
    with joined(rank, ranks) as host:
        torch.manual_seed(1 + rank)
        limit = time.monotonic() + plan["seconds"]
        for each in operators_of(plan):
            op, gemm, way = each.values()
            if out_of_time(limit, f"{op}, {gemm}, {way}", host):
                break
            case = Case(ranks, op, plan["gemms"][op][gemm], way)
            dist.barrier(host)
            if traced:
                profile(case, out / f"{op}-{gemm}-{way}-rank{rank}.json.gz")
                continue
            main = torch.cuda.current_stream()
            times = slowest(times_of_turns(case.turn, plan["turns"], main), host)
            if rank == 0:
                write_turns(out / "operators.jsonl", each, times)


if __name__ == "__main__":
    parser = command_line(__doc__, "operators")
    parser.add_argument("plan", type=Path)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    start(run_rank, given, plan_of(given.plan), given.profile)

"""All-gather -> GEMM in pieces with PyTorch on two GPUs: serial, by shards, in pieces of 1d and 2d.

    python -m validation.frameworks.pieces PLAN.yaml --out FOLDER

A process per GPU. The operand A [M, K] is sharded by rows, B [K, N] is the GPU's own. Every turn
begins behind a barrier of the GPUs (an all-reduce of one number), with the host far ahead, and ends
with the last kernel; its time is taken by events on the stream of the GEMMs.

- by ``nccl``: an all-gather for each piece, all called ahead; the GEMMs wait for theirs;
- by ``dma``: each rank copies from the next one's memory, opened by its IPC handle, with
  ``cudaMemcpyAsync`` on a side stream.

Shards of a 2d schedule are stored by columns, so that every piece is contiguous. One line of JSON
per case goes to ``pieces.jsonl``: seconds of each turn on the slowest rank.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from cuda.bindings import runtime as cudart

from .plan import pieces_of
from .ranks import joined, out_of_time, run_plan, slowest, write_turns
from .timing import BF16, Call, times_of_turns
from .turns import BY_ADDRESS, checked, shared_memory

FIRST = 15_000  # cycles, some 8 us: a collective has its compute units before the own GEMM begins
ELEMENT = 2  # bytes of bf16


class Memory:
    """Buffers that one rank keeps for all cases: a shard that the other one reads, and streams."""

    def __init__(self, rank: int, ranks: int, size: int, host: dist.ProcessGroup):
        if ranks != 2:
            raise SystemExit(f"got {ranks} GPUs; needs two")
        self.rank, self.ranks = rank, ranks
        self.shard, self.theirs = shared_memory(size, host)
        self.main, self.side, self.own = (torch.cuda.Stream() for _ in range(3))


class Case:
    """One GEMM under one schedule, its buffers and what a turn calls."""

    def __init__(self, memory: Memory, gemm: dict[str, int], schedule: dict[str, Any], by: str):
        self.memory, self.by, self.schedule = memory, by, schedule
        self.m, self.n, self.k = gemm["m"], gemm["n"], gemm["k"]
        self.pieces = schedule.get("pieces", 1)
        self.columns = schedule.get("shape") == "2d"
        self.hetero = schedule.get("steps") == "hetero"
        rows = self.m // memory.ranks
        if self.columns:
            self.piece = (rows, self.k // self.pieces)
        else:
            self.piece = (rows // self.pieces, self.k)
        self.x = torch.randn(self.pieces, *self.piece, **BF16)  # the shard
        self.gathered = torch.randn(self.pieces, memory.ranks, *self.piece, **BF16)
        self.b = torch.randn(self.k, self.n, **BF16)
        self.c = torch.empty(self.m, self.n, **BF16)
        checked(cudart.cudaMemcpy(memory.shard, self.x.data_ptr(), self.x.nbytes, BY_ADDRESS))

    def turn(self) -> None:
        """Launch everything once."""
        with torch.cuda.stream(self.memory.main):
            arrive = list(self.arrivals())
            if self.hetero:
                half = self.m // self.memory.ranks
                torch.cuda._sleep(FIRST)
                torch.mm(self.x.view(half, self.k), self.b, out=self.c[:half])
            for step, wait in enumerate(arrive):
                wait()
                self.work(step)

    def arrivals(self) -> Iterator[Call]:
        """Call for all pieces; what makes the GEMMs' stream wait for each."""
        if self.by == "nccl":
            for step in range(self.pieces):
                whole = self.gathered[step].view(-1, self.piece[1])
                yield dist.all_gather_into_tensor(whole, self.x[step], async_op=True).wait
            return
        memory, size = self.memory, self.piece[0] * self.piece[1] * ELEMENT
        other = 1 - memory.rank
        memory.side.wait_stream(memory.main)
        own: Any = None
        if not self.columns and not self.hetero:  # the own piece has to lie beside the others
            memory.own.wait_stream(memory.main)
            with torch.cuda.stream(memory.own):
                self.gathered[:, memory.rank].copy_(self.x, non_blocking=True)
                own = memory.own.record_event()
        for step in range(self.pieces):
            target = self.gathered[step, other].data_ptr()
            source = memory.theirs + step * size
            stream = memory.side.cuda_stream
            checked(cudart.cudaMemcpyAsync(target, source, size, BY_ADDRESS, stream))
            arrived = memory.side.record_event()
            yield partial(self.wait_for, [event for event in (arrived, own) if event is not None])

    def wait_for(self, events: list[torch.cuda.Event]) -> None:
        for event in events:
            self.memory.main.wait_event(event)

    def work(self, step: int) -> None:
        """The GEMM of what has arrived in *step*."""
        if self.columns:
            a = self.gathered[step].view(self.m, -1)
            b = self.b[step * a.shape[1] : (step + 1) * a.shape[1]]
            if step:
                self.c.addmm_(a, b)
            else:
                torch.mm(a, b, out=self.c)
            return
        a = self.gathered[step, 1 - self.memory.rank] if self.hetero else self.gathered[step]
        a = a.view(-1, self.k)
        start = step * a.shape[0] + (self.m // self.memory.ranks if self.hetero else 0)
        torch.mm(a, self.b, out=self.c[start : start + a.shape[0]])


def run_rank(rank: int, ranks: int, out: Path, plan: dict[str, Any]) -> None:
    with joined(rank, ranks) as host:
        torch.manual_seed(1 + rank)
        largest = max(gemm["m"] * gemm["k"] for gemm in plan["gemms"].values())
        memory = Memory(rank, ranks, largest * ELEMENT // ranks, host)
        limit = time.monotonic() + plan["seconds"]
        for each in pieces_of(plan):
            gemm, by, schedule = each.values()
            if out_of_time(limit, f"{gemm}, {schedule}, {by}", host):
                break
            case = Case(memory, plan["gemms"][gemm], plan["schedules"][schedule] or {}, by)
            dist.barrier(host)  # both shards are there
            times = slowest(times_of_turns(case.turn, plan["turns"], memory.main), host)
            if rank == 0:
                write_turns(out / "pieces.jsonl", each, times)
            del case


if __name__ == "__main__":
    run_plan(run_rank, __doc__, "pieces")

"""Loops of GEMMs beside collectives or copies with PyTorch, profiled.

    python -m validation.frameworks.turns PLAN.yaml --out FOLDER

A process per GPU launches for itself. Every turn launches the tasks of a case, each on a stream of
its own, and joins them. The plan's modes say how the streams are released and joined:

- ``event``: all streams wait for one event of the GPU, recorded when the turn before has ended;
- ``async``: the collective's stream waits for the compute stream, which goes on;
- ``barrier``: as ``event``, and the host waits for all ranks before every turn;
- ``serial``: all tasks on one stream, one after the other;
- ``alone``: every task by itself, in a loop.

A collective may pin its ``channels``, or go ``by: engines``, the library's copy engines, or ``by:
symmetric``, its kernels for such buffers: both between buffers of symmetric memory. An all-gather
is out of place, unless it says ``in_place``. With ``group: 2`` every two ranks have one of their
own, ``stride`` apart (1: neighbours); two collectives of a case are of two kinds, which names tell.

Each case leaves the profiler's trace of each rank, ``CASE.MODE.rankR.json.gz``, which tells its
case in ``loop``. ``c3sim import *.json.gz`` makes records of the traces.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from cuda.bindings import runtime as cudart
from torch.profiler import ProfilerActivity, profile

from .plan import Case, cases_of
from .ranks import everyone, group_of, joined, out_of_time, run_plan, symmetric
from .timing import AHEAD, MIB, WARM_UP, Call, write_trace

BY_ADDRESS = cudart.cudaMemcpyKind.cudaMemcpyDefault


def checked(answer: Any) -> Any:
    """The value of a call of the runtime. Raises RuntimeError if it failed."""
    error, *values = answer
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(f"CUDA: {error.name}")
    return values[0] if values else None


@dataclass
class Rank:
    """Buffers and streams of one process."""

    rank: int
    ranks: int
    generator: torch.Generator
    peer: int = 0  # address of memory of the next rank, opened by its handle
    streams: dict[str, torch.cuda.Stream] = field(default_factory=dict)
    groups: dict[tuple[Any, ...], dist.ProcessGroup] = field(default_factory=dict)

    def random(self, *shape: int) -> torch.Tensor:
        """bf16, of a normal distribution."""
        made = torch.empty(*shape, dtype=torch.bfloat16, device="cuda")
        return made.normal_(generator=self.generator)

    def call(self, task: dict[str, Any]) -> Call:
        """One call of *task*; buffers are made here, once."""
        kind = task["kind"]
        if kind == "gemm":
            a, b = self.random(task["m"], task["k"]), self.random(task["k"], task["n"])
            c = torch.empty(task["m"], task["n"], dtype=torch.bfloat16, device="cuda")
            return lambda: torch.mm(a, b, out=c)
        count = task["mib"] * MIB // 2
        if kind == "copy":  # within the GPU, by a call of the runtime
            source, target = self.random(count), torch.empty_like(self.random(count))
            return lambda: target.copy_(source, non_blocking=True)
        if kind == "stream":  # an elementwise kernel
            x, y, z = self.random(count), self.random(count), self.random(count)
            if task["pattern"] == "triad":
                return lambda: torch.add(x, y, alpha=2, out=z)
            return lambda: torch.neg(x, out=y)
        if kind == "peer":  # to or from the next rank's memory, opened by its handle
            here = self.random(count)
            there, mine = self.peer, here.data_ptr()
            target, source = (there, mine) if task["direction"] == "push" else (mine, there)

            def copy(_keep: torch.Tensor = here) -> None:
                stream = torch.cuda.current_stream().cuda_stream
                checked(cudart.cudaMemcpyAsync(target, source, 2 * count, BY_ADDRESS, stream))

            return copy
        return self.collective(task, count)

    def collective(self, task: dict[str, Any], count: int) -> Call:
        """One call of a collective of so many numbers, among the ranks of its group."""
        group = self.group(
            task.get("channels", 0),
            task.get("by") == "engines",
            task.get("group", 0),
            task.get("stride", 1),
        )
        members = dist.get_world_size(group)
        with symmetric(group, "by" in task):
            whole, other = self.random(count), self.random(count)
            part = self.random(count // members)
        if task.get("in_place"):
            part = whole.chunk(members)[dist.get_rank(group)]
        how = {"group": group, "async_op": True}
        return {
            "all_gather": lambda: dist.all_gather_into_tensor(whole, part, **how),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole, **how),
            "all_reduce": lambda: dist.all_reduce(whole, **how),
            "all_to_all": lambda: dist.all_to_all_single(other, whole, **how),
        }[task["op"]]

    def group(self, *setting: Any) -> dist.ProcessGroup:
        """A communicator of its own for each *setting* (of ``group_of``)."""
        if setting not in self.groups:
            self.groups[setting] = group_of(*setting)
        return self.groups[setting]

    def stream(self, name: str, priority: int = 0) -> torch.cuda.Stream:
        if name not in self.streams:
            self.streams[name] = torch.cuda.Stream(priority=priority)
        return self.streams[name]


def turn_by_event(rank: Rank, calls: dict[str, Call]) -> None:
    """Launch *calls* in order, each on its stream, all released by one event; join them."""
    control = rank.stream("control")
    released = control.record_event()
    for name, call in calls.items():
        stream = rank.stream(name, 0 if name == "gemm" else -1)
        stream.wait_event(released)
        with torch.cuda.stream(stream):
            work = call()
            if hasattr(work, "wait"):  # a collective has a stream of the framework's
                work.wait()
        control.wait_event(stream.record_event())


def turn_async(rank: Rank, calls: dict[str, Call]) -> None:
    """Launch *calls* from one stream; collectives and copies run beside it until its end."""
    main, handles = rank.stream("gemm"), []
    with torch.cuda.stream(main):
        for name, call in calls.items():
            if name == "copy":
                side = rank.stream("copy", -1)
                side.wait_stream(main)
                with torch.cuda.stream(side):
                    call()
                handles.append(side)
            elif name == "gemm":
                call()
            else:
                handles.append(call())
        for handle in handles:
            main.wait_stream(handle) if isinstance(handle, torch.cuda.Stream) else handle.wait()


def turn_alone(rank: Rank, calls: dict[str, Call]) -> None:
    """Launch *calls* one after the other on one stream."""
    with torch.cuda.stream(rank.stream("control")):
        for call in calls.values():
            work = call()
            if hasattr(work, "wait"):
                work.wait()


TURNS = {"event": turn_by_event, "barrier": turn_by_event, "async": turn_async}


def run_case(rank: Rank, case: Case, turns: int, file: Path, host: dist.ProcessGroup) -> None:
    """Profile *turns* turns of *case* and leave the trace in *file*."""
    calls = {task: rank.call(case.tasks[task]) for task in case.order}
    turn = partial(TURNS.get(case.mode, turn_alone), rank, calls)
    for _ in range(WARM_UP):
        turn()
    torch.cuda.synchronize()
    about = {**asdict(case), "turns": turns, "rank": rank.rank, "ranks": rank.ranks}
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, record_shapes=True) as profiler:
        profiler.add_metadata_json("loop", json.dumps(about))
        dist.barrier(host)
        torch.cuda._sleep(AHEAD)
        rank.stream("control").wait_stream(torch.cuda.current_stream())
        for _ in range(turns):
            if case.mode == "barrier":
                torch.cuda.synchronize()
                dist.barrier(host)
            turn()
        torch.cuda.synchronize()
    write_trace(profiler, file)


def run_rank(rank: int, ranks: int, out: Path, plan: dict[str, Any]) -> None:
    with joined(rank, ranks) as host:
        here = Rank(rank, ranks, torch.Generator(device="cuda").manual_seed(1 + rank))
        peers = [case.tasks["peer"]["mib"] for case in cases_of(plan) if "peer" in case.tasks]
        if largest := max(peers, default=0):
            _, here.peer = shared_memory(largest * MIB, host)
        limit = time.monotonic() + plan["seconds"]
        for case in cases_of(plan):
            if out_of_time(limit, case.name, host):
                break
            file = out / f"{case.name}.{case.mode}.rank{rank}.json.gz"
            run_case(here, case, plan["turns"], file, host)
            torch.cuda.empty_cache()


def shared_memory(size: int, host: dist.ProcessGroup) -> tuple[int, int]:
    """Address of a new buffer of *size* bytes, and of the next rank's, opened by its IPC handle in
    this process, for this GPU.
    """
    mine = checked(cudart.cudaMalloc(size))
    handles = everyone(bytes(checked(cudart.cudaIpcGetMemHandle(mine)).reserved), host)
    theirs = cudart.cudaIpcMemHandle_t()
    theirs.reserved = handles[(dist.get_rank() + 1) % len(handles)]
    flags = cudart.cudaIpcMemLazyEnablePeerAccess
    return mine, checked(cudart.cudaIpcOpenMemHandle(theirs, flags))


if __name__ == "__main__":
    run_plan(run_rank, __doc__, "turns")

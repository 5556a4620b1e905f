"""A process for each GPU: how the drivers of this folder begin, meet on the host, and end."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
import yaml

from .plan import groups

PORT = "29531"  # of this host, on which the ranks find each other
POOLS: list[Any] = []  # kept: their memory is registered


@contextmanager
def joined(rank: int, ranks: int) -> Iterator[dist.ProcessGroup]:
    """Make this process *rank* of so many *ranks*, each on a GPU of its own. Gives their group on
    the host, for what the GPUs must not see; at the end each waits there for the others.
    """
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=PORT)
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank)
    )
    host = dist.new_group(backend="gloo")
    yield host
    dist.barrier(host)  # not after an error: the others may never come
    dist.destroy_process_group()
    if POOLS:  # their end would ask the communicator that is gone, and abort
        sys.stdout.flush()
        os._exit(0)


def group_of(
    channels: int = 0, engines: bool = False, size: int = 0, stride: int = 1
) -> dist.ProcessGroup:
    """The communicator of this rank's group: *size* ranks, *stride* apart (0: all ranks), on so
    many *channels* (0: as many as the library likes), or whose collectives run on copy *engines*
    where the library can (NCCL's policy of no CTA). All ranks have to call this.
    """
    if not channels and not engines and not size:
        return dist.group.WORLD
    mine = None
    for members in groups(dist.get_world_size(), size, stride):
        options = dist.ProcessGroupNCCL.Options()
        if channels:
            options.config.min_ctas = options.config.max_ctas = channels
        if engines:
            options.config.cta_policy = dist.ProcessGroupNCCL.NCCL_CTA_POLICY_ZERO
        made = dist.new_group(members, pg_options=options)
        mine = made if dist.get_rank() in members else mine
    return mine


@contextmanager
def symmetric(group: dist.ProcessGroup, wanted: bool) -> Iterator[None]:
    """Tensors made inside lie in symmetric memory of *group*, if that is *wanted*."""
    if not wanted:
        yield
        return
    library = group._get_backend(torch.device("cuda"))
    dist.barrier(group)  # makes the communicator
    pool = torch.cuda.MemPool(library.mem_allocator)
    with torch.cuda.use_mem_pool(pool):
        yield
    library.register_mem_pool(pool, symm=True)
    POOLS.append(pool)


class RegisteredGathers:
    """All-gathers of sharded layers in registered windows of *group*, for FSDP's
    set_custom_all_gather: AHEAD buffers of each size take turns, as the gather of one layer runs
    while another is read. In place, so that a copy engine has peers' parts alone to move.
    """

    AHEAD = 3

    def __init__(self, group: dist.ProcessGroup):
        self.group, self.kept = group, dict[int, deque[torch.Tensor]]()

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: Any) -> torch.Tensor:
        count = prod(int(each) for each in size)
        kept = self.kept.setdefault(count, deque())
        if len(kept) < self.AHEAD:
            with symmetric(self.group, True):
                kept.append(torch.empty(count, dtype=dtype, device=device))
        kept.rotate(1)
        return kept[0]

    def __call__(
        self,
        output_tensor: torch.Tensor,
        input_tensor: torch.Tensor,
        group: dist.ProcessGroup,
        async_op: bool = False,
    ) -> Any:
        return dist.all_gather_into_tensor(output_tensor, input_tensor, group, async_op)


def out_of_time(limit: float, what: str, host: dist.ProcessGroup) -> bool:
    """True if some rank's clock is past *limit* (s, monotonic); all get the same answer, and say
    before *what* they stop.
    """
    late = torch.tensor([int(time.monotonic() > limit)])
    dist.all_reduce(late, op=dist.ReduceOp.MAX, group=host)
    if late.item():
        print(f"rank {dist.get_rank()}: out of time before {what}", file=sys.stderr)
    return bool(late.item())


def slowest(times: Sequence[float], host: dist.ProcessGroup) -> list[float]:
    """Longest of all ranks, for each of the *times* [s]."""
    return [max(each) for each in zip(*everyone(list(times), host), strict=True)]


def everyone(mine: Any, host: dist.ProcessGroup) -> list[Any]:
    """*mine* of every rank, by rank."""
    every: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(every, mine, group=host)
    return every


def write_turns(file: Path, case: Mapping[str, str], turns: Sequence[float]) -> None:
    """Add a line to *file*: *case* and the seconds of its *turns*; their median on the screen."""
    named = " ".join(f"{value:18}" for value in case.values())
    print(f"{named} {1e6 * median(turns):9.1f} us", flush=True)
    with file.open("a") as lines:
        lines.write(json.dumps({**case, "turns_s": list(turns)}) + "\n")


def command_line(about: str, folder: str) -> argparse.ArgumentParser:
    """Options that all drivers have; *about*: their docstring, *folder*: where results go."""
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(folder))
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    return parser


def start(run_rank: Callable[..., None], given: argparse.Namespace, *more: Any) -> None:
    """Call *run_rank* with rank, ranks, folder and what is *more*, in a process for each GPU."""
    given.out.mkdir(parents=True, exist_ok=True)
    processes.spawn(run_rank, (given.gpus, given.out, *more), nprocs=given.gpus)


def run_plan(run_rank: Callable[..., None], about: str, folder: str) -> None:
    """A driver whose command line names a plan, which its ranks get."""
    parser = command_line(about, folder)
    parser.add_argument("plan", type=Path)
    given = parser.parse_args()
    start(run_rank, given, plan_of(given.plan))


def plan_of(file: Path) -> dict[str, Any]:
    plan: dict[str, Any] = yaml.safe_load(file.read_text())
    return plan

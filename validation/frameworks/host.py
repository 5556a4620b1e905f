"""Times of a host in one process: calls of tiny models, each by itself.

    python -m validation.frameworks.host --out FOLDER

Hosts differ by machine, and the same process is up to twice as slow for seconds at a time. What is
timed here is done by the GPU sooner than the host has called for it, so the time is the host's.
All ranks measure at once, as they call in a loop. One line of JSON per call goes to
``host.rankR.jsonl``, as those of ``calls.py``, with what the system says of the host meanwhile:
``cpu`` it ends on, ``own_s`` that the thread ran, ``steal_s`` that processors of this machine had
work and were not let run. ``c3sim import --as host`` makes of them how slow the host is.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from .models import Lamb, Model
from .ranks import command_line, joined, start
from .timing import BF16, Call

WARM_UP, ROUNDS, FEW_ROUNDS = 3, 40, 3
LAYERS, TENSORS = 16, 64
TINY = {"hidden": 256, "heads": 4, "kv_heads": 2, "head_dim": 64, "ffn": 512, "vocab": 1024}
DECODER = {**TINY, "gated": True, "causal": True}
ENCODER = {**TINY, "kv_heads": 4, "gated": False, "causal": False}
#: Calls that are timed around every case of a plan; the others only at the start.
QUICK = (("layer_decoder", "forward"), ("layer_decoder", "both"))


class Host:
    """The calls of one process, made once; *rank* of it."""

    def __init__(self, rank: int):
        self.rank = rank
        self.calls = {
            ("layer_decoder", "forward"): (LAYERS, layer_calls(model, DECODER, "forward")),
            ("layer_decoder", "both"): (LAYERS, layer_calls(model, DECODER, "both")),
            ("layer_encoder", "forward"): (LAYERS, layer_calls(model, ENCODER, "forward")),
            ("layer_encoder", "both"): (LAYERS, layer_calls(model, ENCODER, "both")),
            ("layer_decode", "forward"): (LAYERS, decode_call()),
            (f"adamw_foreach_{TENSORS}", "step"): (1, stepped("adamw_foreach", TENSORS)),
        }
        for _, call in self.calls.values():
            for _ in range(WARM_UP):
                call()

    def measured(self, about: dict[str, Any], names: Any = QUICK) -> list[dict[str, Any]]:
        """A line for each of the calls *names*, with what it is *about*; of fewer rounds than at
        the start.
        """
        rounds = FEW_ROUNDS if names is QUICK else ROUNDS
        times: dict[Any, list[float]] = {name: [] for name in names}
        own, steal = time.thread_time(), stolen()
        for _ in range(rounds):
            for name in names:
                count, call = self.calls[name]
                torch.cuda.synchronize()
                begun = time.perf_counter()
                kept = call()
                times[name].append(1e6 * (time.perf_counter() - begun) / count)
                torch.cuda.synchronize()
                del kept
        system = {"cpu": processor(), "own_s": time.thread_time() - own}
        system["steal_s"] = None if steal is None else (stolen() or 0.0) - steal
        return [
            {"call": call, "phase": phase, "mode": "together", "rank": self.rank}
            | {"count": self.calls[call, phase][0], "us": [round(us, 3) for us in each]}
            | about
            | system
            for (call, phase), each in times.items()
        ]

    def write(self, file: Path) -> None:
        """All calls, and what the processors are, into *file*."""
        lines = self.measured({"processors": processors()}, tuple(self.calls))
        with file.open("a") as open_file:
            open_file.writelines(json.dumps(line) + "\n" for line in lines)


def processor() -> int | None:
    """Processor that the thread was on last; None where the system does not tell."""
    try:
        fields = Path("/proc/thread-self/stat").read_text().rpartition(")")[2].split()
        return int(fields[36])  # proc(5): field 39, of which the third is the first here
    except (OSError, IndexError, ValueError):
        return None


def stolen() -> float | None:
    """Seconds that all processors were not given although they had work; None: not known."""
    try:
        ticks = int(Path("/proc/stat").read_text().split()[8])  # proc(5): steal
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return None


def processors() -> dict[str, Any]:
    """Their number, name, which share a core with which, and what system they run."""
    found: dict[str, Any] = {"count": os.cpu_count(), "allowed": len(os.sched_getaffinity(0))}
    found["kernel"] = platform.release()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found["name"] = next((line for line in lines if line.startswith("model name")), "")
        places = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")
        found["siblings"] = sorted({place.read_text().strip() for place in places})
    except OSError as error:
        found["error"] = str(error)
    return found


def model(sizes: dict[str, Any], part: int = 1, reduces: bool = False) -> Model:
    return Model(sizes, LAYERS, False, part, reduces)


def layer_calls(make: Callable[[Any], Any], sizes: dict[str, Any], phase: str) -> Call:
    """A pass over a whole model without head, as *make* makes it."""
    x, made = torch.randn(1, 16, TINY["hidden"], **BF16), make(sizes).train(phase != "forward")

    def once() -> Any:
        if phase == "forward":
            with torch.no_grad():
                return made(x)
        out = made(x)
        if phase == "both":
            out.backward(x)
            made.zero_grad(set_to_none=True)
        return out

    return once


def decode_call(part: int = 1, reduces: bool = False) -> Call:
    made, context = model(DECODER, part, reduces).eval(), 64
    x = torch.randn(2, 1, TINY["hidden"], **BF16)
    shape = (2, TINY["kv_heads"] // part, context + 1, TINY["head_dim"])
    past = [(torch.randn(*shape, **BF16), torch.randn(*shape, **BF16))] * LAYERS

    def once() -> None:
        with torch.no_grad():
            made(x, past, context)

    return once


def stepped(kind: str, count: int) -> Call:
    """A step of an optimizer over *count* tensors."""
    tensors = [torch.randn(64, 64, **BF16).requires_grad_() for _ in range(count)]
    for each in tensors:
        each.grad = torch.randn_like(each)
    made: Any
    if kind == "lamb_foreach":
        made = Lamb(tensors, lr=1e-6)
    else:
        how = {"fused": True} if kind == "adamw_fused" else {"foreach": True}
        made = torch.optim.AdamW(tensors, lr=1e-6, **how)
    return lambda: made.step()


def run_rank(rank: int, ranks: int, out: Path) -> None:
    with joined(rank, ranks) as group:
        torch.manual_seed(1 + rank)
        host = Host(rank)
        dist.barrier(group)
        host.write(out / f"host.rank{rank}.jsonl")


if __name__ == "__main__":
    start(run_rank, command_line(__doc__, "host").parse_args())

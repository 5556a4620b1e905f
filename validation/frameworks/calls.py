"""Host time of a framework's calls, each by itself: what a thread pays to launch an operator.

    python -m validation.frameworks.calls --out FOLDER

Chains of one operator on tensors so small that the GPU is never the limit; the clock of the host,
from the first call to the return of the last one, over their number. Phases:

- ``forward``: no gradients wanted;
- ``recorded``: forward, and the graph for gradients is built;
- ``both``: the same, and the backward pass behind it;
- ``step``, ``call``, ``replay``: of an optimizer, of a collective, of a CUDA graph.

Modes: ``alone``, one process while the others wait; ``together``, a process per GPU at once;
``profiled``, the same under the profiler. One JSON line per call, phase, mode and rank goes to
``calls.rankR.jsonl``: ``us`` host time per call and ``us_to_end`` until the GPU is done too, of
each repeat. Whole layers of :mod:`.models` are among the calls: what they take more than the sum of
their operators is what happens between them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from .chains import CALLS, Chain, chains
from .host import DECODER, ENCODER, LAYERS, decode_call, layer_calls, model, stepped
from .iterations import replayed
from .ranks import command_line, joined, start
from .timing import BF16, Call

WARM_UP, REPEATS = 3, 9
PROFILED_REPEATS = 2
TENSORS = (8, 64, 256)  # of an optimizer


@dataclass
class Desk:
    """The output of one rank, in the present mode."""

    file: Path
    rank: int
    mode: str = "alone"
    repeats: int = REPEATS
    errors: list[str] = field(default_factory=list)

    def measure(self, name: str, phase: str, count: int, make: Callable[[], Call]) -> None:
        """Time what *make* makes, which has *count* calls. One that fails costs no other."""
        try:
            times = self._times(make())
            about: dict[str, Any] = {
                "us": [round(1e6 * called / count, 3) for called, _ in times],
                "us_to_end": [round(1e6 * ended / count, 3) for _, ended in times],
            }
        except (RuntimeError, ValueError, TypeError, AttributeError) as error:
            about = {"error": f"{type(error).__name__}: {error}"[:300]}
            self.errors.append(name)
        line = {"call": name, "phase": phase, "mode": self.mode, "rank": self.rank, "count": count}
        with self.file.open("a") as file:
            file.write(json.dumps({**line, **about}) + "\n")

    def _times(self, call: Call) -> list[tuple[float, float]]:
        """Seconds until the last call has returned, and until the GPU is done."""
        times = []
        for number in range(WARM_UP + self.repeats):
            kept = None  # taking a graph down is no part of building it
            torch.cuda.synchronize()
            begun = time.perf_counter()
            kept = call()
            called = time.perf_counter()
            torch.cuda.synchronize()
            ended = time.perf_counter()
            if number >= WARM_UP:
                times.append((called - begun, ended - begun))
        del kept
        return times


def run_chains(desk: Desk) -> None:
    for name, make in chains().items():
        desk.measure(name, "forward", CALLS, partial(forward, make, torch.no_grad))
        desk.measure(name, "recorded", CALLS, partial(forward, make, torch.enable_grad))
        desk.measure(name, "both", CALLS, partial(there_and_back, make))


def forward(make: Callable[[], Chain], gradients: Callable[[], Any]) -> Call:
    chain = make()

    def once() -> Any:
        with gradients():
            return chain.run()

    return once


def there_and_back(make: Callable[[], Chain]) -> Call:
    chain = make()
    grown: dict[torch.Size, Tensor] = {}

    def once() -> None:
        ends = chain.run()
        for end in ends:
            if end.shape not in grown:
                grown[end.shape] = torch.ones_like(end)
        torch.autograd.backward(ends, [grown[end.shape] for end in ends])
        for each in chain.weights:
            each.grad = None

    return once


def run_layers(desk: Desk) -> None:
    for name, sizes in {"layer_decoder": DECODER, "layer_encoder": ENCODER}.items():
        for phase in ("forward", "recorded", "both"):
            desk.measure(name, phase, LAYERS, partial(layer_calls, model, sizes, phase))
    desk.measure("layer_decode", "forward", LAYERS, decode_call)
    desk.measure(
        "layer_decoder", "replay", 1, lambda: replayed(layer_calls(model, DECODER, "forward"))
    )
    desk.measure("layer_decode", "replay", 1, lambda: replayed(decode_call()))


def run_optimizers(desk: Desk) -> None:
    for kind in ("adamw_foreach", "adamw_fused", "lamb_foreach"):
        for count in TENSORS:
            desk.measure(f"{kind}_{count}", "step", 1, partial(stepped, kind, count))


def run_collectives(desk: Desk, ranks: int) -> None:
    """Calls on the process's side, and what wrappers add to a layer; all ranks take part."""
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    whole = torch.randn(1024 * ranks, **BF16)
    part = torch.randn(1024, **BF16)
    calls: dict[str, Call] = {
        "all_reduce": lambda: dist.all_reduce(whole),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
        "all_to_all": lambda: dist.all_to_all_single(torch.empty_like(whole), whole),
    }
    for name, call in calls.items():
        desk.measure(name, "call", CALLS, partial(repeated, call))

    def sharded(sizes: dict[str, Any]) -> Any:
        made = model(sizes)
        for layer in made.layers:
            fully_shard(layer)
        return fully_shard(made)

    def wrapped(sizes: dict[str, Any]) -> Any:
        return DistributedDataParallel(model(sizes))

    for name, reduces in {"split": False, "tensor": True}.items():
        shared = partial(model, part=ranks, reduces=reduces)
        made = partial(layer_calls, shared, DECODER, "forward")
        desk.measure(f"{name}_decoder", "forward", LAYERS, made)
        desk.measure(f"{name}_decode", "forward", LAYERS, partial(decode_call, ranks, reduces))
    for name, sizes in {"decoder": DECODER, "encoder": ENCODER}.items():
        for phase in ("forward", "both"):
            made = partial(layer_calls, sharded, sizes, phase)
            desk.measure(f"fsdp_{name}", phase, LAYERS, made)
        desk.measure(f"ddp_{name}", "both", LAYERS, partial(layer_calls, wrapped, sizes, "both"))


def repeated(call: Call) -> Call:
    return lambda: [call() for _ in range(CALLS)]


def modes(desk: Desk, rank: int, host: Any) -> Iterator[bool]:
    """Sets the modes of *desk* one after the other; yields whether this rank takes part."""
    for mode in ("alone", "together"):
        desk.mode = mode
        dist.barrier(host)
        yield rank == 0 or mode == "together"
    desk.mode, desk.repeats = "profiled", PROFILED_REPEATS
    dist.barrier(host)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True):
        yield True


def run_rank(rank: int, ranks: int, out: Path) -> None:
    with joined(rank, ranks) as host:
        torch.manual_seed(1 + rank)
        desk = Desk(out / f"calls.rank{rank}.jsonl", rank)
        began = time.monotonic()
        for takes_part in modes(desk, rank, host):
            if takes_part:
                run_chains(desk)
                run_layers(desk)
                run_optimizers(desk)
            if desk.mode != "alone":
                dist.barrier(host)
                run_collectives(desk, ranks)
            print(f"rank {rank}: {desk.mode}, {time.monotonic() - began:.0f} s", flush=True)
        print(f"rank {rank}: failed: {', '.join(desk.errors) or 'none'}", flush=True)


if __name__ == "__main__":
    start(run_rank, command_line(__doc__, "calls").parse_args())

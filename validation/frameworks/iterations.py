"""Whole iterations of models with PyTorch: computation alone, communication alone, together.

    python -m validation.frameworks.iterations PLAN.yaml --out FOLDER

A process per GPU, no barrier between iterations. Each case of the plan is a description
(`kind: iteration`) with a name; one with `launch: graph` is captured and replayed. The modes:

- ``together``: as a user runs it;
- ``compute``: the same work of each GPU without any communication (a rank with whole weights);
- ``communication``: the collectives of the iteration, in order, nothing else.

Where nothing is parallel, together alone. ``only: [together]`` of a case leaves the others out.
``fused: true`` compiles every layer (torch.compile).
A sharded case may pin ``channels``, or gather ``by: engines``: in registered windows, under NCCL's
policy of no CTA. A case whose ``parallel`` names
dimensions of a mesh (pp, dp_replicate, dp_shard, cp, tp; ep: experts dealt to all of dp_shard) runs
together only: its stages by PyTorch's pipelining, its shared sequences by PyTorch's ring attention
(``cp_rotate``), a group and a communicator for each dimension. ``dp_shard: -1``: what is left, and
weights are sharded over it and cp. ``attention: flash_2``: by PyTorch's FLASH_ATTENTION.

One line of JSON per case and mode goes to ``iterations.jsonl``: seconds of each iteration on the
slowest rank (``iterations_s``), seconds that the slower host spent in its calls (``calls_s``), and
how fast the hosts were just before and just after (``host``: calls of tiny models, lines of
``host.py``). The same at the start, longer, goes to ``host.rankR.jsonl``. Runs together leave the
profiler's trace of each rank as well, of *profiled* iterations, if the plan names their case in
*traced* (left out: of all).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import set_rotate_method
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

from .host import Host
from .models import Among, Lamb, Model
from .ranks import RegisteredGathers, everyone, group_of, joined, out_of_time, run_plan, slowest
from .timing import BF16, MIB, Call, events, write_trace

WARM_UP, TIMED, PROFILED = 4, 12, 3
OPTIMIZERS = {"adamw": torch.optim.AdamW, "lamb": Lamb}
DIMENSIONS = ("pp", "dp_replicate", "dp_shard", "cp", "tp")  # outermost first, as torchtitan
SCHEDULES = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe}
MODES = ("compute", "communication", "together")


class Case:
    """One description on one rank."""

    def __init__(self, about: dict[str, Any], mode: str, ranks: int):
        self.about, self.mode, self.ranks = about, mode, ranks
        self.sizes, self.phase = about["sizes"], about["phase"]
        self.kind = about["parallel"].get("kind", "mesh")
        self.part = ranks if self.kind == "tensor" else about["parallel"].get("tp", 1)

    def call(self) -> Call:
        """One iteration."""
        if self.kind == "mesh":
            call = Mesh(self).call()
        elif self.mode == "communication":
            call = self.collectives()
        else:
            call = self.turn(self.model())
        return replayed(call) if self.about.get("launch") == "graph" else call

    def model(self) -> Any:
        about, talks = self.about, self.mode == "together"
        model = Model(self.sizes, about["layers"], about["head"], self.part, talks)
        if about.get("fused"):
            for layer in model.layers:
                layer.compile()
        if not talks:
            return model
        if self.kind == "fsdp":
            return self.sharded(model)
        if self.kind == "ddp":
            return DistributedDataParallel(model, bucket_cap_mb=about["parallel"]["bucket_mib"])
        return model

    def sharded(self, model: Any) -> Any:
        """*model*, whose gathers and sums go over a communicator as the case says."""
        engines = self.about.get("by") == "engines"
        group = group_of(self.about.get("channels", 0), engines)
        mesh = DeviceMesh.from_group(group, "cuda")
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        if engines:  # of each layer: what is set counts for the module's own parameters
            gathers = RegisteredGathers(group)
            for module in (*model.layers, model):
                module.set_custom_all_gather(gathers)
        return model

    def given(self) -> Tensor:
        batch = self.about["batch"]
        tokens = 1 if self.phase == "decode" else self.about["tokens"]
        tokens //= self.about["parallel"].get("cp", 1)
        if self.about["head"]:
            return torch.randint(0, self.sizes["vocab"], (batch, tokens), device="cuda")
        return torch.randn(batch, tokens, self.sizes["hidden"], **BF16)

    def turn(self, model: Any) -> Call:
        """One iteration of *model*, trained or forward."""
        return self.trained(model) if self.phase == "training" else self.run_forward(model)

    def run_forward(self, model: Any) -> Call:
        model, x, past, place = model.eval(), self.given(), None, 0
        if self.phase == "decode":
            place = self.about["context"]
            past = [model.layers[0].past(self.about["batch"], place + 1)] * len(model.layers)

        def once() -> None:
            with torch.no_grad():
                model(x, past, place)

        return once

    def trained(self, model: Any) -> Call:
        model, x = model.train(), self.given()
        updated = self.updated(model)

        def once() -> None:
            out = model(x)
            if self.about["head"]:
                loss_of(out, x).backward()
            else:  # what follows the layers is not described
                out.backward(x)
            updated()

        return once

    def updated(self, model: Any) -> Call:
        """The optimizer's step, if there is one; gradients go."""
        kind = OPTIMIZERS.get(self.about["optimizer"])
        alike: dict[bool, list[Any]] = {}  # lists of tensors are all sharded or all not
        for each in model.parameters():
            alike.setdefault(isinstance(each, DTensor), []).append(each)
        groups = [{"params": each} for each in alike.values()]
        optimizer = None if kind is None else kind(groups, lr=1e-6)

        def once() -> None:
            if optimizer is not None:
                optimizer.step()
            model.zero_grad(set_to_none=True)

        return once

    def collectives(self) -> Call:
        """The iteration's collectives in order, on the framework's stream."""
        weights = [
            sum(each.numel() for each in layer.parameters())
            for layer in Model(self.sizes, self.about["layers"], False, self.part, False).layers
        ]
        ranks, calls = self.ranks, list[Call]()
        if self.kind == "tensor":
            tokens = 1 if self.phase == "decode" else self.about["tokens"]
            x = torch.randn(self.about["batch"] * tokens, self.sizes["hidden"], **BF16)
            calls = [lambda: dist.all_reduce(x)] * (2 * len(weights))
        elif self.kind == "ddp":
            bucket = self.about["parallel"]["bucket_mib"] * MIB // 2
            y = torch.randn(bucket, **BF16)
            calls = [lambda: dist.all_reduce(y)] * max(1, round(sum(weights) / bucket))
        elif self.kind == "fsdp":
            whole = torch.randn(max(weights) // ranks * ranks, **BF16)
            part = torch.randn(whole.numel() // ranks, **BF16)
            gathers = (2 if self.phase == "training" else 1) * len(weights)
            calls = [lambda: dist.all_gather_into_tensor(whole, part)] * gathers
            if self.phase == "training":
                calls += [lambda: dist.reduce_scatter_tensor(part, whole)] * len(weights)
        return lambda: [call() for call in calls]


def loss_of(out: Tensor, x: Tensor) -> Tensor:
    """Cross entropy of the scores *out* for the words *x*."""
    return F.cross_entropy(out.flatten(0, 1).float(), x.flatten())


class Mesh:
    """A case whose ranks are a mesh of named dimensions, on one rank."""

    def __init__(self, case: Case):
        self.case, self.parallel = case, case.about["parallel"]
        sizes = {name: self.parallel.get(name, 1) for name in DIMENSIONS}
        if sizes["dp_shard"] < 0:
            sizes["dp_shard"] = case.ranks // -prod(sizes.values())
        self.sizes = sizes
        self.mesh = init_device_mesh("cuda", tuple(sizes.values()), mesh_dim_names=DIMENSIONS)
        self.stage, self.stages = self.mesh.get_local_rank("pp"), sizes["pp"]
        self.dealt = self.parallel.get("ep", 1) > 1

    def call(self) -> Call:
        if self.stages > 1:
            return self.piped()
        call = self.case.turn(self.model(self.case.about["layers"]))
        call = call if self.sizes["cp"] == 1 else self.shared(call)
        return by_flash_2(call) if self.case.about.get("attention") == "flash_2" else call

    def shared(self, call: Call) -> Call:
        """*call*, whose attention goes round the GPUs that share its sequences."""
        mesh, method = self.mesh["cp"], self.parallel["cp_rotate"]
        places = torch.zeros(1, 2 * mesh.size(), device="cuda")  # inputs are parts

        def once() -> None:
            set_rotate_method(method)
            shared = context_parallel(mesh, buffers=[places], buffer_seq_dims=[1])
            with shared:
                call()

        return once

    def model(self, layers: int) -> Any:
        """Part of so many *layers* that this rank has."""
        case, mesh = self.case, self.mesh
        among = Among(
            mesh.get_group("tp") if case.part > 1 else None,
            mesh.get_group("dp_shard") if self.dealt else None,
            self.stage == 0,
            self.stage == self.stages - 1,
        )
        model = Model(case.sizes, layers, case.about["head"], case.part, case.part > 1, among)
        replicas, shards = self.sizes["dp_replicate"], self.parallel.get("dp_shard", 1)
        if case.phase not in ("training", "forward") or replicas * shards == 1:
            return model
        if shards == 1:
            bucket = self.parallel["bucket_mib"]
            group = mesh.get_group("dp_replicate")
            return DistributedDataParallel(model, process_group=group, bucket_cap_mb=bucket)
        sharded = mesh["dp_replicate", "dp_shard"] if replicas > 1 else mesh["dp_shard"]
        if self.sizes["cp"] > 1:
            sharded = mesh["dp_shard", "cp"]._flatten("shards")
        dealt = {each for each in model.modules() if self.dealt and hasattr(each, "gate_up")}
        kept = {weights for each in dealt for weights in (each.gate_up, each.down)}
        for layer in model.layers:
            fully_shard(layer, mesh=sharded, ignored_params=kept or None)
        fully_shard(model, mesh=sharded, ignored_params=kept or None)
        if self.parallel.get("forward_prefetch"):
            for layer, following in pairwise(model.layers):
                layer.set_modules_to_forward_prefetch([following])
        return model

    def piped(self) -> Call:
        """Layers in stages, micro batches one after the other."""
        case, first, last = self.case, self.stage == 0, self.stage == self.stages - 1
        model = self.model(case.about["layers"] // self.stages).train()
        stage = PipelineStage(
            model,
            self.stage,
            self.stages,
            torch.device("cuda", torch.cuda.current_device()),
            group=self.mesh.get_group("pp"),
        )
        kind = SCHEDULES[self.parallel.get("schedule", "1f1b")]
        parts = self.parallel["micro_batches"]
        schedule = kind(stage, parts, loss_fn=loss_of, scale_grads=False)
        torch.manual_seed(1)
        x, updated = case.given(), case.updated(model)

        def once() -> None:
            given = (x,) if first else ()
            schedule.step(*given, **({"target": x, "losses": []} if last else {}))
            updated()

        return once


def by_flash_2(call: Call) -> Call:
    """*call*, whose attention is that of FlashAttention-2."""

    def once() -> None:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            call()

    return once


def replayed(call: Call) -> Call:
    """*call*, captured in a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # other threads of the process (the library's watchdog) go on with calls of the runtime
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        call()

    def once(_kept: Call = call) -> None:  # the graph reads tensors that the call holds
        graph.replay()

    return once


def timed(call: Call) -> tuple[list[float], list[float]]:
    """Seconds of each iteration on this rank, from event to event on its stream, and by the clock
    of its host, which may be ahead.
    """
    marks = events(TIMED + 1)
    clock = [time.perf_counter()]
    for mark in marks[:-1]:
        mark.record()
        call()
        clock.append(time.perf_counter())
    marks[-1].record()
    torch.cuda.synchronize()
    by_host = [after - before for before, after in pairwise(clock)]
    return [a.elapsed_time(b) / 1e3 for a, b in pairwise(marks)], by_host


def traced(call: Call, file: Path, about: dict[str, Any], iterations: int) -> None:
    """Profile so many iterations with step marks and leave the trace in *file*."""
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, record_shapes=True) as profiler:
        profiler.add_metadata_json("iteration", json.dumps(about))
        for step in range(iterations):
            with torch.profiler.record_function(f"ProfilerStep#{step}"):
                call()
        torch.cuda.synchronize()
    write_trace(profiler, file)


def run_rank(rank: int, ranks: int, out: Path, plan: dict[str, Any]) -> None:
    limit = time.monotonic() + plan["seconds"]
    with joined(rank, ranks) as group:
        torch.manual_seed(1 + rank)
        host = Host(rank)
        dist.barrier(group)
        host.write(out / f"host.rank{rank}.jsonl")
        cases = {
            name: {**about, "sizes": plan["models"][about["model"]]}
            for name, about in plan["cases"].items()
        }
        for name, about in cases.items():
            for mode in modes_of(about):
                if out_of_time(limit, f"{name}, {mode}", group):
                    return
                torch.manual_seed(1 + rank)
                with _left_out(name, alone=ranks == 1):
                    _measure(Case(about, mode, ranks).call(), name, mode, out, host, group)
                torch.cuda.empty_cache()
        for name in plan.get("traced", cases):  # last: calls stay slower once profiled
            if out_of_time(limit, f"{name}, traced", group):
                return
            call = Case(cases[name], "together", ranks).call()
            for _ in range(WARM_UP):
                call()
            trace = out / f"{name}.rank{rank}.json.gz"
            about = {"name": name, **cases[name]}
            traced(call, trace, about, plan.get("profiled", PROFILED))
            del call
            torch.cuda.empty_cache()


@contextmanager
def _left_out(name: str, *, alone: bool) -> Iterator[None]:
    """Context in which a case *name* that nobody else waits for may fail alone."""
    try:
        yield
    except Exception as error:
        if not alone:
            raise
        print(f"{name}: {type(error).__name__}: {error}"[:500], flush=True)


def modes_of(about: dict[str, Any]) -> Sequence[str]:
    """The modes in which a case runs."""
    if about["parallel"].get("kind", "none") == "none":
        return ("together",)
    only: Sequence[str] = about.get("only", MODES)
    return only


def _measure(
    call: Call, name: str, mode: str, out: Path, host: Host, group: dist.ProcessGroup
) -> None:
    """Time *call* on all ranks, the slowest counts, and the hosts around it; rank 0 writes it
    down.
    """
    for _ in range(WARM_UP):
        call()
    torch.cuda.synchronize()
    dist.barrier(group)
    speed = host.measured({"when": "before"})
    dist.barrier(group)
    times, by_host = (slowest(each, group) for each in timed(call))
    speed += host.measured({"when": "after"})
    speeds = [line for each in everyone(speed, group) for line in each]
    if dist.get_rank() == 0:
        line = {"name": name, "mode": mode, "ranks": dist.get_world_size(), "iterations_s": times}
        print(f"{name:32} {mode:14} {1e3 * median(times):9.3f} ms", flush=True)
        with (out / "iterations.jsonl").open("a") as file:
            file.write(json.dumps({**line, "calls_s": by_host, "host": speeds}) + "\n")


if __name__ == "__main__":
    run_plan(run_rank, __doc__, "iterations")

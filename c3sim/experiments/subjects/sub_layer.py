"""A sub-layer of tensor parallelism, GEMM and all-reduce of its output, on one node.

One after the other: the GEMM, whose results go through the last cache; reduce-scatter by the
node's library; all-gather by its engines in place, n - 1 chunks read and written. Tracked (T3): the
GEMM and what its stores start (near_memory/layer.py), then the same all-gather, not overlapped.
Chunks go from neighbour to neighbour, whatever the links.

Every GEMM runs in the windows of near_memory; how many bytes of its operands come from memory
follows from its tiles and the caches, as of any other GEMM. Reduce-scatter and all-gather are
tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from c3sim.errors import InputError
from c3sim.experiments.near_memory.controller import Memory
from c3sim.experiments.near_memory.layer import Layer, Outcome, run
from c3sim.experiments.near_memory.producer import Gemm as Producer
from c3sim.models.gemm import plan_gemm
from c3sim.simulation.counters import MemoryCounter
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.parts import NearMemory
from c3sim.spec.reading.loading import parse_workload
from c3sim.spec.workload import Gemm, Workload

ELEMENT = 2  # bytes
#: Overlaps that no GPU reaches: of GEMM and reduce-scatter as they are, and near memory.
IDEALS = ("ideal", "ideal_nmc")


@dataclass(frozen=True, slots=True)
class SubLayer:
    """Output of *tokens* x *hidden*, over *depth* of this GPU."""

    tokens: int
    hidden: int
    depth: int

    @property
    def size(self) -> int:
        """Bytes of the output."""
        return self.tokens * self.hidden * ELEMENT

    @property
    def gemm(self) -> dict[str, Any]:
        return {"kind": "gemm", "m": self.tokens, "n": self.hidden, "k": self.depth}


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Results of a sub-layer's tasks on one node: times [s], and bytes of one GPU's memory."""

    rs: float
    ag: float
    moved: Mapping[str, float]  # in sequence
    gemm_reads: float  # of a GEMM whose results go past the caches


def in_sequence(node: Node, layer: SubLayer) -> Workload:
    rs = {"kind": "collective", "op": "reduce_scatter", "size": layer.size, "after": ["gemm"]}
    return _workload(node, {"gemm": layer.gemm, "rs": rs, **_gathers(node, layer, "rs")})


def _gathers(node: Node, layer: SubLayer, before: str) -> dict[str, Any]:
    """The all-gather behind *before*: ag1 to ag(n - 1), on a ring one after the other."""
    gathers: dict[str, Any] = {}
    ring = node.links.topology == "ring"
    for step in range(1, node.gpus):
        after = [f"ag{step - 1}"] if ring and step > 1 else [before]
        copy = {"kind": "copy", "bytes": layer.size / node.gpus, "gpus": "all"}
        gathers[f"ag{step}"] = {**copy, "peer": 1 if ring else step, "after": after}
    return gathers


def _workload(node: Node, tasks: dict[str, Any]) -> Workload:
    return parse_workload({"schema": 1, "name": "sub-layer", "node": node.name, "tasks": tasks})


def beside(node: Node, layer: SubLayer) -> Beside:
    """The tasks of *layer* on *node*."""
    counted, past = MemoryCounter(), MemoryCounter()
    sequence = simulate(node, in_sequence(node, layer), observers=(counted,))
    alone = _workload(node, {"gemm": {**layer.gemm, "updates": True}})
    simulate(node, alone, observers=(past,))
    ends = [sequence.task(name).end for name in ("gemm", "rs")]
    return Beside(
        rs=ends[1] - ends[0],
        ag=sequence.end - ends[1],
        moved=_by_phase(counted),
        gemm_reads=past.reads["gemm"],
    )


def _by_phase(counter: MemoryCounter) -> dict[str, float]:
    """Bytes of one GPU's memory by phase."""

    def of(counts: Mapping[str, float], prefix: str) -> float:
        return sum(value for task, value in counts.items() if task.startswith(prefix))

    kinds = {"reads": counter.reads, "writes": counter.writes}
    return {
        f"{phase}_{kind}": of(counts, phase)
        for phase in ("gemm", "rs", "ag")
        for kind, counts in kinds.items()
    }


def check(node: Node) -> None:
    """Raises InputError: *node* lacks what tracks and adds."""
    gpu = node.gpu
    needs = {
        "gpu.near_memory": gpu.near_memory,
        "gpu.hbm.update_cost": gpu.hbm.update_cost,
        "gpu.dma_engines.trigger_latency": gpu.dma_engines.trigger_latency is not None,
    }
    missing = [path for path, value in needs.items() if not value]
    if missing:
        names = ", ".join(missing)
        message = f"{node.name} has no memory that tracks and adds; its file needs {names}"
        raise InputError(message, missing[0])


def with_gpus(node: Node, gpus: int) -> Node:
    """*node* with *gpus* GPUs."""
    return node.changed(gpus=gpus)


def tracked(node: Node, layer: SubLayer, reads: float, apart: float) -> Layer:
    """*layer* under T3 on *node*, which has been checked; *reads*: bytes of operands from memory;
    *apart*: of workgroups, share of a slice's time. Raises InputError: a GPU has no tile.
    """
    gpu, near = node.gpu, _near(node)
    task = Gemm(**layer.gemm)
    plan, library = plan_gemm(gpu, task), gpu.gemm_library(None)
    if plan.tiles < node.gpus:
        raise InputError(f"{plan.tiles} tiles for {node.gpus} GPUs; each needs one", "table")
    units = gpu.compute_unit_count
    producer = Producer(
        tiles=plan.tiles,
        places=min(plan.tiles, units * plan.residents),
        units=units,
        body=plan.body,
        prologue=plan.prologue,
        slices=ceil(layer.depth * ELEMENT / library.slice_bytes),
        ahead=plan.stages + 1,  # one more is on its way through registers
        read=reads / plan.tiles,
        stored=layer.size / plan.tiles,
        apart=apart,
        buffer=near.store_buffer,
    )
    return Layer(
        gemm=producer,
        memory=_memory(node, near),
        gpus=node.gpus,
        link=node.links.bandwidth * node.links.per_peer,
        hop=node.links.latency,
        trigger=gpu.dma_engines.trigger_latency or 0.0,
        entries=near.entries,
        miss=near.misses,
        counter=2 * near.request * library.waves,
    )


def _near(node: Node) -> NearMemory:
    assert node.gpu.near_memory is not None  # checked
    return node.gpu.near_memory


def _memory(node: Node, near: NearMemory) -> Memory:
    hbm = node.gpu.hbm
    return Memory(
        bandwidth=hbm.bandwidth * hbm.mixed_efficiency,
        channels=near.channels,
        queue=near.queue,
        request=near.request,
        row=near.row,
        banks=near.banks,
        row_switch=near.row_switch,
        row_cycle=near.row_cycle,
        update_cost=hbm.update_cost,
        arbitrated=near.arbitrated,
        thresholds=near.thresholds,
        adaptive=near.adaptive,
        starvation_limit=near.starvation_limit,
    )


def through_cache(layer: Layer, node: Node, reads: float) -> Layer:
    """The GEMM of *layer* alone, its results through the last cache, which holds them on their way
    and displaces operands: *reads* bytes come from memory.
    """
    gemm = layer.gemm
    buffer = max(node.gpu.shared_cache, gemm.buffer)
    cached = replace(gemm, read=reads / gemm.tiles, buffer=buffer)
    return replace(layer, gemm=cached, updates=False, sends=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """GEMM and reduce-scatter of a sub-layer, each alone [s]."""

    gemm: float  # through the cache
    gemm_past: float  # past it, its results added in memory
    rs_near: float  # by engines and memory


def floors(layer: Layer, node: Node, tasks: Beside) -> Floors:
    """The time that no overlap of *layer* can beat, and the GEMM of the sequence."""
    cached = through_cache(layer, node, tasks.moved["gemm_reads"])
    return Floors(
        gemm=run(cached).end,
        gemm_past=run(replace(layer, sends=False)).end,
        rs_near=run(replace(layer, computes=False)).end,
    )


def outcome(node: Node, layer: SubLayer, tasks: Beside, apart: float) -> Outcome:
    """The run of *layer* under T3 on *node*."""
    return run(tracked(node, layer, tasks.gemm_reads, apart))


def compared(
    node: Node, variants: Mapping[str, Node], layer: SubLayer, tasks: Beside, apart: float
) -> dict[str, float]:
    """Times [s] of *layer* on *node* in sequence, of its parts, of its ideals and under T3 on each
    of *variants*.
    """
    least = floors(tracked(node, layer, tasks.gemm_reads, apart), node, tasks)
    return {
        "sequential": least.gemm + tasks.rs + tasks.ag,
        "gemm": least.gemm,
        "gemm_past_cache": least.gemm_past,
        "rs": tasks.rs,
        "rs_near_memory": least.rs_near,
        "ag": tasks.ag,
        "ideal": max(least.gemm, tasks.rs) + tasks.ag,
        "ideal_nmc": max(least.gemm_past, least.rs_near) + tasks.ag,
        **{
            name: outcome(each, layer, tasks, apart).end + tasks.ag
            for name, each in variants.items()
        },
    }


def lost_to(node: Node, layer: SubLayer, tasks: Beside, apart: float) -> dict[str, float]:
    """Seconds that T3 on *node* takes longer than the longer one of GEMM and reduce-scatter alone,
    by taking causes away one after the other; they add up.

        tracker   entries that are missing
        memory    what goes away where memory takes no time: both want it at once
        chain     the rest: chunks that wait for each other, the last regions behind the GEMM
    """
    whole = tracked(node, layer, tasks.gemm_reads, apart)
    least = floors(whole, node, tasks)
    counted = run(replace(whole, entries=None)).end
    free = replace(
        whole.memory,
        bandwidth=whole.memory.bandwidth * FREE,
        row_switch=0.0,
        row_cycle=0.0,
        starvation_limit=0.0,
    )
    ideal = replace(whole, entries=None, memory=free)
    bare = max(run(replace(ideal, sends=False)).end, run(replace(ideal, computes=False)).end)
    rest = counted - max(least.gemm_past, least.rs_near)
    chain = min(rest, run(ideal).end - bare)
    return {"tracker": run(whole).end - counted, "memory": rest - chain, "chain": chain}


FREE = 1e3  # times its bandwidth: memory that takes no time


def as_tasks(node: Node, layer: SubLayer) -> Workload:
    """The tracked GEMM and its reduce-scatter as tasks that any workload has: chunk s leaves once
    the GEMM has made it and the chunk before has arrived, which is when this GPU's own has left.
    """
    gpus = node.gpus
    tasks: dict[str, Any] = {"gemm": {**layer.gemm, "updates": True, "forwarded": 1.0 / gpus}}
    program = [{"op": "reduce", "peer": 1, "bytes": layer.size / gpus}]
    for chunk in range(1, gpus - 1):
        after = [f"gemm.tiles[{100 * (chunk + 1) / gpus:.12g}%]"]
        after += [f"send{chunk - 1}"] if chunk > 1 else []
        tasks[f"send{chunk}"] = {"kind": "commands", "program": program, "after": after}
    return parse_workload({"schema": 1, "name": "tracked", "node": node.name, "tasks": tasks})


def by_tasks(node: Node, layer: SubLayer, rest: Mapping[str, float]) -> float | None:
    """Speedup of :func:`as_tasks` over the same in sequence, each with the GEMM of tasks; *rest*
    [s]: reduce-scatter and all-gather of the sequence. None: the node's engines cannot add.
    """
    if node.gpu.dma_engines.reduce_bandwidth is None:
        return None
    alone = {"schema": 1, "name": "gemm", "node": node.name, "tasks": {"gemm": layer.gemm}}
    gemm, tracked = (
        simulate(node, each).end for each in (parse_workload(alone), as_tasks(node, layer))
    )
    return (gemm + rest["rs"] + rest["ag"]) / (tracked + rest["ag"])


def reasons(times: Mapping[str, float], variant: str) -> str:
    """The reason that *variant* takes less time than the ideal overlap; "" where it does not."""
    if times[variant] >= times["ideal"]:
        return ""
    found = []
    for what, alone, near in (
        ("GEMM past the cache", "gemm", "gemm_past_cache"),
        ("reduction near memory", "rs", "rs_near_memory"),
    ):
        saved = times[alone] - times[near]
        if saved > 0 and times[alone] + times["ag"] > times[variant]:
            found.append(f"{what} {saved * 1e6:.0f} us sooner")
    return ", ".join(found)

"""A sub-layer of tensor parallelism, GEMM and all-reduce of its output, as tasks on one node.

One after the other: GEMM, reduce-scatter by the node's library, all-gather by its engines in place,
n - 1 chunks read and written. Tracked (T3): the output is n chunks. The GEMM makes them in an order
that is staggered from GPU to GPU, so that all GPUs do the same at the same time and one stands for
all:

    chunk 0       stored straight into the next GPU's memory, which adds it to its own
    chunk s       once it is complete here and the one of the GPU before has been added, an engine
                  sends it on, where it is added; n - 2 of them
    chunk n - 1   stays

On a ring a chunk waits for the one before it; where every pair of GPUs has a way of its own, chunk
s goes straight to the GPU s further. The all-gather follows, not overlapped.

A step end to end has further GEMMs, at the rate of the sub-layers' own, and attention:

    prompt    forward: QKV 3, projection 1, FC-1 4, FC-2 4 in units of T H H / TP; all-reduce behind
              projection and FC-2
    training  the same and twice that backward; all-reduce behind FC-1 and QKV too
    step      (sub-layers + other GEMMs) / (1 - attention_share), an assumption
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputError
from c3sim.experiments.study import Row
from c3sim.simulation.counters import MemoryCounter
from c3sim.simulation.runs import run_once
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import parse_workload
from c3sim.spec.workload import Workload

ELEMENT = 2  # bytes


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


def in_sequence(node: Node, layer: SubLayer) -> Workload:
    tasks = {"gemm": layer.gemm, "rs": _collective("reduce_scatter", layer, "gemm")}
    return _workload(node, {**tasks, **_gathers(node, layer, "rs")})


def tracked(node: Node, layer: SubLayer) -> Workload:
    gpus = node.gpus
    tasks: dict[str, Any] = {"gemm": {**layer.gemm, "updates": True, "forwarded": 1.0 / gpus}}
    last = ["gemm"]
    for step in range(1, gpus - 1):
        after = [f"gemm.tiles[{100 * (step + 1) / gpus:.12g}%]"]
        if in_turn(node) and step > 1:
            after.append(f"send{step - 1}")
        tasks[f"send{step}"] = _send(node, layer, step, after)
        last = ["gemm", f"send{step}"] if in_turn(node) else [*last, f"send{step}"]
    return _workload(node, {**tasks, **_gathers(node, layer, *last)})


def near_memory_alone(node: Node, layer: SubLayer) -> Workload:
    """The reduce-scatter by engines and memory, nothing beside it."""
    tasks: dict[str, Any] = {}
    for step in range(1, node.gpus):
        after = [f"send{step - 1}"] if in_turn(node) and step > 1 else []
        tasks[f"send{step}"] = _send(node, layer, step, after)
    return _workload(node, tasks)


def in_turn(node: Node) -> bool:
    """True if chunks go from neighbour to neighbour."""
    return node.links.topology == "ring"


def _gathers(node: Node, layer: SubLayer, *before: str) -> dict[str, Any]:
    """The all-gather behind *before*: ag1 to ag(n - 1)."""
    gathers: dict[str, Any] = {}
    for step in range(1, node.gpus):
        after = [f"ag{step - 1}"] if in_turn(node) and step > 1 else [*before]
        copy = {"kind": "copy", "bytes": layer.size / node.gpus, "gpus": "all"}
        gathers[f"ag{step}"] = {**copy, "peer": _peer(node, step), "after": after}
    return gathers


def _peer(node: Node, step: int) -> int:
    return 1 if in_turn(node) else step


def _send(node: Node, layer: SubLayer, step: int, after: list[str]) -> dict[str, Any]:
    """Chunk *step*, added to what its peer has."""
    program = [{"op": "reduce", "peer": _peer(node, step), "bytes": layer.size / node.gpus}]
    return {"kind": "commands", "program": program, "after": after}


def _collective(op: str, layer: SubLayer, *after: str) -> dict[str, Any]:
    return {"kind": "collective", "op": op, "size": layer.size, "after": list(after)}


def _workload(node: Node, tasks: dict[str, Any]) -> Workload:
    return parse_workload({"schema": 1, "name": "sub-layer", "node": node.name, "tasks": tasks})


def check(node: Node) -> None:
    """Raises InputError: *node* lacks what tracks and adds."""
    gpu = node.gpu
    needs = {
        "gpu.hbm.update_cost": gpu.hbm.update_cost,
        "gpu.dma_engines.reduce_bandwidth": gpu.dma_engines.reduce_bandwidth,
        "gpu.dma_engines.trigger_latency": gpu.dma_engines.trigger_latency is not None,
    }
    missing = [path for path, value in needs.items() if not value]
    if missing:
        names = ", ".join(missing)
        raise InputError(f"{node.name} has no memory that tracks and adds; set {names}", missing[0])


def with_gpus(node: Node, gpus: int) -> Node:
    """*node* with *gpus* GPUs, whose engines can be told to reduce."""
    engines = node.gpu.dma_engines
    commands = tuple(dict.fromkeys([*engines.commands, "reduce"]))
    able = engines.model_copy(update={"commands": commands})
    gpu = node.gpu.model_copy(update={"dma_engines": able})
    return node.model_copy(update={"gpus": gpus, "gpu": gpu})


def served_alike(node: Node) -> Node:
    """*node* whose memory prefers no requests."""
    hbm = node.gpu.hbm.model_copy(update={"communication_threshold": None})
    return node.model_copy(update={"gpu": node.gpu.model_copy(update={"hbm": hbm})})


def moved(counter: MemoryCounter, forwarded: float) -> dict[str, float]:
    """Bytes of one GPU's memory by task; *forwarded*: share of the results that the GPU before
    stored here instead of this one's. What memory adds counts as written by the reduce-scatter.
    """

    def of(counts: Mapping[str, float], *prefixes: str) -> float:
        return sum(value for task, value in counts.items() if task.startswith(prefixes))

    results = of(counter.writes, "gemm")
    return {
        "gemm_reads": of(counter.reads, "gemm"),
        "gemm_writes": results * (1.0 - forwarded),
        "rs_reads": of(counter.reads, "rs", "send"),
        "rs_writes": of(counter.writes, "rs", "send") + results * forwarded,
        "ag_reads": of(counter.reads, "ag"),
        "ag_writes": of(counter.writes, "ag"),
    }


#: Sub-layer -> its K in units of H / TP: projection and FC-2 forward, FC-1 and QKV backward.
DEPTHS = {"op": 1, "fc2": 4, "fc1": 4, "ip": 3}


FORWARD = ("op", "fc2")


#: Units of GEMMs without an all-reduce behind them: see the module docstring.
OTHERS = {"prompt": 12 - 5, "training": 36 - 12}


VARIANTS = ("t3", "t3_mca", "ideal", "ideal_nmc")


def steps(rows: Sequence[Row], attention: float) -> Iterator[Row]:
    """Steps of a model by its sub-layers; *share*: of them in the step, one after the other."""
    for step, units in OTHERS.items():
        own = [row for row in rows if step == "training" or row.sublayer in FORWARD]
        depth = sum(DEPTHS[row.sublayer] for row in own)
        others = units * sum(row.times_s["gemm"] for row in own) / depth
        layers = {name: sum(row.times_s[name] for row in own) for name in ("sequential", *VARIANTS)}
        whole = (layers["sequential"] + others) / (1.0 - attention)
        left = whole - layers["sequential"]
        speedup = {name: whole / (left + layers[name]) for name in VARIANTS}
        share = layers["sequential"] / whole
        yield Row(model=own[0].model, tp=own[0].tp, step=step, share=share, speedup=speedup)


def moved_over(row: Row) -> float:
    """Bytes that T3 moves over those of the sequence."""
    totals = {name: sum(each.values()) for name, each in row.traffic.items()}
    return float(totals["t3"] / totals["sequential"])


def compared(node: Node, layer: SubLayer) -> tuple[dict[str, float], dict[str, Row]]:
    """Times [s] of *layer* in sequence, of its parts and of the variants; bytes of one GPU's memory
    by task, in sequence and tracked.
    """
    alike = served_alike(node)
    counted, triggered = MemoryCounter(), MemoryCounter()
    sequence = simulate(alike, in_sequence(node, layer), observers=(counted,))
    ends = [sequence.task(name).end for name in ("gemm", "rs")]
    gemm, rs, ag = ends[0], ends[1] - ends[0], sequence.end - ends[1]
    reduced = run_once(alike, near_memory_alone(node, layer), energy=False).end
    whole = tracked(node, layer)
    times = {
        "sequential": sequence.end,
        "gemm": gemm,
        "rs": rs,
        "ag": ag,
        "rs_near_memory": reduced,
        "t3": simulate(alike, whole, observers=(triggered,)).end,
        "t3_mca": run_once(node, whole, energy=False).end,
        "ideal": max(gemm, rs) + ag,
        "ideal_nmc": max(gemm, reduced) + ag,
    }
    traffic = {"sequential": Row(moved(counted, 0.0)), "t3": Row(moved(triggered, 1.0 / node.gpus))}
    return times, traffic

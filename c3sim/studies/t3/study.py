"""A study of kind ``t3``: sub-layers of tensor parallelism with a tracked and triggered all-reduce.

Speedups are over GEMM, reduce-scatter and all-gather one after the other, as ratios:

    t3         tracked, memory serves all requests alike
    t3_mca     the same with the arbitration of the node, where it has one
    ideal      the longer one of GEMM and reduce-scatter, each alone, then the all-gather
    ideal_nmc  the same with the reduce-scatter by engines and memory

Traffic is what the memory counters of the simulated GPU see, in bytes. What memory adds counts as
written by the reduce-scatter, and what the GEMM stores at the neighbour as neither.

A step end to end has further GEMMs, at the rate of the sub-layers' own, and attention:

    prompt    forward: QKV 3, projection 1, FC-1 4, FC-2 4 in units of T H H / TP; all-reduce behind
              projection and FC-2
    training  the same and twice that backward; all-reduce behind FC-1 and QKV too
    step      (sub-layers + other GEMMs) / (1 - attention_share), an assumption
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from c3sim.errors import InputError
from c3sim.simulation.counters import MemoryCounter
from c3sim.simulation.runs import run_once
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.study import Study
from c3sim.studies.kind import About, Options, StudyResult, published_for
from c3sim.studies.node_settings import node_of
from c3sim.studies.t3.workloads import SubLayer, in_sequence, near_memory_alone, tracked

#: Sub-layer -> its K in units of H / TP: projection and FC-2 forward, FC-1 and QKV backward.
DEPTHS = {"op": 1, "fc2": 4, "fc1": 4, "ip": 3}
FORWARD = ("op", "fc2")
#: Units of GEMMs without an all-reduce behind them: see the module docstring.
OTHERS = {"prompt": 12 - 5, "training": 36 - 12}
VARIANTS = ("t3", "t3_mca", "ideal", "ideal_nmc")


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """Bytes of one GPU's memory."""

    gemm_reads: float
    gemm_writes: float
    rs_reads: float
    rs_writes: float
    ag_reads: float
    ag_writes: float

    @property
    def total(self) -> float:
        return self.gemm_reads + self.gemm_writes + self.rs_reads + self.rs_writes + self.gathered

    @property
    def gathered(self) -> float:
        return self.ag_reads + self.ag_writes


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One sub-layer. *times_s*: of the variants, in sequence, and of its parts alone."""

    model: str
    tp: int
    sublayer: str
    speedup: Mapping[str, float]
    traffic: Mapping[str, Moved]
    times_s: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class EndToEnd:
    """A step of a model. *share*: of the sub-layers in it, one after the other."""

    model: str
    tp: int
    step: str
    share: float
    speedup: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class T3Result(StudyResult):
    rows: Sequence[Row]
    end_to_end: Sequence[EndToEnd]
    geomean: Mapping[str, float]
    max: Mapping[str, float]
    assumptions: Mapping[str, Any]
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> T3Result:
    """Raises InputError: a row that lacks a field, a node without what T3 needs."""
    node = node_of(study, options.node)
    _check(node)
    own = node.name == study.node
    models = _models(study, node, own)
    rows: list[Row] = []
    for number, model in enumerate(models):
        options.report("models", number, len(models))
        rows += [_row(node, model, sublayer) for sublayer in DEPTHS]
    options.report("models", len(models), len(models))
    share = float(study.assumptions["attention_share"])
    return T3Result(
        about=About.of(study, node),
        rows=rows,
        end_to_end=[end for model in models for end in _steps(rows, model, share)],
        geomean={name: geometric_mean(row.speedup[name] for row in rows) for name in VARIANTS},
        max={name: max(row.speedup[name] for row in rows) for name in VARIANTS},
        assumptions=study.assumptions,
        published=published_for(study, node),
    )


def _models(study: Study, node: Node, own: bool) -> list[Mapping[str, Any]]:
    """The rows of the table; on another node each model once, on all of its GPUs."""
    if own:
        return list(study.table)
    by_name = {row["model"]: {**row, "tp": node.gpus} for row in study.table}
    return list(by_name.values())


def _check(node: Node) -> None:
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


def _with_gpus(node: Node, gpus: int) -> Node:
    """*node* with *gpus* GPUs, whose engines can be told to reduce."""
    engines = node.gpu.dma_engines
    commands = tuple(dict.fromkeys([*engines.commands, "reduce"]))
    able = engines.model_copy(update={"commands": commands})
    gpu = node.gpu.model_copy(update={"dma_engines": able})
    return node.model_copy(update={"gpus": gpus, "gpu": gpu})


def _row(base: Node, model: Mapping[str, Any], sublayer: str) -> Row:
    node = _with_gpus(base, int(model["tp"]))
    depth = DEPTHS[sublayer] * int(model["hidden"]) // node.gpus
    layer = SubLayer(int(model["tokens"]), int(model["hidden"]), depth)
    hbm = node.gpu.hbm.model_copy(update={"communication_threshold": None})
    alike = node.model_copy(update={"gpu": node.gpu.model_copy(update={"hbm": hbm})})
    counted, triggered = MemoryCounter(), MemoryCounter()
    sequence = simulate(alike, in_sequence(node, layer), observers=(counted,))
    ends = [sequence.task(name).end for name in ("gemm", "rs")]
    gemm, rs, ag = ends[0], ends[1] - ends[0], sequence.end - ends[1]
    reduced = run_once(alike, near_memory_alone(node, layer), energy=False).end
    times = {
        "sequential": sequence.end,
        "gemm": gemm,
        "rs": rs,
        "ag": ag,
        "rs_near_memory": reduced,
        "t3": simulate(alike, tracked(node, layer), observers=(triggered,)).end,
        "t3_mca": run_once(node, tracked(node, layer), energy=False).end,
        "ideal": max(gemm, rs) + ag,
        "ideal_nmc": max(gemm, reduced) + ag,
    }
    return Row(
        model=model["model"],
        tp=node.gpus,
        sublayer=sublayer,
        speedup={name: times["sequential"] / times[name] for name in VARIANTS},
        traffic={"sequential": _moved(counted, 0.0), "t3": _moved(triggered, 1.0 / node.gpus)},
        times_s=times,
    )


def _moved(counter: MemoryCounter, forwarded: float) -> Moved:
    """*forwarded*: share of the results that the GPU before stored here instead of this one's."""

    def of(counts: Mapping[str, float], *prefixes: str) -> float:
        return sum(value for task, value in counts.items() if task.startswith(prefixes))

    results = of(counter.writes, "gemm")
    return Moved(
        gemm_reads=of(counter.reads, "gemm"),
        gemm_writes=results * (1.0 - forwarded),
        rs_reads=of(counter.reads, "rs", "send"),
        rs_writes=of(counter.writes, "rs", "send") + results * forwarded,
        ag_reads=of(counter.reads, "ag"),
        ag_writes=of(counter.writes, "ag"),
    )


def _steps(rows: Iterable[Row], model: Mapping[str, Any], attention: float) -> list[EndToEnd]:
    of_model = {
        row.sublayer: row for row in rows if row.model == model["model"] and row.tp == model["tp"]
    } or {row.sublayer: row for row in rows if row.model == model["model"]}
    found = []
    for step, units in OTHERS.items():
        own = [row for name, row in of_model.items() if step == "training" or name in FORWARD]
        depth = sum(DEPTHS[row.sublayer] for row in own)
        others = units * sum(row.times_s["gemm"] for row in own) / depth
        layers = {name: sum(row.times_s[name] for row in own) for name in ("sequential", *VARIANTS)}
        whole = (layers["sequential"] + others) / (1.0 - attention)
        found.append(
            EndToEnd(
                model=model["model"],
                tp=own[0].tp,
                step=step,
                share=layers["sequential"] / whole,
                speedup={
                    name: whole / (whole - layers["sequential"] + layers[name]) for name in VARIANTS
                },
            )
        )
    return found

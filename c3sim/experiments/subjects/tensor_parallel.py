"""Models under tensor parallelism: each of their sub-layers in sequence and with T3, and from these
their bytes of memory and their steps.

A step end to end has further GEMMs, at the rate of the sub-layers' own, and attention:

    prompt    forward: QKV 3, projection 1, FC-1 4, FC-2 4 in units of T H H / TP; all-reduce behind
              projection and FC-2
    training  the same and twice that backward; all-reduce behind FC-1 and QKV too
    step      (sub-layers + other GEMMs) / (1 - attention_share), an assumption
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from pydantic import Field

from c3sim.experiments.axes import Settings
from c3sim.experiments.bands import draws_within
from c3sim.experiments.cases import NONE, assumed, node_of, rows_of
from c3sim.experiments.near_memory.layer import Outcome
from c3sim.experiments.points import node_with
from c3sim.experiments.study import Asked, Row, grouped
from c3sim.experiments.subjects import sub_layer
from c3sim.experiments.subjects.sub_layer import Beside, SubLayer, with_gpus
from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node
from c3sim.spec.quantities import Extent
from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.study import Study

#: Sub-layer -> its K in units of H / TP: projection and FC-2 forward, FC-1 and QKV backward.
DEPTHS = {"op": 1, "fc2": 4, "fc1": 4, "ip": 3}
FORWARD = ("op", "fc2")
#: Units of GEMMs without an all-reduce behind them: see the module docstring.
OTHERS = {"prompt": 12 - 5, "training": 36 - 12}


class Model(Spec):
    """A row of the table: a model under tensor parallelism over *tp* GPUs; *beyond*: of what is
    published.
    """

    model: str
    hidden: Extent
    tokens: Extent
    tp: int = Field(ge=2, le=1024)
    beyond: bool = False


class Said(Spec):
    """Assumptions of the study; *variants* and *sensitivity* name values of the node."""

    attention_share: float = Field(ge=0, lt=1)
    apart: float = Field(ge=0, le=1)
    variants: dict[str, dict[str, Any]]
    sensitivity: dict[str, dict[str, Any]] = Field({})
    draws: int = Field(0, ge=0, le=1000)
    drawn: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The variants, and the ideals that they are beside."""
        return [*self.variants, *sub_layer.IDEALS]

    @property
    def best(self) -> str:
        """The last variant, whose bytes and losses are told."""
        return list(self.variants)[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A sub-layer of a row of the table; *draws*: values [SI] that it is run with as well."""

    name: str
    node: Node
    model: Model
    draws: tuple[Settings, ...]


def placed(asked: Asked) -> list[Placed]:
    """All sub-layers; on another node than the study's each model once, on all of its GPUs. Raises
    InputError: a node without what T3 needs.
    """
    node = node_of(asked.study, asked.options.node)
    sub_layer.check(node)
    said = assumed(asked.study, Said)
    loaded = LoadedNode(node=node, provenance=asked.provenance())
    draws = draws_within(loaded, said.drawn, asked.options, said.draws)
    models = rows_of(asked.study, Model)
    if node.name != asked.study.node:
        here = (row.changed(tp=node.gpus, beyond=True) for row in models)
        models = list({row.model: row for row in here}.values())
    return [
        Placed(name=name, node=node, model=model, draws=() if model.beyond else draws)
        for model in models
        for name in DEPTHS
    ]


def row_of(case: Placed, study: Study) -> Row:
    """Speedups, bytes and losses of one sub-layer; *drawn*: speedups of each variant, draw by
    draw.
    """
    said, model = assumed(study, Said), case.model
    node = with_gpus(case.node, model.tp)
    layer = SubLayer(model.tokens, model.hidden, DEPTHS[case.name] * model.hidden // node.gpus)
    tasks = sub_layer.beside(node, layer)
    ways = {**said.variants, **({} if model.beyond else said.sensitivity)}

    def changed(node: Node, what: str) -> Node:
        return node_with(node, NONE, tuple(ways[what].items()))

    def speedups(times: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
        return {name: times["sequential"] / times[name] for name in names}

    def compared(node: Node, names: Sequence[str]) -> dict[str, float]:
        nodes = {name: changed(node, name) for name in names}
        return sub_layer.compared(node, nodes, layer, tasks, said.apart)

    times = compared(node, list(ways))
    each = [compared(node_with(node, NONE, draw), list(said.variants)) for draw in case.draws]
    best = changed(node, said.best)
    run = sub_layer.outcome(best, layer, tasks, said.apart)
    return Row(
        model=model.model,
        tp=node.gpus,
        sublayer=case.name,
        beyond=model.beyond,
        speedup=speedups(times, said.names),
        sensitivity=speedups(times, [name for name in ways if name not in said.variants]),
        drawn=[speedups(draw, said.names) for draw in each],
        traffic={"sequential": Row(tasks.moved), "t3": Row(moved(run, tasks))},
        tracker={"peak": run.peak, "misses": run.misses, "threshold": run.threshold},
        lost=sub_layer.lost_to(best, layer, tasks, said.apart),
        reasons=sub_layer.reasons(times, said.best),
        by_tasks=sub_layer.by_tasks(node, layer, times),
        times_s=times,
    )


def moved(found: Outcome, tasks: Beside) -> dict[str, float]:
    """Bytes of one GPU's memory under T3, by phase. What arrives counts as written by the
    reduce-scatter; the first chunk's results go to the next GPU's memory.
    """
    return {
        "gemm_reads": found.moved.reads,
        "gemm_writes": found.moved.stores,
        "rs_reads": found.moved.sends,
        "rs_writes": found.moved.updates,
        "ag_reads": tasks.moved["ag_reads"],
        "ag_writes": tasks.moved["ag_writes"],
        "counters": found.counters,
    }


def steps(rows: Sequence[Row], attention: float, variants: Sequence[str]) -> Iterator[Row]:
    """Steps of a model by its sub-layers; *share*: of them in the step, one after the other."""
    for step, units in OTHERS.items():
        own = [row for row in rows if step == "training" or row.sublayer in FORWARD]
        depth = sum(DEPTHS[row.sublayer] for row in own)
        others = units * sum(row.times_s["gemm"] for row in own) / depth
        layers = {name: sum(row.times_s[name] for row in own) for name in ("sequential", *variants)}
        whole = (layers["sequential"] + others) / (1.0 - attention)
        left = whole - layers["sequential"]
        speedup = {name: whole / (left + layers[name]) for name in variants}
        share = layers["sequential"] / whole
        yield Row(model=own[0].model, tp=own[0].tp, step=step, share=share, speedup=speedup)


def moved_over(row: Row) -> float:
    """Bytes that T3 moves over those of the sequence."""
    totals = {name: sum(each.values()) for name, each in row.traffic.items()}
    return float(totals["t3"] / totals["sequential"])


def traffic(rows: Sequence[Row]) -> Iterator[Row]:
    """Bytes of T3 beside those of the sequence, and what adding near memory saves by itself, means
    over *rows*: *what* they are, *ours*, what *decides*, and the path of the *published* figure.
    """

    def fewer(rows: Sequence[Row], *what: str) -> float:
        """Bytes of *what* in sequence over those of T3."""
        return geometric_mean(
            sum(row.traffic["sequential"][each] for each in what)
            / sum(row.traffic["t3"][each] for each in what)
            for row in rows
        )

    totals, cache = [moved_over(row) for row in rows], "what the last cache holds of the operands"

    def told(what: str, ours: float, decides: str, published: str) -> Row:
        return Row(what=what, ours=ours, decides=decides, published=published)

    yield told("bytes moved, geomean", geometric_mean(totals), cache, "traffic.all.geomean")
    yield told("bytes moved, least", min(totals), cache, "traffic.all.least")
    by_tp = dict(sorted(grouped(rows, lambda row: row.tp).items()))
    for tp, of_tp in by_tp.items():
        what = f"reads of the reduce-scatter, TP {tp}, times fewer"
        why = f"chunks that are read: {2 * tp - 1} in sequence, {tp - 2}"
        yield told(what, fewer(of_tp, "rs_reads"), why, f"traffic.rs_reads.tp {tp}")
    why = "of N GPUs: 2 N - 1 chunks in sequence, 2 N - 2"
    writes = 1 / fewer(rows, "gemm_writes", "rs_writes")
    yield told("writes of GEMM and reduce-scatter", writes, why, "traffic.writes")
    yield told(
        "reads of the GEMM, times fewer", fewer(rows, "gemm_reads"), cache, "traffic.gemm_reads"
    )
    for tp, of_tp in by_tp.items():
        times = [row.times_s for row in of_tp]
        sooner = geometric_mean(each["rs"] / each["rs_near_memory"] for each in times)
        what = f"reduce-scatter near memory alone, tp {tp}"
        yield told(what, sooner, "links bind both", f"near_memory_alone.tp {tp}")

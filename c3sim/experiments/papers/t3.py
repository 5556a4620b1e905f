"""Kind ``t3``: does it pay to let stores of a GEMM trigger the reduce-scatter behind it, in memory?

Speedups are over GEMM, reduce-scatter and all-gather one after the other, as ratios:

    t3         tracked, memory serves all requests alike
    t3_mca     the same with the arbitration of the node, where it has one
    ideal      the longer one of GEMM and reduce-scatter, each alone, then the all-gather
    ideal_nmc  the same with the reduce-scatter by engines and memory
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from pydantic import Field

from c3sim.experiments.cases import assumed, node_of, rows_of
from c3sim.experiments.claims import Claim, claim
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.experiments.subjects import sub_layer
from c3sim.experiments.subjects.sub_layer import DEPTHS, VARIANTS, SubLayer, moved_over, steps
from c3sim.output.kit.grid import Table
from c3sim.output.kit.panels import Panel, panel
from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node
from c3sim.spec.quantities import Extent
from c3sim.spec.study import Study

LARGE = 32  # GPUs: published apart


class Model(Spec):
    """A row of the table: a model under tensor parallelism over *tp* GPUs."""

    model: str
    hidden: Extent
    tokens: Extent
    tp: int = Field(ge=2, le=1024)


class Said(Spec):
    """Assumptions of the study."""

    attention_share: float = Field(ge=0, lt=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """A sub-layer of a row of the table."""

    name: str
    node: Node
    model: Model


def cases(asked: Asked) -> list[Layer]:
    """All sub-layers; on another node than the study's each model once, on all of its GPUs. Raises
    InputError: a node without what T3 needs.
    """
    node = node_of(asked.study, asked.options.node)
    sub_layer.check(node)
    assumed(asked.study, Said)  # wrong ones are told before hours of work
    models = rows_of(asked.study, Model)
    if node.name != asked.study.node:
        here = (row.model_copy(update={"tp": node.gpus}) for row in models)
        models = list({row.model: row for row in here}.values())
    return [Layer(name=name, node=node, model=model) for model in models for name in DEPTHS]


def row(case: Layer, _: Study) -> Row:
    node = sub_layer.with_gpus(case.node, case.model.tp)
    hidden, tokens = case.model.hidden, case.model.tokens
    layer = SubLayer(tokens, hidden, DEPTHS[case.name] * hidden // node.gpus)
    times, traffic = sub_layer.compared(node, layer)
    return Row(
        model=case.model.model,
        tp=node.gpus,
        sublayer=case.name,
        speedup={name: times["sequential"] / times[name] for name in VARIANTS},
        traffic=traffic,
        times_s=times,
    )


def reduce(asked: Asked, cases: Sequence[Layer], rows: list[Row]) -> Mapping[str, Any]:
    share = assumed(asked.study, Said).attention_share
    models = grouped(rows, lambda row: (row.model, row.tp)).values()
    of = {name: [row.speedup[name] for row in rows] for name in VARIANTS}
    return {
        "rows": rows,
        "end_to_end": [end for layers in models for end in steps(layers, share)],
        "geomean": {name: geometric_mean(each) for name, each in of.items()},
        "max": {name: max(each) for name, each in of.items()},
        "assumptions": asked.study.assumptions,
        "published": asked.published(cases[0].node),
    }


def tables(found: StudyResult) -> list[Table | str]:
    note = "speedups over the same in sequence; moved: bytes of memory, t3 over in sequence"
    columns = ["model", "tp", "sublayer", "speedup.* x", "moved x"]
    layers = Table(
        "sub-layers", [{**row, "moved": moved_over(row)} for row in found.rows], columns, note
    )
    why = "share of attention {attention_share}: {attention_why}".format(**found.assumptions)
    columns = ["model", "tp", "step", "share %0 as sub-layers", "speedup.* x"]
    return [layers, Table("steps end to end", found.end_to_end, columns, why)]


def claims(found: StudyResult) -> Iterator[Claim]:
    """Speedups by size of the node, steps, bytes and the reduce-scatter near memory."""
    known = found.published
    groups = {"small": [row for row in found.rows if row.tp < LARGE]}
    groups["large"] = [row for row in found.rows if row.tp >= LARGE]

    def both(what: str, ours: Sequence[float], theirs: Mapping[str, float]) -> Iterator[Claim]:
        yield claim(f"{what}, geomean", geometric_mean(ours), theirs.get("geomean"))
        yield claim(f"{what}, max", max(ours), theirs.get("max"))

    for group, rows in groups.items():
        where = f"TP {'below 32' if group == 'small' else '32'}"
        for name in VARIANTS if rows else ():
            theirs = known.get("speedups", {}).get(group, {}).get(name, {})
            yield from both(f"{name}, {where}", [row.speedup[name] for row in rows], theirs)
    for step, theirs in known.get("end_to_end", {}).items():
        ours = [end.speedup["t3_mca"] for end in found.end_to_end if end.step == step]
        yield from both(f"{step}, t3_mca", ours, theirs)
    yield from _traffic(groups["small"] or found.rows, known.get("traffic", {}))
    for name, theirs in known.get("near_memory_alone", {}).items():
        of = [row.times_s for row in found.rows if f"tp {row.tp}" == name]
        if not of:
            continue
        ratio = geometric_mean(each["rs"] / each["rs_near_memory"] for each in of)
        yield claim(f"reduce-scatter near memory alone, {name}", ratio, theirs)


def _traffic(rows: Sequence[Row], known: Mapping[str, Any]) -> Iterator[Claim]:
    def fewer(rows: Sequence[Row], *what: str) -> float:
        """Bytes of *what* in sequence over those of T3."""
        return geometric_mean(
            sum(row.traffic["sequential"][each] for each in what)
            / sum(row.traffic["t3"][each] for each in what)
            for row in rows
        )

    totals, whole = [moved_over(row) for row in rows], known.get("all", {})
    yield claim("bytes moved, geomean", geometric_mean(totals), whole.get("geomean"))
    yield claim("bytes moved, least", min(totals), whole.get("least"))
    for tp, of_tp in sorted(grouped(rows, lambda row: row.tp).items()):
        theirs = known.get("rs_reads", {}).get(f"tp {tp}")
        what = f"reads of the reduce-scatter, TP {tp}, times fewer"
        yield claim(what, fewer(of_tp, "rs_reads"), theirs)
    writes = 1 / fewer(rows, "gemm_writes", "rs_writes")
    yield claim("writes of GEMM and reduce-scatter", writes, known.get("writes"))
    reads = fewer(rows, "gemm_reads")
    yield claim("reads of the GEMM, times fewer", reads, known.get("gemm_reads"))


def panels(found: StudyResult) -> list[Panel]:
    rows = [
        {**row, "place": f"{row.model} {row.tp} {row.sublayer}", "moved": moved_over(row)}
        for row in found.rows
    ]
    title = "Speedup over GEMM, reduce-scatter and all-gather in sequence"
    return [
        panel(title, rows, "place", "speedup.* x", kind="bars"),
        panel("Bytes of memory over those in sequence", rows, "place", "moved x", kind="bars"),
    ]

"""Kind ``t3``: does it pay to let stores of a GEMM trigger the reduce-scatter behind it, in memory?

Speedups are over GEMM, reduce-scatter and all-gather one after the other, as ratios:

    variants   of the study's file: T3 without and with arbitration
    ideal      the longer one of GEMM and reduce-scatter, each alone, then the all-gather
    ideal_nmc  the same with the GEMM whose results go past the cache and the reduce-scatter by
               engines and memory; nothing beats it

Bands are the 5th and 95th percentile of the speedup as it is and of draws of what is known within
an interval only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean
from typing import Any

from pydantic import Field

from c3sim.experiments.bands import draws_within, ends_of
from c3sim.experiments.cases import NONE, assumed, node_of, rows_of
from c3sim.experiments.claims import Claim, claim
from c3sim.experiments.points import Settings, node_with
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.experiments.subjects import sub_layer
from c3sim.experiments.subjects.sub_layer import DEPTHS, SubLayer, lost_to, moved_over, steps
from c3sim.kit.grid import Table
from c3sim.kit.panels import Panel, panel
from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node
from c3sim.spec.quantities import Extent
from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.reading.paths import set_value
from c3sim.spec.study import Study

LARGE = 32  # GPUs: published apart
IDEALS = ("ideal", "ideal_nmc")


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """A sub-layer of a row of the table; *draws*: values [SI] that it is run with as well."""

    name: str
    node: Node
    model: Model
    draws: tuple[Settings, ...]


def cases(asked: Asked) -> list[Layer]:
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
        here = (row.model_copy(update={"tp": node.gpus, "beyond": True}) for row in models)
        models = list({row.model: row for row in here}.values())
    return [
        Layer(name=name, node=node, model=model, draws=() if model.beyond else draws)
        for model in models
        for name in DEPTHS
    ]


def row(case: Layer, study: Study) -> Row:
    """*drawn*: speedups of each variant, draw by draw."""
    said, model = assumed(study, Said), case.model
    node = sub_layer.with_gpus(case.node, model.tp)
    layer = SubLayer(model.tokens, model.hidden, DEPTHS[case.name] * model.hidden // node.gpus)
    tasks = sub_layer.beside(node, layer)
    ways = {**said.variants, **({} if model.beyond else said.sensitivity)}

    def compared(node: Node, ways: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
        nodes = {name: _with(node, values) for name, values in ways.items()}
        return sub_layer.compared(node, nodes, layer, tasks, said.apart)

    times = compared(node, ways)
    drawn = [compared(node_with(node, NONE, draw), said.variants) for draw in case.draws]
    names = [*said.variants, *IDEALS]
    best = [*said.variants][-1]
    run = sub_layer.outcome(_with(node, said.variants[best]), layer, tasks, said.apart)
    return Row(
        model=model.model,
        tp=node.gpus,
        sublayer=case.name,
        beyond=model.beyond,
        speedup={name: times["sequential"] / times[name] for name in names},
        sensitivity={
            name: times["sequential"] / times[name] for name in ways if name not in said.variants
        },
        drawn={
            name: [each["sequential"] / each[name] for each in (times, *drawn)] if drawn else []
            for name in names
        },
        traffic={"sequential": Row(tasks.moved), "t3": Row(sub_layer.moved(run, tasks))},
        tracker={"peak": run.peak, "misses": run.misses, "threshold": run.threshold},
        lost=lost_to(_with(node, said.variants[best]), layer, tasks, said.apart),
        reasons=sub_layer.reasons(times, best),
        by_tasks=sub_layer.by_tasks(node, layer, times),
        times_s=times,
    )


def _with(node: Node, values: Mapping[str, Any]) -> Node:
    for path, value in values.items():
        node, _ = set_value(node, NONE, path, value)
    return node


def reduce(asked: Asked, cases: Sequence[Layer], rows: list[Row]) -> Mapping[str, Any]:
    said = assumed(asked.study, Said)
    names = [*said.variants, *IDEALS]
    models = grouped(rows, lambda row: (row.model, row.tp)).values()
    known = [row for row in rows if not row.beyond] or rows
    groups = {
        "small": [row for row in known if row.tp < LARGE],
        "large": [row for row in known if row.tp >= LARGE],
    }
    summary = {
        group: {name: _summary(of, name) for name in names} for group, of in groups.items() if of
    }
    changed = [
        Row(
            what=what,
            geomean={group: _geomean(of, "sensitivity", what) for group, of in groups.items()},
        )
        for what in said.sensitivity
        if not known[0].beyond
    ]
    ends = [end for of in models for end in steps(of, said.attention_share, names)]
    for each in rows:
        each["band"] = {name: ends_of(each.drawn[name]) for name in names}
        del each["drawn"]
    return {
        "rows": rows,
        "summary": summary,
        "sensitivity": changed,
        "end_to_end": ends,
        "assumptions": asked.study.assumptions,
        "published": asked.published(cases[0].node),
    }


def _geomean(rows: Sequence[Row], entry: str, name: str) -> float | None:
    return geometric_mean(row[entry][name] for row in rows) if rows else None


def _summary(rows: Sequence[Row], name: str) -> Row:
    """Mean and largest speedup of variant *name*, with their bands, and what costs it most."""
    draws = [*zip(*(row.drawn[name] for row in rows), strict=True)]
    lost = {part: fmean(row.lost[part] for row in rows) for part in rows[0].lost}
    longer = sum(row.times_s["gemm"] >= row.times_s["rs"] for row in rows)
    decides = f"lost to: {max(lost, key=lambda part: lost[part])}"
    if name in IDEALS:
        decides = f"the GEMM is longer than the reduce-scatter in {longer} of {len(rows)}"
    return Row(
        geomean=_geomean(rows, "speedup", name),
        max=max(row.speedup[name] for row in rows),
        geomean_band=ends_of([geometric_mean(draw) for draw in draws]),
        max_band=ends_of([max(draw) for draw in draws]),
        decides=decides,
    )


def tables(found: StudyResult) -> list[Table | str]:
    note = (
        "speedups over the same in sequence; moved: bytes of memory, t3 over in sequence; lost: of "
        "the last variant against ideal_nmc, by taking away; reasons: why it passes ideal;"
        "\nby_tasks:"
        " the same as tasks of the simulator, over these in sequence"
    )
    columns = ["model", "tp", "sublayer", "speedup.* x", "band.t3_mca x", "moved x"]
    columns += ["by_tasks x", "tracker.peak", "tracker.misses", "lost.* us", "reasons"]
    layers = Table(
        "sub-layers", [{**row, "moved": moved_over(row)} for row in found.rows], columns, note
    )
    why = "share of attention {attention_share}: {attention_why}".format(**found.assumptions)
    columns = ["model", "tp", "step", "share %0 as sub-layers", "speedup.* x"]
    ends = Table("steps end to end", found.end_to_end, columns, why)
    columns = ["what as t3_mca with", "geomean.* x"]
    what = "small: TP below 32, large: TP 32; geomean of speedups; nothing else is changed"
    return [layers, ends, Table("sensitivity", found.sensitivity, columns, what)]


def claims(found: StudyResult) -> Iterator[Claim]:
    """Speedups by size of the node, steps, bytes and the reduce-scatter near memory."""
    known = found.published
    rows = [row for row in found.rows if not row.beyond] or found.rows
    ends = [
        end for end in found.end_to_end if (end.model, end.tp) in {(r.model, r.tp) for r in rows}
    ]
    for group, variants in found.summary.items():
        where = f"TP {'below 32' if group == 'small' else '32'}"
        for name, summary in variants.items():
            theirs = known.get("speedups", {}).get(group, {}).get(name, {})
            for which in ("geomean", "max"):
                more = {"band": summary[f"{which}_band"], "decides": summary.decides}
                yield claim(f"{name}, {where}, {which}", summary[which], theirs.get(which), **more)
    if all(row.by_tasks for row in rows):
        tasks = geometric_mean(row.by_tasks for row in rows)
        why = "chunks leave whole; no entries, no arbitration"
        yield claim("the same from tasks alone, geomean", tasks, None, decides=why)
    for step, theirs in known.get("end_to_end", {}).items():
        ours = [end.speedup["t3_mca"] for end in ends if end.step == step]
        why = "the share of attention, an assumption"
        mean = geometric_mean(ours)
        yield claim(f"{step}, t3_mca, geomean", mean, theirs.get("geomean"), decides=why)
        yield claim(f"{step}, t3_mca, max", max(ours), theirs.get("max"), decides=why)
    for each in sub_layer.traffic([row for row in rows if row.tp < LARGE] or rows):
        theirs = known.get("traffic", {})
        for name in each.published:
            theirs = (theirs or {}).get(name)
        yield claim(each.what, each.ours, theirs, decides=each.decides)
    for name, theirs in known.get("near_memory_alone", {}).items():
        of = [row.times_s for row in rows if f"tp {row.tp}" == name]
        if not of:
            continue
        ratio = geometric_mean(each["rs"] / each["rs_near_memory"] for each in of)
        what = f"reduce-scatter near memory alone, {name}"
        yield claim(what, ratio, theirs, decides="links bind both")


def panels(found: StudyResult) -> list[Panel]:
    rows = [
        {**row, "place": f"{row.model} {row.tp} {row.sublayer}", "moved": moved_over(row)}
        for row in found.rows
        if not row.beyond or found.rows[0].beyond
    ]
    title = "Speedup over GEMM, reduce-scatter and all-gather in sequence"
    lost = "Time that the last variant loses against the ideal near memory"
    drawn = [
        panel(title, rows, "place", "speedup.* x", kind="bars", bands="band.* x"),
        panel(lost, rows, "place", "lost.* us", kind="stacked"),
        panel("Bytes of memory over those in sequence", rows, "place", "moved x", kind="bars"),
    ]
    if found.sensitivity:
        title = "Speedup of t3_mca with, geomean, TP below 32 (small) and 32 (large)"
        drawn.append(panel(title, found.sensitivity, "what", "geomean.* x", kind="bars"))
    return drawn

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
from statistics import fmean, geometric_mean
from typing import Any

from c3sim.experiments.bands import around, reduced
from c3sim.experiments.cases import assumed
from c3sim.experiments.claims import Claim, claim
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.experiments.subjects.sub_layer import IDEALS
from c3sim.experiments.subjects.tensor_parallel import (
    Placed,
    Said,
    moved_over,
    placed,
    row_of,
    steps,
    traffic,
)
from c3sim.kit.grid import Table, at
from c3sim.kit.panels import Panel, panel

LARGE = 32  # GPUs: published apart

cases, row = placed, row_of


def reduce(asked: Asked, cases: Sequence[Placed], rows: list[Row]) -> Mapping[str, Any]:
    said = assumed(asked.study, Said)
    known = _known(rows)
    groups = grouped(known, lambda row: "small" if row.tp < LARGE else "large")
    changed = [] if known[0].beyond else said.sensitivity
    models = grouped(rows, lambda row: (row.model, row.tp)).values()
    ends = [end for of in models for end in steps(of, said.attention_share, said.names)]
    summary = {
        group: {name: _summary(of, name) for name in said.names} for group, of in groups.items()
    }
    for each in rows:
        draws = each.pop("drawn")
        each["band"] = {n: around(each.speedup[n], [draw[n] for draw in draws]) for n in said.names}
    return {
        "rows": rows,
        "summary": summary,
        "sensitivity": [Row(what=what, geomean=_geomeans(groups, what)) for what in changed],
        "end_to_end": ends,
        "assumptions": asked.study.assumptions,
        "published": asked.published(cases[0].node),
    }


def _known(rows: Sequence[Row]) -> Sequence[Row]:
    """Rows with published figures; all rows where none has any."""
    return [row for row in rows if not row.beyond] or rows


def _geomeans(groups: Mapping[str, Sequence[Row]], what: str) -> dict[str, float]:
    """Speedup of the last variant with *what* changed, by group."""
    return {
        group: geometric_mean(row.sensitivity[what] for row in of) for group, of in groups.items()
    }


def _summary(rows: Sequence[Row], name: str) -> Row:
    """Mean and largest speedup of variant *name*, with their bands, and what costs it most."""
    lost = {part: fmean(row.lost[part] for row in rows) for part in rows[0].lost}
    decides = f"lost to: {max(lost, key=lambda part: lost[part])}"
    if name in IDEALS:
        longer = sum(row.times_s["gemm"] >= row.times_s["rs"] for row in rows)
        decides = f"the GEMM is longer than the reduce-scatter in {longer} of {len(rows)}"
    values = [row.speedup[name] for row in rows]
    drawn = [[draw[name] for draw in row.drawn] for row in rows]
    mean, most = (reduced(of, values, drawn) for of in (geometric_mean, max))
    bands = {"geomean_band": mean.band, "max_band": most.band}
    return Row(geomean=mean.value, max=most.value, **bands, decides=decides)


def tables(found: StudyResult) -> list[Table | str]:
    note = (
        "speedups over the same in sequence; moved: bytes of memory, t3 over in sequence; lost: of "
        "the last variant against ideal_nmc, by taking away; reasons: why it passes ideal;"
        "\nby_tasks: the same as tasks of the simulator, over these in sequence"
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
    known, rows = found.published, _known(found.rows)
    for group, variants in found.summary.items():
        where = f"TP {'below 32' if group == 'small' else '32'}"
        for name, summary in variants.items():
            for which in ("geomean", "max"):
                theirs = at(known, f"speedups.{group}.{name}.{which}")
                more = {"band": summary[f"{which}_band"], "decides": summary.decides}
                yield claim(f"{name}, {where}, {which}", summary[which], theirs, **more)
    if all(row.by_tasks for row in rows):
        tasks = geometric_mean(row.by_tasks for row in rows)
        why = "chunks leave whole; no entries, no arbitration"
        yield claim("the same from tasks alone, geomean", tasks, None, decides=why)
    of_rows = {(row.model, row.tp) for row in rows}
    for step, theirs in known.get("end_to_end", {}).items():
        ends = [end for end in found.end_to_end if end.step == step]
        ours = [end.speedup["t3_mca"] for end in ends if (end.model, end.tp) in of_rows]
        for which, of in (("geomean", geometric_mean), ("max", max)):
            why = "the share of attention, an assumption"
            yield claim(f"{step}, t3_mca, {which}", of(ours), theirs.get(which), decides=why)
    for each in traffic([row for row in rows if row.tp < LARGE] or rows):
        yield claim(each.what, each.ours, at(known, each.published), decides=each.decides)


def panels(found: StudyResult) -> list[Panel]:
    rows = [
        {**row, "place": f"{row.model} {row.tp} {row.sublayer}", "moved": moved_over(row)}
        for row in _known(found.rows)
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

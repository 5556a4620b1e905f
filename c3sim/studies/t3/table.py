"""Tables of a study of kind ``t3``: sub-layers, steps end to end, what is published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.studies.t3.study import VARIANTS, EndToEnd, Row, T3Result

if TYPE_CHECKING:
    from rich.console import RenderableType

LARGE = 32  # GPUs: published apart


def tables(study: T3Result) -> list[RenderableType]:
    table = make_table(["model", "TP", "sub-layer"], [*VARIANTS, "moved"])
    for row in study.rows:
        speedups = [f"{row.speedup[name]:.2f}" for name in VARIANTS]
        add_row(table, row.model, str(row.tp), row.sublayer, *speedups, f"{moved(row):.2f}")
    note = "speedups over the same in sequence; moved: bytes of memory, t3 over in sequence"
    ends = make_table(["model", "TP", "step"], ["sub-layers", *VARIANTS])
    for end in study.end_to_end:
        add_row(ends, end.model, str(end.tp), end.step, f"{end.share:.0%}", *_speedups(end))
    why = "share of attention {attention_share}: {attention_why}".format(**study.assumptions)
    claims = make_table(["claim"], ["simulated", "published"])
    for claim, ours, theirs in beside(study):
        add_row(claims, claim, f"{ours:.2f}", f"{theirs:.2f}" if theirs else "")
    source = study.published.get("source", "no figures of this node are published")
    return [
        stack("sub-layers", table, note),
        stack("steps end to end", ends, why),
        stack(study.title, claims, source),
    ]


def moved(row: Row) -> float:
    """Bytes that T3 moves over those of the sequence."""
    return row.traffic["t3"].total / row.traffic["sequential"].total


def beside(study: T3Result) -> Iterator[tuple[str, float, float | None]]:
    """What is claimed, what comes out, and the published figure where there is one."""
    known = study.published
    groups = {"small": [row for row in study.rows if row.tp < LARGE]}
    groups["large"] = [row for row in study.rows if row.tp >= LARGE]
    for group, rows in groups.items():
        for name in VARIANTS if rows else ():
            speedups = [row.speedup[name] for row in rows]
            figures = known.get("speedups", {}).get(group, {}).get(name, {})
            where = f"{name}, TP {'below 32' if group == 'small' else '32'}"
            yield f"{where}, geomean", geometric_mean(speedups), figures.get("geomean")
            yield f"{where}, max", max(speedups), figures.get("max")
    for step, figures in known.get("end_to_end", {}).items():
        speedups = [end.speedup["t3_mca"] for end in study.end_to_end if end.step == step]
        yield f"{step}, t3_mca, geomean", geometric_mean(speedups), figures["geomean"]
        yield f"{step}, t3_mca, max", max(speedups), figures["max"]
    yield from _traffic(groups["small"] or study.rows, known.get("traffic", {}))
    yield from _alone(study.rows, known.get("near_memory_alone", {}))


def _alone(rows: Sequence[Row], known: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    for name, figure in known.items():
        ratios = [
            row.times_s["rs"] / row.times_s["rs_near_memory"]
            for row in rows
            if f"tp {row.tp}" == name
        ]
        yield f"reduce-scatter near memory alone, {name}", geometric_mean(ratios), figure


def _traffic(
    rows: Sequence[Row], known: Mapping[str, Any]
) -> Iterator[tuple[str, float, float | None]]:
    totals, all_known = [moved(row) for row in rows], known.get("all", {})
    yield "bytes moved, geomean", geometric_mean(totals), all_known.get("geomean")
    yield "bytes moved, least", min(totals), all_known.get("least")
    for tp in sorted({row.tp for row in rows}):
        of_tp = [row for row in rows if row.tp == tp]
        fewer = known.get("rs_reads", {}).get(f"tp {tp}")
        yield f"reads of the reduce-scatter, TP {tp}, times fewer", _fewer(of_tp, "rs_reads"), fewer
    writes = geometric_mean(_writes(row, "t3") / _writes(row, "sequential") for row in rows)
    yield "writes of GEMM and reduce-scatter", writes, known.get("writes")
    yield "reads of the GEMM, times fewer", _fewer(rows, "gemm_reads"), known.get("gemm_reads")


def _writes(row: Row, variant: str) -> float:
    return row.traffic[variant].gemm_writes + row.traffic[variant].rs_writes


def _fewer(rows: Iterable[Row], what: str) -> float:
    return geometric_mean(
        getattr(row.traffic["sequential"], what) / getattr(row.traffic["t3"], what) for row in rows
    )


def _speedups(end: EndToEnd) -> list[str]:
    return [f"{end.speedup[name]:.2f}" for name in VARIANTS]

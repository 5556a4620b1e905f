"""Kind ``operator_shares``: where does the time of an iteration go, operator by operator, and how
does that move with the model's size, precision and parallelism?

Shares (:mod:`c3sim.experiments.subjects.shares`) add up to 1 of *kernels_s*.

A published claim is *of* one of these, in one *configuration*, or between it and the one *beside*:

    share      of *classes* in the time of kernels (+ between several; non-gemm: all but products)
    longer     time of kernels over that of *beside*, less 1
    shorter    1 less the same
    speedup    time of *classes* beside, over that here
    change     share of *classes* less that in *beside*: more than 0 where it grows
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from c3sim.errors import InputError
from c3sim.evaluation.effort import Effort
from c3sim.experiments.claims import Claim
from c3sim.experiments.iterations import IterationCase, effort_of_one, iteration_cases
from c3sim.experiments.study import Asked, Row, StudyResult
from c3sim.experiments.subjects.shares import row_of
from c3sim.kit.grid import Table, remarks, tables_by
from c3sim.kit.panels import Panel, panels_by
from c3sim.spec.study import Study
from c3sim.spec.words import unknown


def share(row: Row, classes: str) -> float:
    """The share of several *classes*, with + between them, in the time of kernels."""
    if classes == "non-gemm":
        return float(1.0 - row.shares["gemm"] - row.attention_gemm_share)
    return float(sum(row.shares[name] for name in classes.split("+")))


#: (row, row beside it, classes) -> figure
FIGURES: Mapping[str, Callable[[Row, Row, str], float]] = {
    "share": lambda row, _, classes: share(row, classes),
    "longer": lambda row, other, _: row.kernels_s / other.kernels_s - 1.0,
    "shorter": lambda row, other, _: 1.0 - row.kernels_s / other.kernels_s,
    "speedup": lambda row, other, classes: (
        share(other, classes) * other.kernels_s / (share(row, classes) * row.kernels_s)
    ),
    "change": lambda row, other, classes: share(row, classes) - share(other, classes),
}
OF_CLASSES = ("share", "speedup", "change")


def cases(asked: Asked) -> list[IterationCase]:
    return iteration_cases(asked.study, asked.nodes())


def effort(asked: Asked, cases: Sequence[IterationCase]) -> tuple[Effort, int]:
    return effort_of_one(cases[0]), len(cases)


def row(case: IterationCase, _: Study) -> Row:
    return row_of(case)


def reduce(asked: Asked, _: Sequence[IterationCase], rows: list[Row]) -> Mapping[str, Any]:
    published = asked.study.published
    return {
        "node": ", ".join(node.name for node in asked.nodes()),
        "rows": rows,
        "claims": list(beside(rows, published.get("claims", ()))),
        "published": published,
    }


def beside(rows: Sequence[Row], published: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Each of *published* that *rows* can answer. Raises InputError for an unknown class."""
    known = {(row.node, row.configuration): row for row in rows}
    for entry in published:
        name, other = entry["configuration"], entry.get("beside")
        figure = FIGURES[entry["of"]]
        _check_classes(entry, rows)
        simulated = {
            node: figure(row, known[node, other or name], entry.get("classes", ""))
            for (node, configuration), row in known.items()
            if configuration == name and (node, other or name) in known
        }
        if simulated:
            of: dict[str, Any] = {"text": entry["text"], "of": entry["of"], "configuration": name}
            of |= {"beside": other} if other is not None else {}
            ends = {"low": entry.get("low"), "high": entry.get("high")}
            yield Row(**of, standing=entry["standing"], **ends, simulated=simulated)


def _check_classes(entry: Mapping[str, Any], rows: Sequence[Row]) -> None:
    known = ["non-gemm", *(rows[0].shares if rows else ())]
    for name in entry.get("classes", "").split("+") if entry["of"] in OF_CLASSES else ():
        if name not in known:
            raise InputError(unknown("class of operators", name, known), "published.claims")


def tables(found: StudyResult) -> list[Table | str]:
    columns = ["configuration", "iteration_s ms", "kernels_s ms", "shares.* %", "gemms %"]
    note = "communication: that nothing else runs beside; gemms: batched GEMMs of attention"
    lines = []
    for row in found.rows:
        marks = ["bound by launches"] * row.host_bound + ["too large"] * (not row.fits)
        name = row.configuration + (f" ({', '.join(marks)})" if marks else "")
        lines.append({**row, "configuration": name, "gemms": row.attention_gemm_share})
    title = f"{found.name} on {{node}}: shares of the time in which kernels run"
    return [*tables_by(title, lines, columns, note), remarks(found.published)]


def claims(found: StudyResult) -> Iterator[Claim]:
    """Each claim on every node; a change of no known size has to be above 0."""
    decides = {(row.node, row.configuration): _largest(row) for row in found.rows}
    for each in found.claims:
        low = 0.0 if each.of == "change" and each.low is None else each.low
        unit = "x" if each.of == "speedup" else "%"
        where = each.configuration + (f" / {each.beside}" if "beside" in each else "")
        for node, ours in each.simulated.items():
            what = f"{each.text}: {where}, {node}"
            ends = {"low": low, "high": each.high, "standing": each.standing}
            why, wanted = decides[node, each.configuration], [each.low, each.high]
            if each.of == "share" and None not in wanted:
                why = f"{_needed(ours, wanted)}{why}"
            yield Claim(what=what, ours=ours, unit=unit, decides=why, **ends)


def _needed(ours: float, wanted: Sequence[float]) -> str:
    """How many times as long these classes would have to take, all others as they are, that their
    share *ours* is the nearest one *wanted*; "" where it is one of them.

        s / (1 - s) = x ours / (1 - ours)
    """
    share = min(max(ours, min(wanted)), max(wanted))
    if share == ours or not 0 < ours < 1:
        return ""
    return f"as published if they took {share / (1 - share) * (1 - ours) / ours:.2g}x; "


def _largest(row: Row) -> str:
    """The three classes that take most of the time of kernels."""
    most = sorted(row.shares, key=lambda name: -row.shares[name])[:3]
    host = ["bound by launches"] * row.host_bound
    return ", ".join([*(f"{name} {row.shares[name]:.0%}" for name in most), *host])


def panels(found: StudyResult) -> list[Panel]:
    """A bar of shares for each configuration."""
    title, how = "{node}: where the time in which kernels run goes", {"kind": "stacked"}
    return panels_by(title, found.rows, "configuration", "shares.* %", **how)

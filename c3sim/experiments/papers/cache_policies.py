"""Kind ``cache_policies``: which policy suits which application, and do optimisations suit all?

Kernels run alone as caches serve them under static policies and optimisations, counted line by line
(c3sim/cachelab). The class of an application compares the static ones: ``reuse`` where the better
one that caches is quicker than uncached by more than MARGIN, ``throughput`` where the worse one is
slower by as much (and the better one no quicker), else ``insensitive``. A claim has the share of
draws of what is guessed in which it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from c3sim.experiments.claims import Claim
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.experiments.subjects.applications import (
    PUBLISHED,
    Guesses,
    Machines,
    beside,
    best_of,
    guesses,
    held,
    of_adaptive,
    row_of,
)
from c3sim.kit.grid import Table, tables_by
from c3sim.kit.panels import Panel, panels_by
from c3sim.spec.hardware import Node
from c3sim.spec.study import Study


@dataclass(frozen=True, kw_only=True, slots=True)
class Launched:
    """An application on a machine; *draw*: of what is guessed, None the middle of all."""

    name: str
    node: Node
    reached: float
    structure: Guesses  # of its lines; of a node none, its file and the laboratory's say them
    draw: int | None = None


def cases(asked: Asked) -> list[Launched]:
    """Every application on every machine, and on the published one with each draw; on a node asked
    for alone there.
    """
    study, given = asked.study, asked.options.node
    assert study.machines is not None  # the schema asks for them
    machines = Machines(study.machines, study.node, given)
    middle, draws = guesses(study.machines)

    def on(name: str, rates: Guesses, draw: int | None = None) -> list[Launched]:
        node = machines.node(name, rates).changed(name=name)
        known: dict[str, Any] = {"node": node, "reached": rates["reached"], "draw": draw}
        known["structure"] = middle if name == PUBLISHED else {}
        return [Launched(name=label, **known) for label in study.applications]

    drawn = [] if given else draws[: asked.options.draws]
    found = [on(name, middle) for name in machines.names]
    found += [on(PUBLISHED, guess, draw) for draw, guess in enumerate(drawn)]
    return [case for of_machine in found for case in of_machine]


def row(case: Launched, study: Study) -> Row:
    application = study.applications[case.name]
    shown, decided = row_of(case.name, application, case.node, case.structure, case.reached)
    real = case.draw is None and case.node.name != PUBLISHED
    gains = beside(case.name, application, case.node, case.reached) if real else None
    return Row(shown=shown, decided=decided, draw=case.draw, beside=gains)


def reduce(asked: Asked, cases: Sequence[Launched], rows: list[Row]) -> Mapping[str, Any]:
    published = asked.study.published
    of_draw = grouped(rows, lambda row: row.draw)
    shown = [row.shown for row in of_draw.pop(None)]
    machines = grouped(shown, lambda row: row.node)
    drawn = [[row.shown for row in each] for each in of_draw.values()] or [shown]
    true = [held(each, published) for each in drawn]
    return {
        "node": ", ".join(machines),
        "rows": shown,
        "adaptive_worst_loss": {name: max(of_adaptive(each)) for name, each in machines.items()},
        "adaptive_most_gain": {name: -min(of_adaptive(each)) for name, each in machines.items()},
        "claims": {claim: fmean(each[claim] for each in true) for claim in true[0]},
        "beside": [row.beside for row in rows if row.beside],
        "mechanisms": [row.decided for row in rows if row.draw is None],
        "published": published,
    }


def tables(found: StudyResult) -> list[Table | str]:
    why = {(each.node, each.application): each for each in found.mechanisms}
    columns = ["application", "class", "best", "uncached us", "over.* x", "why.* %"]
    note = (
        "best: of the static ones; over uncached; reuse: what caching saves; rows, waiting: what"
        " they cost; stalls: time that\nmemory is idle for lines; row_misses: lines that miss their"
        " row; found: bytes in L1, L2"
    )
    lines = []
    for row in found.rows:
        base = row.times_s["uncached"]
        over = {name: time / base for name, time in list(row.times_s.items())[1:]}
        decided = dict(list(why[row.node, row.application].items())[2:])
        ends = (found.adaptive_most_gain[row.node], found.adaptive_worst_loss[row.node])
        best = {"best": best_of(row), "span": "gains {:.1%} at most, loses {:.1%}".format(*ends)}
        lines.append({**row, "uncached": base, "over": over, "why": decided, **best})
    title = "{node}: time over that of uncached; adaptive, against the best static policy, {span}"
    parts = tables_by(title, lines, columns, note)
    title = "{node}: gain of an application, all cached, and of both, beside an all-gather"
    note = "whose lines leave the last cache first (stream) or pass it (bypass)"
    return [*parts, *tables_by(title, found.beside, ["application", "gains.* %"], note)]


def claims(found: StudyResult) -> Iterator[Claim]:
    """Each has to hold in more than half of the draws; and the most that is lost on a machine."""
    known = found.published
    for name, part in found.claims.items():
        what = f"{name.replace('_', ' ')}, in draws"
        yield Claim(what=what, ours=part, low=0.5, unit="%", decides=_decides(found, name))
    for machine, lost in found.adaptive_worst_loss.items():
        what, most = f"adaptive loses to the best static, {machine}", known.get("worst_loss")
        why = _decides(found, "adaptive_matches_best_static", machine)
        yield Claim(what=what, ours=lost, high=most, unit="%", decides=why)


def _decides(found: StudyResult, name: str, machine: str = "") -> str:
    """At the middle of the guesses: the application that loses most, or members elsewhere."""
    rows = [row for row in found.rows if row.node == (machine or found.rows[0].node)]
    if name == "adaptive_matches_best_static":
        of = dict(zip((row.application for row in rows), of_adaptive(rows), strict=True))
        worst = max(of, key=lambda each: of[each])
        return f"{worst}, loses {of[worst]:.0%}"
    members = found.published.get("classes", {}).get(name.removesuffix("_as_published"), ())
    other = {row.application: row["class"] for row in rows}
    apart = [each for each in members if f"{other.get(each)}_as_published" != name]
    return ", ".join(f"{each}: {other.get(each)}" for each in apart)


def panels(found: StudyResult) -> list[Panel]:
    lines = []
    for row in found.rows:
        best = row.times_s[best_of(row)]
        lines.append({**row, "over": {name: t / best for name, t in row.times_s.items()}})
    return panels_by(
        "{node}: time over the best static policy", lines, "application", "over.* x", kind="points"
    )

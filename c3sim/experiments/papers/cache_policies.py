"""Kind ``cache_policies``: which policy suits which application, and do optimisations suit all?

Kernels run alone under static policies and under switches of the GPU. The class of an application
compares the static ones: ``reuse`` where the better one that caches is quicker than uncached by
more than MARGIN, ``throughput`` where the worse one is slower by as much (and the better one no
quicker), else ``insensitive``. A claim has the share of draws of what is guessed in which it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from c3sim.experiments.claims import Claim
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.experiments.subjects.applications import PUBLISHED, Machines, guesses, workload_of
from c3sim.output.kit.grid import Table
from c3sim.output.kit.panels import Panel, panel
from c3sim.simulation.simulate import simulate
from c3sim.spec.cache_policy import CachePolicy
from c3sim.spec.hardware import Node
from c3sim.spec.study import Study

MARGIN = 0.05
_CACHED = CachePolicy(l1="allocate")
#: How every kernel loads and stores, and the switch of ``gpu.cache_policies`` that is on.
POLICIES = {
    "uncached": (CachePolicy(l1="bypass", l2="bypass", stores="uncached"), ""),
    "cache_r": (CachePolicy(l1="allocate", stores="uncached"), ""),
    "cache_rw": (_CACHED, ""),
    **{
        switch: (_CACHED, switch)
        for switch in ("allocation_bypass", "rinsing", "reuse_predictor", "adaptive")
    },
}
STATIC = ("uncached", "cache_r", "cache_rw")


@dataclass(frozen=True, kw_only=True, slots=True)
class Launched:
    """An application on a machine; *draw*: of what is guessed, None the middle of all."""

    name: str
    node: Node
    reached: float
    draw: int | None = None


def cases(asked: Asked) -> list[Launched]:
    study = asked.study
    assert study.machines is not None  # the schema asks for them
    machines = Machines(study.machines, study.node)
    middle, draws = guesses(study.machines)
    places = [(name, middle, None) for name in machines.names]
    drawn = list(enumerate(draws[: asked.options.draws]))
    found = []
    for name, guess, draw in [*places, *((PUBLISHED, guess, draw) for draw, guess in drawn)]:
        node = machines.node(name, guess)
        node = node.model_copy(update={"name": name})
        found += [
            Launched(name=label, node=node, reached=guess["reached"], draw=draw)
            for label in study.applications
        ]
    return found


def row(case: Launched, study: Study) -> Row:
    """Times under every policy, and what decides: the part of the time that caching saves (the best
    static policy over uncached), that rows cost and waiting for lines costs (all cached, over
    rinsing and over allocation bypass); where all is cached the part of the misses that wait, and
    of the written bytes that hit their row.
    """
    times = {}
    for policy, (cache, switch) in POLICIES.items():
        workload = workload_of(case.name, study.applications[case.name], cache, case.reached)
        run = simulate(_switched(case.node, switch), workload, energy=True)
        times[policy] = run.end
        if policy == "cache_rw":
            counts = run.lines.values()
            written = sum(count.written_bytes for count in counts)
            hits = sum(count.row_hits * count.written_bytes for count in counts)
            stalls = max(count.stalls for count in counts)
    cached = times["cache_rw"]
    why = Row(
        reuse=1.0 - min(times[policy] for policy in STATIC) / times["uncached"],
        rows=1.0 - times["rinsing"] / cached,
        waiting=1.0 - times["allocation_bypass"] / cached,
        stalls=stalls,
        row_hits=hits / written if written else 1.0,
    )
    name = Row(node=case.node.name, application=case.name)
    shown = Row(name, **{"class": class_of(times)}, times_s=times)
    return Row(shown=shown, decided=Row(name, **why), draw=case.draw)


def _switched(node: Node, switch: str) -> Node:
    """*node* with one *switch* of its cache policies on; empty: as it is."""
    if not switch:
        return node
    policies = node.gpu.cache_policies
    assert policies is not None  # asked before
    gpu = node.gpu.model_copy(update={"cache_policies": policies.model_copy(update={switch: True})})
    return node.model_copy(update={"gpu": gpu})


def class_of(times: Mapping[str, float]) -> str:
    """The class of an application by its *times* [s] under the static policies."""
    cached = [times[policy] / times["uncached"] for policy in STATIC[1:]]
    if min(cached) < 1.0 - MARGIN:
        return "reuse"
    return "throughput" if max(cached) > 1.0 + MARGIN else "insensitive"


def worst_loss(rows: Sequence[Row]) -> float:
    """The greatest part of its time that an application loses under all optimisations together,
    against the best static policy for it.
    """
    losses = (
        row.times_s["adaptive"] / min(row.times_s[policy] for policy in STATIC) - 1.0
        for row in rows
    )
    return float(max(losses))


def reduce(asked: Asked, cases: Sequence[Launched], rows: list[Row]) -> Mapping[str, Any]:
    published = asked.study.published
    of_draw = grouped(rows, lambda row: row.draw)
    shown = [row.shown for row in of_draw.pop(None)]
    machines = grouped(shown, lambda row: row.node)
    held = [_held([row.shown for row in each], published) for each in of_draw.values()]
    return {
        "node": ", ".join(machines),
        "rows": shown,
        "adaptive_worst_loss": {name: worst_loss(each) for name, each in machines.items()},
        "claims": {claim: fmean(each[claim] for each in held) for claim in held[0]},
        "mechanisms": [row.decided for row in rows if row.draw is None],
        "published": published,
    }


def _held(rows: Sequence[Row], published: Mapping[str, Any]) -> dict[str, float]:
    """Which claims hold of *rows*: 1 or 0; of the published classes the part of their members."""
    found = {row.application: row["class"] for row in rows}
    best = [
        all(row.times_s[policy] <= 1.01 * min(row.times_s[p] for p in STATIC) for row in rows)
        for policy in STATIC
    ]
    return {
        "three_classes": float(len(set(found.values())) == 3),
        "no_static_policy_best_everywhere": float(not any(best)),
        "adaptive_matches_best_static": float(
            worst_loss(rows) <= published.get("worst_loss", MARGIN)
        ),
        **{
            f"{name}_as_published": fmean(float(found.get(each) == name) for each in members)
            for name, members in published.get("classes", {}).items()
            if members
        },
    }


def tables(found: StudyResult) -> list[Table | str]:
    why = {(each.node, each.application): each for each in found.mechanisms}
    columns = ["application", "class", "uncached us", "over.* x", "why.* %"]
    note = (
        "over uncached; reuse: what caching saves; rows, waiting: what they cost; stalls: misses"
        " that wait for a line of L2;\nrow_hits: bytes written that hit their row"
    )
    parts: list[Table | str] = []
    for node, rows in grouped(found.rows, lambda row: row.node).items():
        lines = []
        for row in rows:
            base = row.times_s["uncached"]
            over = {name: time / base for name, time in list(row.times_s.items())[1:]}
            decided = dict(list(why[node, row.application].items())[2:])
            lines.append({**row, "uncached": base, "over": over, "why": decided})
        lost = f"{100 * found.adaptive_worst_loss[node]:.1f} %"
        title = f"{node}: time over that of uncached; adaptive loses {lost} at worst"
        parts.append(Table(title, lines, columns, note))
    held = [{"claim": name.replace("_", " "), "in": part} for name, part in found.claims.items()]
    title = "Published claims, and the share of the draws in which each holds (apu)"
    return [*parts, Table(title, held, ["claim", "in % as holds in"])]


def claims(found: StudyResult) -> Iterator[Claim]:
    """Each has to hold in more than half of the draws."""
    for name, part in found.claims.items():
        what = f"{name.replace('_', ' ')}, in draws"
        yield Claim(what=what, ours=part, low=0.5, unit="%", standing="second-hand")


def panels(found: StudyResult) -> list[Panel]:
    drawn = []
    for node, rows in grouped(found.rows, lambda row: row.node).items():
        lines = []
        for row in rows:
            best = min(row.times_s[policy] for policy in STATIC)
            lines.append({**row, "over": {name: t / best for name, t in row.times_s.items()}})
        title = f"{node}: time over the best static policy"
        drawn.append(panel(title, lines, "application", "over.* x", kind="points"))
    return drawn

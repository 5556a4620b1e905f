"""A study of kind ``cache_policies``: applications under static policies and optimisations.

The class of an application compares static policies: ``reuse`` where the better one that caches is
quicker than uncached by more than MARGIN, ``throughput`` where the worse one is slower by as much
(and the better one no quicker), else ``insensitive``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from c3sim.evaluation.policy_costs import POLICIES, STATIC, Cost, cost_of
from c3sim.specs.study import Study
from c3sim.studies.cache_policies.applications import launches_of
from c3sim.studies.cache_policies.machines import PUBLISHED, Guesses, Machines, guesses
from c3sim.studies.kind import Options, StudyResult
from c3sim.studies.plain import ENTRIES, KEY

MARGIN = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class AboutPolicies:
    """As of other studies, which run on one node; this one has its *nodes* in its rows."""

    name: str
    node: str
    description: str
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    node: str
    application: str
    klass: str = field(metadata={KEY: "class"})
    times_s: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """By policy what bounds an application; part of the misses that wait for a line, part of the
    written bytes that hit an open row, both where all is cached.
    """

    node: str
    application: str
    bound: Mapping[str, str]
    stalls: float
    row_hits: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CachePoliciesResult(StudyResult):
    """*claims*: share of the draws in which each holds on the published machine; *mechanisms*: what
    decides each row; *published*: what is compared.
    """

    about: Any = field(metadata=ENTRIES)
    rows: Sequence[Row]
    adaptive_worst_loss: Mapping[str, float]
    claims: Mapping[str, float]
    mechanisms: Sequence[Decided]
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> CachePoliciesResult:
    """All applications on all machines. Raises InputError."""
    assert study.machines is not None  # the schema asks for them
    machines = Machines(study.machines)
    middle, draws = guesses(study.machines)
    rows: list[Row] = []
    mechanisms = []
    for name in machines.names:
        for application, costs in _costs(study, machines, name, middle).items():
            rows.append(_row(name, application, costs))
            mechanisms.append(
                Decided(
                    node=name,
                    application=application,
                    bound={policy: cost.bound for policy, cost in costs.items()},
                    stalls=costs["cache_rw"].stalls,
                    row_hits=costs["cache_rw"].row_hits,
                )
            )
        options.report("machines", len({row.node for row in rows}), len(machines.names))
    classes = study.published.get("classes", {})
    limit = study.published.get("worst_loss", MARGIN)
    held = [_held(_rows(study, machines, PUBLISHED, draw), classes, limit) for draw in draws]
    return CachePoliciesResult(
        about=AboutPolicies(
            name=study.name,
            node=", ".join(machines.names),
            description=study.description,
            source=study.source,
        ),
        rows=rows,
        adaptive_worst_loss={
            name: worst_loss([row for row in rows if row.node == name]) for name in machines.names
        },
        claims={claim: fmean(float(each[claim]) for each in held) for claim in held[0]},
        mechanisms=mechanisms,
        published=study.published,
    )


def _costs(
    study: Study, machines: Machines, name: str, guess: Guesses
) -> dict[str, dict[str, Cost]]:
    """By application and policy."""
    return {
        label: {
            policy: cost_of(
                launches_of(application), machines.machine(name, application.dtype, guess), how
            )
            for policy, how in POLICIES.items()
        }
        for label, application in study.applications.items()
    }


def _rows(study: Study, machines: Machines, name: str, guess: Guesses) -> list[Row]:
    found = _costs(study, machines, name, guess)
    return [_row(name, application, costs) for application, costs in found.items()]


def _row(node: str, application: str, costs: Mapping[str, Cost]) -> Row:
    times = {policy: cost.time for policy, cost in costs.items()}
    return Row(node=node, application=application, klass=class_of(times), times_s=times)


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
    return max(
        row.times_s["adaptive"] / min(row.times_s[policy] for policy in STATIC) - 1.0
        for row in rows
    )


def _held(
    rows: Sequence[Row], classes: Mapping[str, Sequence[str]], limit: float
) -> dict[str, float]:
    """Which claims hold of *rows*: 1 or 0; of the published *classes* the part of their members."""
    found = {row.application: row.klass for row in rows}
    best = [
        all(row.times_s[policy] <= 1.01 * min(row.times_s[p] for p in STATIC) for row in rows)
        for policy in STATIC
    ]
    return {
        "three_classes": float(len(set(found.values())) == 3),
        "no_static_policy_best_everywhere": float(not any(best)),
        "adaptive_matches_best_static": float(worst_loss(rows) <= limit),
        **{
            f"{name}_as_published": fmean(float(found[each] == name) for each in members)
            for name, members in classes.items()
        },
    }

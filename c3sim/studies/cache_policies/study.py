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

from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.study import Study
from c3sim.specs.workload import Workload
from c3sim.studies.cache_policies.applications import workload_of
from c3sim.studies.cache_policies.machines import PUBLISHED, Guesses, Machines, guesses
from c3sim.studies.cache_policies.policies import POLICIES, STATIC, switched
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
    """What decides, of an application: the part of its time that caching saves (the best static
    policy over uncached), that rows cost and waiting for lines costs (all cached, over rinsing and
    over allocation bypass); where all is cached the part of the misses that wait, and of the
    written bytes that hit their row.
    """

    node: str
    application: str
    reuse: float
    rows: float
    waiting: float
    stalls: float
    row_hits: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """*time* [s] of an application; counts as of :class:`Decided`."""

    time: float
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
    machines = Machines(study.machines, study.node)
    middle, draws = guesses(study.machines)
    draws = draws[: options.draws]
    rows: list[Row] = []
    mechanisms = []
    for name in machines.names:
        for application, outcomes in _outcomes(study, machines, name, middle).items():
            rows.append(_row(name, application, outcomes))
            mechanisms.append(_decided(name, application, outcomes))
        options.report("machines", len({row.node for row in rows}), len(machines.names))
    classes = study.published.get("classes", {})
    limit = study.published.get("worst_loss", MARGIN)
    held = []
    for number, draw in enumerate(draws):
        held.append(_held(_rows(study, machines, PUBLISHED, draw), classes, limit))
        options.report("draws", number + 1, len(draws))
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


def _outcomes(
    study: Study, machines: Machines, name: str, guess: Guesses
) -> dict[str, dict[str, Outcome]]:
    """By application and policy."""
    node, reached = machines.node(name, guess), guess["reached"]
    nodes = {policy: switched(node, how.switch) for policy, how in POLICIES.items()}
    return {
        label: {
            policy: _outcome(other, workload_of(label, each, POLICIES[policy].cache, reached))
            for policy, other in nodes.items()
        }
        for label, each in study.applications.items()
    }


def _outcome(node: Node, workload: Workload) -> Outcome:
    run = simulate(node, workload, energy=True)
    counts = run.lines.values()
    written = sum(count.written_bytes for count in counts)
    hits = sum(count.row_hits * count.written_bytes for count in counts)
    return Outcome(
        time=run.end,
        stalls=max(count.stalls for count in counts),
        row_hits=hits / written if written else 1.0,
    )


def _decided(node: str, application: str, outcomes: Mapping[str, Outcome]) -> Decided:
    times = {policy: outcome.time for policy, outcome in outcomes.items()}
    cached = outcomes["cache_rw"]
    return Decided(
        node=node,
        application=application,
        reuse=1.0 - min(times[policy] for policy in STATIC) / times["uncached"],
        rows=1.0 - times["rinsing"] / cached.time,
        waiting=1.0 - times["allocation_bypass"] / cached.time,
        stalls=cached.stalls,
        row_hits=cached.row_hits,
    )


def _rows(study: Study, machines: Machines, name: str, guess: Guesses) -> list[Row]:
    found = _outcomes(study, machines, name, guess)
    return [_row(name, application, outcomes) for application, outcomes in found.items()]


def _row(node: str, application: str, outcomes: Mapping[str, Outcome]) -> Row:
    times = {policy: outcome.time for policy, outcome in outcomes.items()}
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

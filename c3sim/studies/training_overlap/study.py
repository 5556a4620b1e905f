"""A study of kind ``training_overlap``: a training step under several variants of overlap.

Each iteration has as many of its model's layers as the GPUs of a node have memory for under every
variant. The first variant is also what they are compared with: with
T0 its wall time and C0 its collectives alone, a variant of wall time T hides (T0 - T) / C0 of the
communication. A step loses *exposed_s* + *stretched_s* = wall_s - compute_s. Stretched time is
less than nothing where operators run quicker than without communication: while it runs alone a GPU
draws less, and under a power limit it is clocked higher afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from c3sim.specs.study import Study
from c3sim.studies.iterations import (
    IterationCase,
    about,
    effort,
    iteration_cases,
    most_layers,
    nodes_of,
)
from c3sim.studies.kind import Options, StudyResult
from c3sim.studies.parallel import spread
from c3sim.studies.show import grouped
from c3sim.studies.training_overlap.limits import limited_by, removal

WORTH_IT = 4  # cases of about a second from which other processes pay


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One variant. *hidden*: of the communication of the first variant, in time; *removal*: part of
    the wall time that goes where computing and communication do not share something;
    *limited_by*: the largest of them, or ``exposed`` where exposed communication costs more.
    """

    model: str
    node: str
    variant: str
    layers: int
    wall_s: float
    compute_s: float
    communication_s: float
    exposed_s: float
    stretched_s: float
    hidden: float
    limited_by: str
    removal: Mapping[str, float]
    tokens_per_s: float
    mfu: float
    memory_bytes: float
    fits: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class OverlapResult(StudyResult):
    """*rows*: one per variant, model and node."""

    rows: Sequence[Row]
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> OverlapResult:
    """All variants of *study*. Raises InputError."""
    nodes = nodes_of(study, options)
    cases = iteration_cases(study, nodes)
    options.ask(effort(cases[0]), 2 * len(cases))
    steps = grouped(cases, lambda case: (case.file, case.node.name))
    fitting = [case for variants in steps.values() for case in _as_many_layers(variants)]
    rows = spread(_row, fitting, worth=WORTH_IT, what="variants", options=options)
    of_steps = grouped(rows, lambda row: (row.model, row.node)).values()
    return OverlapResult(
        about=about(study, nodes),
        rows=[_beside(row, variants[0]) for variants in of_steps for row in variants],
        published=study.published,
    )


def _as_many_layers(variants: Sequence[IterationCase]) -> list[IterationCase]:
    """All *variants* of a step with as many layers as fit under each; None: all of the model."""
    most = [most_layers(case).loaded.iteration.layers for case in variants]
    fitting = min((count for count in most if count is not None), default=None)
    return [case.with_fields(layers=fitting) for case in variants]


def _row(case: IterationCase) -> Row:
    result = case.run()
    removed = removal(case)
    return Row(
        model=case.loaded.model.name,
        node=case.node.name,
        variant=case.name,
        layers=result.layers,
        wall_s=result.wall_s,
        compute_s=result.compute_s,
        communication_s=result.communication_s,
        exposed_s=result.exposed_s,
        stretched_s=result.stretched_s,
        hidden=0.0,
        limited_by=limited_by(result.exposed_s, result.stretched_s, removed),
        removal=removed,
        tokens_per_s=result.tokens_per_s,
        mfu=result.mfu,
        memory_bytes=result.memory_bytes,
        fits=result.fits,
    )


def _beside(row: Row, first: Row) -> Row:
    return replace(row, hidden=(first.wall_s - row.wall_s) / first.communication_s)

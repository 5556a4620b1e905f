"""A study of kind ``pieces``: a collective and a GEMM of which one feeds the other, under serial
execution, shards from peer to peer, and four schedules at their best numbers of pieces.

A heuristic from static sizes is fitted on every second GEMM and scored on the others, which it has
not seen; by engines and by kernels apart. Published figures stand beside; they are never inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

from c3sim.specs.study import Study
from c3sim.studies.kind import About, Options, StudyResult, published_for
from c3sim.studies.parallel import for_each
from c3sim.studies.pieces.cases import cases_of, pieces_of
from c3sim.studies.pieces.heuristic import Seen, Sizes, Tree, choice, fit
from c3sim.studies.pieces.outcomes import FOUR, Row, row_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """Of a heuristic on *scenarios* of GEMMs that it was not fitted on: how often it names the best
    of the four, and the mean loss where it does not (None: always right). *swapped*: the same with
    the halves swapped; *fixed*: the one schedule that loses least on what the heuristic was fitted
    on, taken always.
    """

    hit_rate: float
    mean_loss: float | None
    scenarios: int
    rule: str
    swapped_hit_rate: float
    swapped_mean_loss: float | None
    fixed: str
    fixed_hit_rate: float
    fixed_mean_loss: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PiecesResult(StudyResult):
    """*scenarios*, a row each; *heuristic* by engines (by what there is otherwise); *max_speedup*
    over serial and *max_ideal_speedup* by the same; *shards_slower*: shards against all links.
    """

    scenarios: Sequence[Row]
    heuristic: Score | None
    heuristics: Mapping[str, Score]
    max_speedup: float
    max_ideal_speedup: float
    shards_slower: float | None
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> PiecesResult:
    """Every scenario of *study*. Raises InputError."""
    plan, cases = pieces_of(study), cases_of(study, options.node)
    work = partial(row_of, plan=plan)
    rows = for_each(work, cases, tuple(FOUR), what="scenarios", options=options)
    order = list(plan.gemms)
    scores: dict[str, Score] = {}
    for by in plan.by:
        rows, score = _scored(rows, by, {name for name in order[::2]})
        if score is not None:
            scores[by] = score
    first = [row for row in rows if row.by == plan.by[0]]
    slower = [row.shards_slower for row in first if row.shards_slower is not None]
    return PiecesResult(
        about=About.of(study, cases[0].node),
        scenarios=rows,
        heuristic=scores.get(plan.by[0]),
        heuristics=scores,
        max_speedup=max(row.schedules[row.best].speedup for row in first),
        max_ideal_speedup=max(row.ideal_speedup for row in first),
        shards_slower=max(slower, default=None),
        published=published_for(study, cases[0].node),
    )


def _scored(rows: list[Row], by: str, fitted: set[str]) -> tuple[list[Row], Score | None]:
    """*rows* with the choices of the heuristic of *by*, fitted on the GEMMs *fitted*; its score.
    Scenarios that not all four can split are left out.
    """
    full = [row for row in rows if row.by == by and set(FOUR) <= set(row.schedules)]
    known = [_seen(row) for row in full if row.gemm in fitted]
    unseen = [_seen(row) for row in full if row.gemm not in fitted]
    if not known or not unseen:
        return rows, None
    tree, fixed = fit(known, tuple(FOUR)), fit_one(known)
    asked = {id(row) for row in full}
    found = [
        _with_choice(row, tree, row.gemm in fitted) if id(row) in asked else row for row in rows
    ]
    hits, loss = _score(unseen, tree)
    swapped_hits, swapped_loss = _score(known, fit(unseen, tuple(FOUR)))
    fixed_hits, fixed_loss = _score(unseen, fixed)
    return found, Score(
        hit_rate=hits,
        mean_loss=loss,
        scenarios=len(unseen),
        rule=tree if isinstance(tree, str) else tree.text,
        swapped_hit_rate=swapped_hits,
        swapped_mean_loss=swapped_loss,
        fixed=fixed,
        fixed_hit_rate=fixed_hits,
        fixed_mean_loss=fixed_loss,
    )


def fit_one(seen: Sequence[Seen]) -> str:
    """The schedule that loses least over *seen* if it is always taken."""
    return min(FOUR, key=lambda name: sum(each.loss(name) for each in seen))


def _seen(row: Row) -> Seen:
    times = {name: row.schedules[name].time_s for name in FOUR}
    return Seen(row.gemm, Sizes.of(row.m, row.n, row.k), times)


def _with_choice(row: Row, tree: Tree | str, fitted: bool) -> Row:
    seen = _seen(row)
    name = choice(tree, seen.sizes)
    return replace(row, heuristic=name, loss=seen.loss(name), fitted=fitted)


def _score(seen: Sequence[Seen], tree: Tree | str) -> tuple[float, float | None]:
    """Share of hits; mean loss over the misses."""
    losses = [each.loss(choice(tree, each.sizes)) for each in seen]
    misses = [loss for loss in losses if loss > 0]
    return 1.0 - len(misses) / len(losses), fmean(misses) if misses else None

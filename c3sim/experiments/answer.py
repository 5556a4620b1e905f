"""The answer of a study as a band, and what it says about published means.

With the mean m of a strategy over the study's own pairs, its mean d_i in draw i by one of its
yardsticks less the usual one, and its mean t_j over the other table j of pairs less the own one,
the band is that of all

    m + d_i + t_j

d_i is over every pair of GEMM and size under one of its operations, in turns from pair to pair and
from draw to draw: half of the runs, for an error far below that of some draws (decision 121).
Draws and tables are independent. A published mean is inside the band or not. The published order
holds in so many of these sums, in which all strategies share i and j. Strategies with a published
mean have a band; all of them where none is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, pairwise, product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from c3sim.evaluation.effort import Effort, effort_of
from c3sim.experiments.cases import Case, workload_cases
from c3sim.experiments.draws import (
    Change,
    Condition,
    Draw,
    Drawing,
    Fractions,
    Measured,
    Rerun,
    Target,
    draws_of,
    largest,
    means_of,
    of_condition,
    of_parameters,
    replay,
    replay_each,
)
from c3sim.experiments.facts import Screened, Values, conditioned, excluding, screen, screened_by
from c3sim.experiments.lost import points_lost
from c3sim.experiments.pairs import other_means
from c3sim.experiments.reruns import (
    Outcomes,
    Subject,
    as_chosen,
    one_of_each,
    shifts_of,
    subject_of,
)
from c3sim.experiments.study import Asked, Row, with_settings
from c3sim.spec.reading.loading import load_study
from c3sim.spec.study import Band, Study

if TYPE_CHECKING:
    import numpy as np


class Sums:
    """All sums m + d_i + t_j of a strategy or a target.

    *own*: the means m; *draws*: d_i, of every strategy; *tables*: strategy -> means over other
    tables.
    """

    def __init__(
        self, own: Fractions, draws: Sequence[Fractions], tables: Mapping[str, Sequence[float]]
    ) -> None:
        self.own, self.draws, self.tables = own, draws, tables

    def of(self, target: Target) -> np.ndarray:
        """Draws one after the other, each with all tables."""
        import numpy as np

        total = np.zeros(1)
        for name, weight in target.items():
            shifts = [shift[name] for shift in self.draws] or [0.0]
            others = [mean - self.own[name] for mean in self.tables.get(name, ())] or [0.0]
            sums = self.own[name] + np.add.outer(np.array(shifts), np.array(others))
            total = total + weight * sums.ravel()
        return total

    def pair_changes(self, targets: Mapping[str, Target]) -> list[Change]:
        """The effect of other tables alone on each of *targets*, by the name of a strategy: the 5th
        and the 95th percentile.
        """
        import numpy as np

        if not self.tables:
            return []
        of_tables = Sums(self.own, (), self.tables)
        moves = {
            name: of_tables.of(target) - sum(w * self.own[each] for each, w in target.items())
            for name, target in targets.items()
        }
        return [
            Change(
                kind="pairs",
                name="choice of pairs",
                value=f"{100 * share:.0f} % of tables below",
                by={name: float(np.quantile(values, share)) for name, values in moves.items()},
            )
            for share in (0.05, 0.95)
        ]


#: A band this wide cannot tell.
WIDE = 0.3
SURE = 0.95  # of the sums: the order of two holds


def mean_band(name: str, sums: Sums, published: float | None, changes: Sequence[Change]) -> Row:
    import numpy as np

    low, middle, high = (float(end) for end in np.quantile(sums.of({name: 1.0}), (0.05, 0.5, 0.95)))
    tables = sums.tables.get(name)
    ends = np.quantile(np.array(tables), (0.05, 0.95)) if tables else None
    allowed = [change for change in changes if not change.excluded_by]
    return Row(
        usual=sums.own[name],
        low=low,
        median=middle,
        high=high,
        **({} if ends is None else {"pairs": [float(ends[0]), float(ends[1])]}),
        published=published,
        inside=None if published is None else low <= published <= high,
        verdict=None if published is None else _verdict(low, published, high),
        most=moved(allowed, {name: 1.0}),
    )


def _verdict(low: float, published: float, high: float) -> str:
    if low > published:
        return "outside, too much overlap"
    if high < published:
        return "outside, too little overlap"
    return "inside" if high - low <= WIDE else "inside, too wide to tell"


def moved(changes: Sequence[Change], target: Target) -> Row | None:
    """The change that moves *target* most."""
    change = largest(changes, target)
    if change is None:
        return None
    return Row(kind=change.kind, name=change.name, value=change.value, by=change.on(target))


def order_of(
    groups: Sequence[Sequence[str]],
    sums: Sums,
    changes: Sequence[Change],
    evidence: Mapping[str, str],
) -> Row | None:
    """The share of draws with *groups* in this order; None where fewer than two are left.
    *evidence*: what isolated runs say of a pair, by its name.
    """
    known = [[name for name in group if name in sums.own] for group in groups]
    known = [group for group in known if group]
    if len(known) < 2:
        return None
    margins, held = [], []
    for below, above in pairwise(known):
        for lower, higher in product(below, above):
            target = {higher: 1.0, lower: -1.0}
            values = sums.of(target)
            held.append(values > 0)
            margin = _margin(lower, higher, values, sums, changes)
            known_of = evidence.get(f"{lower} < {higher}")
            margins.append(margin if known_of is None else Row(margin, evidence=known_of))
    holds = fmean(float(all(each)) for each in zip(*held, strict=True))
    return Row(groups=known, holds=holds, margins=margins)


def _margin(
    lower: str, higher: str, values: np.ndarray, sums: Sums, changes: Sequence[Change]
) -> Row:
    import numpy as np

    low, high = (float(end) for end in np.quantile(values, (0.05, 0.95)))
    target = {higher: 1.0, lower: -1.0}
    # a table that is low for one strategy need not be low for the other
    alone = [change for change in changes if change.kind != "pairs" and not change.excluded_by]
    raising = [change for change in alone if change.on(target) > 0]
    holds = float(np.mean(values > 0))
    return Row(
        lower=lower,
        higher=higher,
        usual=sums.own[higher] - sums.own[lower],
        low=low,
        high=high,
        holds=holds,
        verdict="holds" if holds >= SURE else "fails" if holds <= 1 - SURE else "open",
        most=moved(alone, target),
        best=moved(raising, target),
    )


def answer_of(asked: Asked, cases: Sequence[Case], found: Sequence[Outcomes]) -> Row | None:
    """The band of the study, whose *cases* came out as *found*. None: neither draws nor other
    tables are asked for. Raises InputError.
    """
    study, band = asked.study, asked.study.band or Band()
    if study.band is None and study.pool is None:
        return None
    of = subject_of(asked, band, cases, found)
    count = asked.options.draws or band.draws
    one = Effort.mean(effort_of(case.workload, case.node) for case in cases)
    asked.ask(one, (2 * count + len(of.single)) * len(of.turns[0].kept) * len(of.names))
    prior = draws_of(of.parameters, of.known, count, band.seed)
    facts = _facts(asked, band, of, cases)
    agreeing = _agreeing(asked, facts, of, cases, count)
    replayed, shifts = _replayed(of, prior, agreeing, asked)
    tables = _tables(asked, of.names, cases)
    of_prior, of_agreeing = (Sums(of.own, each, tables) for each in shifts)
    sums = of_agreeing if agreeing else of_prior
    changes = _changes(asked, of, cases, facts, sums)
    said = study.published
    order = order_of(said.get("order") or [], sums, changes, said.get("evidence") or {})
    return Row(
        drawn=Row(
            draws=sum(bool(each) for each in replayed[: len(prior)]),
            failed=sum(not each for each in replayed),
            yardsticks=max((len(measured) for measured in replayed if measured), default=1),
            seed=band.seed,
            parameters=len(of.parameters),
            tables=max((len(means) for means in tables.values()), default=0),
            skipped=band.skip,
            some=[case.name for case, _ in of.some.kept],
            assumptions=[_for_readers(study, alternatives) for alternatives in of.known],
            **_screening(facts, agreeing),
        ),
        strategies=_bands(study, of.names, sums, of_prior if agreeing else None, changes),
        changes=[_change_row(each) for each in changes],
        lost=points_lost([as_chosen(one, of.names) for one in of.some.kept], asked),
        **({"facts": facts.screened.rows(facts.usual)} if facts is not None else {}),
        **({"order": order} if order is not None else {}),
    )


def _bands(
    study: Study, names: Sequence[str], sums: Sums, prior: Sums | None, changes: Sequence[Change]
) -> dict[str, Row]:
    """The band of each strategy from *sums*, beside that of *prior*, before facts excluded any."""
    known = study.published.get("mean_fraction_of_ideal") or {}
    bands = {name: mean_band(name, sums, known.get(name), changes) for name in names}
    for name, each in bands.items():
        if prior is not None:
            before = mean_band(name, prior, None, ())
            each["prior"] = [before.low, before.high]
        each["narrow"] = _narrowing(study, each)
    return bands


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """The verdict on those *screened* of so many *draws*, the *rows* at which they lie, and the
    facts as run (*usual*).
    """

    screened: Screened
    rows: list[Any]
    drawing: Drawing
    usual: Values
    draws: int


def _facts(asked: Asked, band: Band, of: Subject, cases: Sequence[Case]) -> _Facts | None:
    """None: no facts, or they are of another node than *cases*, or no draw runs."""
    if not band.facts or cases[0].node.name != asked.study.node:
        return None
    drawing = Drawing(of.parameters, of.known)
    rows = list(drawing.rows(band.screened, band.seed + 1))
    draws = [drawing.at(row) for row in rows]
    usual, screened, numbers = screened_by(band.facts, cases, draws, asked)
    if screened is None:
        return None
    rows = [rows[number] for number in numbers]
    return _Facts(screened=screened, rows=rows, drawing=drawing, usual=usual, draws=len(draws))


def _agreeing(
    asked: Asked, facts: _Facts | None, of: Subject, cases: Sequence[Case], count: int
) -> list[Draw]:
    if facts is None:
        return []
    return conditioned(facts.screened, facts.rows, facts.drawing, cases, count, asked)


def _screening(facts: _Facts | None, agreeing: Sequence[Draw]) -> dict[str, Any]:
    """The facts that draws were screened by, for the reader."""
    if facts is None:
        return {}
    return {
        "screened": facts.draws,
        "whole": facts.screened.first,
        "effective": facts.screened.effective(),
        "conditioned": len(agreeing),
        "distinct": len({each.settings for each in agreeing}),
    }


def _replayed(
    of: Subject, prior: Sequence[Draw], agreeing: Sequence[Draw], asked: Asked
) -> tuple[list[Measured], list[list[Fractions]]]:
    """What all draws give, and what those of each kind change; every draw has other pairs, or
    operations, than the one before. Where some agree with facts, the others say how far the answer
    would be known without, for which half of the pairs are enough.
    """
    parts = [*of.turns, *of.halves]
    turns, halves = range(len(of.turns)), range(len(of.turns), len(parts))
    numbered = [*zip(cycle(halves if agreeing else turns), prior, strict=False)]
    numbered += zip(cycle(turns), agreeing, strict=False)
    replayed = replay_each([part.reruns for part in parts], numbered, asked, what="draws")
    used = [parts[number] for number, _ in numbered]
    kinds = slice(len(prior)), slice(len(prior), None)
    return replayed, [shifts_of(used[kind], replayed[kind]) for kind in kinds]


def _changes(
    asked: Asked, of: Subject, cases: Sequence[Case], facts: _Facts | None, sums: Sums
) -> list[Change]:
    """The effect of each thing alone, and which facts exclude it."""
    some, draws = of.some, [each.draw for each in of.single]
    single = replay(some.reruns, draws, asked, what="one thing at a time")
    changes = [
        of_condition(condition, means, some.usual)
        for condition, measured in zip(of.single, single, strict=True)
        for means in measured
    ]
    targets: list[Target] = [{name: 1.0} for name in of.names]
    order = order_of(asked.study.published.get("order") or [], sums, (), {})
    if order is not None:
        targets += [{m.higher: 1.0, m.lower: -1.0} for m in order.margins]
    ask = None if facts is None else partial(_excluded, asked, facts, cases)
    few = one_of_each(of.kept, of.names)
    changes += of_parameters(of.parameters, few, some.reruns, some.usual, targets, asked, ask)
    if ask is not None:
        by = ask([Draw(settings=each.settings) for each in changes])
        changes = [
            replace(each, excluded_by=names) for each, names in zip(changes, by, strict=True)
        ]
    return changes + sums.pair_changes({name: {name: 1.0} for name in of.names})


def _excluded(
    asked: Asked, facts: _Facts, cases: Sequence[Case], draws: Sequence[Draw]
) -> list[tuple[str, ...]]:
    known = facts.screened.facts
    values = screen(known, cases, draws, asked)
    return [excluding(known, each, facts.usual) for each in values]


def _change_row(change: Change) -> Row:
    row = Row(kind=change.kind, name=change.name, value=change.value, by=change.by)
    if change.excluded_by:
        row["excluded_by"] = list(change.excluded_by)
    return row


def _narrowing(study: Study, band: Row) -> str:
    """The measurement that would narrow a band wider than WIDE most: of what moves its mean most,
    and no fact excludes.
    """
    if band.most is None or band.high - band.low <= WIDE:
        return ""
    assumptions = study.band.assumptions if study.band is not None else ()
    for assumption in assumptions:
        if assumption.name == band.most.name:
            return assumption.measure or assumption.name
    if band.most.kind == "pairs":
        return "the published table of pairs"
    return f"{band.most.name}, alone"


def _tables(
    asked: Asked, names: Sequence[str], cases: Sequence[Case]
) -> Mapping[str, Sequence[float]]:
    """Means over other tables of pairs."""
    if asked.study.pool is None:
        return {}
    pool = with_settings(load_study(asked.study.pool), asked.options.settings)
    run = partial(asked.each, partial(_fractions, tuple(names)), what="other tables", worth=20)
    return other_means(names, cases, workload_cases(pool, asked.options.node), run)


def _fractions(names: Sequence[str], case: Case) -> dict[str, float | None]:
    """Fractions of ideal of *case* under each strategy."""
    found = means_of([Rerun(case=case, strategies={name: name for name in names})], Draw())[0]
    return {name: found.get(name) for name in names}


def _for_readers(study: Study, of: Sequence[Condition]) -> Row:
    """An assumption: its usual condition, the alternatives, why it is not known."""
    assert study.band is not None  # it has assumptions
    (spec,) = (each for each in study.band.assumptions if each.name == of[0].assumption)
    return Row(
        name=spec.name,
        usual=spec.usual,
        alternatives=[condition.alternative for condition in of],
        unknown=spec.unknown,
        source=spec.source,
    )

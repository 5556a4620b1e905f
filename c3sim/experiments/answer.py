"""The answer of a study as a band, and what it says about published means.

With the mean m of a strategy over the study's own pairs, its mean d_i in draw i by one of its
yardsticks less the usual one, and its mean t_j over the other table j of pairs less the own one,
the band is that of all

    m + d_i + t_j

Draws and tables are independent. A published mean is inside the band or not. The published order
holds in so many of these sums, in which all strategies share i and j. Strategies with a published
mean have a band; all of them where none is published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from statistics import fmean
from typing import TYPE_CHECKING

from c3sim.evaluation.effort import Effort, effort_of
from c3sim.experiments.bands import Parameter, parameters_of
from c3sim.experiments.cases import Case, collective_of, gemm_of, workload_cases
from c3sim.experiments.draws import (
    Change,
    Condition,
    Fractions,
    Rerun,
    Target,
    conditions,
    draws_of,
    largest,
    of_condition,
    of_parameters,
    replay,
)
from c3sim.experiments.pairs import other_means
from c3sim.experiments.study import Asked, Row, grouped, with_settings
from c3sim.iterations.described import evaluate
from c3sim.output.kit.grid import Table
from c3sim.output.kit.text import percent
from c3sim.spec.reading.loading import LoadedNode, load_study
from c3sim.spec.reading.paths import canonical
from c3sim.spec.study import Band, Study
from c3sim.strategies.rewrites import is_memory_bound

if TYPE_CHECKING:
    import numpy as np


class Sums:
    """All sums m + d_i + t_j of a strategy or a target.

    *own*: the means m; *draws*: means in draws over the scenarios whose usual means are *usual*;
    *tables*: strategy -> means over other tables.
    """

    def __init__(
        self,
        own: Fractions,
        usual: Fractions,
        draws: Sequence[Fractions],
        tables: Mapping[str, Sequence[float]],
    ) -> None:
        self.own, self.usual, self.draws, self.tables = own, usual, draws, tables

    def of(self, target: Target) -> np.ndarray:
        """Draws one after the other, each with all tables."""
        import numpy as np

        total = np.zeros(1)
        for name, weight in target.items():
            shifts = [means[name] - self.usual[name] for means in self.draws] or [0.0]
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
        of_tables = Sums(self.own, self.usual, (), self.tables)
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


def mean_band(name: str, sums: Sums, published: float | None, changes: Sequence[Change]) -> Row:
    import numpy as np

    low, middle, high = (float(end) for end in np.quantile(sums.of({name: 1.0}), (0.05, 0.5, 0.95)))
    tables = sums.tables.get(name)
    ends = np.quantile(np.array(tables), (0.05, 0.95)) if tables else None
    return Row(
        usual=sums.own[name],
        low=low,
        median=middle,
        high=high,
        **({} if ends is None else {"pairs": [float(ends[0]), float(ends[1])]}),
        published=published,
        inside=None if published is None else low <= published <= high,
        most=moved(changes, {name: 1.0}),
    )


def moved(changes: Sequence[Change], target: Target) -> Row | None:
    """The change that moves *target* most."""
    change = largest(changes, target)
    if change is None:
        return None
    return Row(name=change.name, value=change.value, by=change.on(target))


def order_of(groups: Sequence[Sequence[str]], sums: Sums, changes: Sequence[Change]) -> Row | None:
    """The share of draws with *groups* in this order; None where fewer than two are left."""
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
            margins.append(_margin(lower, higher, values, sums, changes))
    holds = fmean(float(all(each)) for each in zip(*held, strict=True))
    return Row(groups=known, holds=holds, margins=margins)


def _margin(
    lower: str, higher: str, values: np.ndarray, sums: Sums, changes: Sequence[Change]
) -> Row:
    import numpy as np

    low, high = (float(end) for end in np.quantile(values, (0.05, 0.95)))
    target = {higher: 1.0, lower: -1.0}
    # a table that is low for one strategy need not be low for the other
    alone = [change for change in changes if change.kind != "pairs"]
    raising = [change for change in alone if change.on(target) > 0]
    return Row(
        lower=lower,
        higher=higher,
        usual=sums.own[higher] - sums.own[lower],
        low=low,
        high=high,
        holds=float(np.mean(values > 0)),
        most=moved(alone, target),
        best=moved(raising, target),
    )


Outcomes = Mapping[str, Row]  # of a case, by strategy


def answer_of(asked: Asked, cases: Sequence[Case], found: Sequence[Outcomes]) -> Row | None:
    """The band of the study, whose *cases* came out as *found*. None: neither draws nor other
    tables are asked for. Raises InputError.
    """
    study, asked_for = asked.study, asked.options
    if study.band is None and study.pool is None:
        return None
    band = study.band or Band()
    published = study.published.get("mean_fraction_of_ideal") or {}
    names = [name for name in study.strategies if name in published] or list(study.strategies)
    own = _usual(names, found)
    names = list(own)
    kept = [
        (case, each)
        for case, each in zip(cases, found, strict=True)
        if case.name.partition(",")[0] not in band.skip
    ]
    reruns = [Rerun(case=case, strategies={name: name for name in names}) for case, _ in kept]
    usual = _usual(names, [each for _, each in kept])
    parameters = _parameters(asked, cases) if study.band is not None else ()
    known = _conditions(band, cases)
    count = asked_for.draws or band.draws
    single = [condition for of in known for condition in of]
    one = Effort.mean(effort_of(case.workload, case.node) for case in cases)
    asked.ask(one, (count + len(single)) * len(kept) * len(names))
    draws = draws_of(parameters, known, count, band.seed)
    replayed = replay(reruns, [*(each.draw for each in single), *draws], asked, what="draws")
    of_draws = [measured for measured in replayed[len(single) :] if measured]
    tables = _tables(asked, names, cases)
    sums = Sums(own, usual, [means for measured in of_draws for means in measured], tables)
    changes = [
        of_condition(condition, means, usual)
        for condition, measured in zip(single, replayed, strict=False)
        for means in measured
    ]
    groups = study.published.get("order") or []
    order = order_of(groups, sums, ())
    targets: list[Target] = [{name: 1.0} for name in names]
    if order is not None:
        targets += [{m.higher: 1.0, m.lower: -1.0} for m in order.margins]
    few = _one_of_each(kept, names)
    changes += of_parameters(parameters, few, reruns, usual, targets, asked)
    changes += sums.pair_changes({name: {name: 1.0} for name in names})
    order = order_of(groups, sums, changes)
    return Row(
        drawn=Row(
            draws=len(of_draws),
            failed=len(draws) - len(of_draws),
            yardsticks=max((len(measured) for measured in of_draws), default=1),
            seed=band.seed,
            parameters=len(parameters),
            tables=max((len(means) for means in tables.values()), default=0),
            skipped=band.skip,
            assumptions=[_for_readers(study, of) for of in known],
        ),
        strategies={name: mean_band(name, sums, published.get(name), changes) for name in names},
        changes=[
            Row(kind=each.kind, name=each.name, value=each.value, by=each.by) for each in changes
        ],
        **({"order": order} if order is not None else {}),
    )


def _usual(names: Sequence[str], found: Sequence[Outcomes]) -> Fractions:
    """The means over *found* as the study has them."""
    of_strategy = {
        name: [each[name].fraction_of_ideal for each in found if name in each] for name in names
    }
    known = {
        name: [fraction for fraction in fractions if fraction is not None]
        for name, fractions in of_strategy.items()
    }
    return {name: fmean(fractions) for name, fractions in known.items() if fractions}


def _parameters(asked: Asked, cases: Sequence[Case]) -> tuple[Parameter, ...]:
    """Parameters of the node that neither the study nor the caller sets."""
    fixed = {canonical(path) for scenario in asked.study.scenarios for path in scenario.set}
    fixed |= _varied(cases)
    return parameters_of(LoadedNode(node=cases[0].node, provenance=asked.provenance()), fixed)


def _conditions(band: Band, cases: Sequence[Case]) -> list[list[Condition]]:
    """The alternatives of each assumption, less those that set what an axis or the caller sets."""
    varied = _varied(cases)
    left = []
    for alternatives in conditions(band.assumptions, cases[0]):
        free = [each for each in alternatives if not varied & each.paths]
        if free:
            left.append(free)
    return left


def _varied(cases: Sequence[Case]) -> set[str]:
    return {canonical(path) for case in cases for path in case.point}


def _tables(
    asked: Asked, names: Sequence[str], cases: Sequence[Case]
) -> Mapping[str, Sequence[float]]:
    """Means over other tables of pairs."""
    if asked.study.pool is None:
        return {}
    pool = with_settings(load_study(asked.study.pool), asked.options.settings)
    run = partial(asked.each, partial(_fractions, tuple(names)), what="other tables")
    return other_means(names, cases, workload_cases(pool, asked.options.node), run)


def _fractions(names: Sequence[str], case: Case) -> dict[str, float | None]:
    """Fractions of ideal of *case* under each strategy."""
    results = {name: evaluate(case.workload, case.node, name) for name in names}
    return {name: result.fraction_of_ideal for name, result in results.items()}


def _one_of_each(kept: Sequence[tuple[Case, Outcomes]], names: Sequence[str]) -> list[Rerun]:
    """A case of each operation with a compute-bound and with a memory-bound GEMM, with the
    candidates that were the best ones. Each has another place in its group, so classes differ.
    """

    def group_of(one: tuple[Case, Outcomes]) -> tuple[bool, str]:
        case, _ = one
        return is_memory_bound(case.node, gemm_of(case)[1]), collective_of(case)[1].op

    few = []
    for place, group in enumerate(grouped(kept, group_of).values()):
        case, found = group[place % len(group)]
        few.append(Rerun(case=case, strategies={name: found[name].chosen for name in names}))
    return few


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


def answer_tables(answer: Row, title: str) -> list[Table | str]:
    """What was drawn, what each thing does alone, the order, and the band of each mean."""
    drawn, order = answer.drawn, answer.get("order")
    parts: list[Table | str] = []
    name = "not known about the published runs, so drawn"
    parts.append(Table(name, drawn.assumptions, ["name as assumption", "usual"]))
    moving = [
        {"what": f"{each.name}: {each.value}", **each}
        for each in answer.changes
        if each.kind != "parameter" or any(round(100 * by, 1) for by in each.by.values())
    ]
    skipped = f"means without {', '.join(drawn.skipped)}, which take too long" * bool(drawn.skipped)
    name = f"{title}: one thing at a time, change of the mean fraction of ideal (points)"
    parts.append(Table(name, moving, ["what as alone otherwise", "by.* %"], skipped))
    if order is not None:
        lines = [
            {**m, "pair": f"{m.lower} < {m.higher}", "moved": most_of(m)} for m in order.margins
        ]
        columns = [
            "pair as published order",
            "moved as moved most by",
            "usual %",
            "low %",
            "high %",
        ]
        name = f"{title}: does the published order hold? (points between the two)"
        parts.append(Table(name, lines, [*columns, "holds %0"]))
    lines = [
        {"strategy": name, **band, "moved": most_of(band)}
        for name, band in answer.strategies.items()
    ]
    columns = ["strategy", "inside as published inside", "moved as moved most by", "usual %"]
    columns += ["low %", "median %", "high %", "published %"]
    note = "\n".join(_verdict(answer))
    return [*parts, Table(f"{title}: the answer as a band", lines, columns, note)]


def most_of(of: Row) -> str | None:
    """What moves a mean or a margin most, and by how many points."""
    return f"{of.most.name}: {of.most.value}, {100 * of.most.by:+.1f}" if of.most else None


def _verdict(answer: Row) -> Iterator[str]:
    """What the band is of, and what it says, in sentences."""
    drawn, order = answer.drawn, answer.get("order")
    draws = f"{drawn.draws} draws" * bool(drawn.draws)
    draws += f" by {drawn.yardsticks} yardsticks" * bool(draws and drawn.yardsticks > 1)
    tables = f"{drawn.tables} other tables of pairs" * bool(drawn.tables)
    sums = ", each with ".join(part for part in (draws, tables) if part) or "the study alone"
    yield f"band: 5 % to 95 % of {sums}"
    if drawn.failed:
        yield f"{drawn.failed} more draws have values that exclude each other"
    known = [band.inside for band in answer.strategies.values() if band.inside is not None]
    if known:
        yield f"verdict: {sum(known)} of {len(known)} published means lie inside the band"
    if order is not None:
        groups = " < ".join(", ".join(group) for group in order.groups)
        yield f"verdict: the published order, {groups}, holds in {percent(order.holds, 0)} %"
        if order.holds < 1:
            weakest = min(order.margins, key=lambda margin: (margin.holds, margin.usual))
            yield f"least often: {weakest.lower} < {weakest.higher}, {percent(weakest.holds, 0)} %"
            if weakest.most:
                yield f"what decides it: {most_of(weakest)} points"
            if weakest.usual <= 0 and weakest.best:
                best = f"{weakest.best.name}: {weakest.best.value}, {100 * weakest.best.by:+.1f}"
                yield f"missing: {percent(-weakest.usual)} points; {best} adds most"

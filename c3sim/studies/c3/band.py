"""From a study and its rows to the band of its means: draws, other tables, one thing at a time.

Strategies with a published mean have a band; all of them where none is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from c3sim.evaluation.effort import Effort, effort_of
from c3sim.experiments.bands import Parameter, parameters_of
from c3sim.input.aliases import canonical
from c3sim.input.loading import LoadedNode, load_hardware, load_study
from c3sim.specs.study import Band, Study
from c3sim.strategies.masks import is_memory_bound
from c3sim.studies.c3 import answer, effects, pairs
from c3sim.studies.c3.answer import Answer, Drawn, Sums
from c3sim.studies.c3.draws import Condition, conditions, draws_of
from c3sim.studies.c3.effects import Target
from c3sim.studies.c3.replay import Fractions, Rerun, replay
from c3sim.studies.cases import Case, collective_of, gemm_of, study_cases
from c3sim.studies.kind import Options
from c3sim.studies.rows import Row
from c3sim.studies.settings import with_settings
from c3sim.studies.show import grouped

Rows = Sequence[Sequence[Row]]


def answer_of(study: Study, cases: Sequence[Case], rows: Rows, options: Options) -> Answer | None:
    """The band of *study*, whose *cases* gave *rows*. None: neither draws nor other tables are
    asked for. Raises InputError.
    """
    if study.band is None and study.pool is None:
        return None
    band = study.band or Band()
    published = study.published.get("mean_fraction_of_ideal") or {}
    names = [name for name in study.strategies if name in published] or list(study.strategies)
    own = _usual(names, rows)
    names = list(own)
    kept = [
        (case, each)
        for case, each in zip(cases, rows, strict=True)
        if case.name.partition(",")[0] not in band.skip
    ]
    reruns = [Rerun(case=case, strategies={name: name for name in names}) for case, _ in kept]
    usual = _usual(names, [each for _, each in kept])
    parameters = _parameters(study, cases, options) if study.band is not None else ()
    known = _conditions(study, band, cases)
    count = options.draws or band.draws
    single = [condition for of in known for condition in of]
    one = Effort.mean(effort_of(case.workload, case.node) for case in cases)
    options.ask(one, (count + len(single)) * len(kept) * len(names))
    draws = draws_of(parameters, known, count, band.seed)
    found = replay(reruns, [*(each.draw for each in single), *draws], options, what="draws")
    of_draws = [measured for measured in found[len(single) :] if measured]
    drawn = [means for measured in of_draws for means in measured]
    tables = _tables(study, names, cases, options)
    sums = Sums(own, usual, drawn, tables)
    changes = [
        effects.of_condition(condition, means, usual)
        for condition, measured in zip(single, found, strict=False)
        for means in measured
    ]
    groups = study.published.get("order") or []
    order = answer.order_of(groups, sums, ())
    targets: list[Target] = [{name: 1.0} for name in names]
    if order is not None:
        targets += [{m.higher: 1.0, m.lower: -1.0} for m in order.margins]
    few = _one_of_each(kept, names)
    changes += effects.of_parameters(parameters, few, reruns, usual, targets, options)
    changes += sums.pair_changes({name: {name: 1.0} for name in names})
    return Answer(
        drawn=Drawn(
            draws=len(of_draws),
            failed=len(draws) - len(of_draws),
            yardsticks=max((len(measured) for measured in of_draws), default=1),
            seed=band.seed,
            parameters=len(parameters),
            tables=max((len(means) for means in tables.values()), default=0),
            skipped=band.skip,
            assumptions=[_for_readers(study, of) for of in known],
        ),
        strategies={
            name: answer.mean_band(name, sums, published.get(name), changes) for name in names
        },
        changes=changes,
        order=answer.order_of(groups, sums, changes),
    )


def _usual(names: Sequence[str], rows: Rows) -> Fractions:
    """The means over *rows* as the study has them."""
    of_strategy = {name: list[float]() for name in names}
    for each in rows:
        for row in each:
            fraction = row.result.fraction_of_ideal
            if row.strategy in of_strategy and fraction is not None:
                of_strategy[row.strategy].append(fraction)
    return {name: fmean(values) for name, values in of_strategy.items() if values}


def _parameters(study: Study, cases: Sequence[Case], options: Options) -> tuple[Parameter, ...]:
    """Parameters of the node that neither the study nor the caller sets."""
    provenance = options.provenance
    if options.node is None:
        provenance = load_hardware(study.node).provenance
    fixed = {canonical(path) for scenario in study.scenarios for path in scenario.set}
    fixed |= _asked(cases)
    return parameters_of(LoadedNode(node=cases[0].node, provenance=provenance), fixed)


def _conditions(study: Study, band: Band, cases: Sequence[Case]) -> list[list[Condition]]:
    """The alternatives of each assumption, less those that set what an axis or the caller sets."""
    asked = _asked(cases)
    left = []
    for alternatives in conditions(band.assumptions, cases[0]):
        free = [each for each in alternatives if not asked & each.paths]
        if free:
            left.append(free)
    return left


def _asked(cases: Sequence[Case]) -> set[str]:
    return {canonical(path) for case in cases for path in case.point}


def _tables(
    study: Study, names: Sequence[str], cases: Sequence[Case], options: Options
) -> Mapping[str, Sequence[float]]:
    """Means over other tables of pairs."""
    if study.pool is None:
        return {}
    pool = with_settings(load_study(study.pool), options.settings)
    asked = study.model_copy(update={"strategies": tuple(names)})
    return pairs.other_means(asked, cases, study_cases(pool, options.node), options)


def _one_of_each(kept: Sequence[tuple[Case, Sequence[Row]]], names: Sequence[str]) -> list[Rerun]:
    """A case of each operation with a compute-bound and with a memory-bound GEMM, with the
    candidates that were the best ones. Each has another place in its group, so classes differ.
    """

    def group_of(one: tuple[Case, Sequence[Row]]) -> tuple[bool, str]:
        case, _ = one
        return is_memory_bound(case.node, gemm_of(case)[1]), collective_of(case)[1].op

    few = []
    for place, group in enumerate(grouped(kept, group_of).values()):
        case, rows = group[place % len(group)]
        chosen = {row.strategy: row.chosen for row in rows if row.strategy in names}
        few.append(Rerun(case=case, strategies=chosen))
    return few


def _for_readers(study: Study, of: Sequence[Condition]) -> answer.Condition:
    assert study.band is not None  # it has assumptions
    (spec,) = (each for each in study.band.assumptions if each.name == of[0].assumption)
    return answer.Condition(
        name=spec.name,
        usual=spec.usual,
        alternatives=[condition.alternative for condition in of],
        unknown=spec.unknown,
        source=spec.source,
    )

"""The cases that draws of a study's answer rerun, and their usual means.

A draw reruns every pair of GEMM and size under one of its operations, the next draw under the next
(:func:`c3sim.experiments.pairs.in_turns`). One thing alone is tried in every second pair. So are
draws that no fact has weighed, where others have been; the next one takes the other pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from c3sim.evaluation.strategies.rewrites import is_memory_bound
from c3sim.experiments.bands import Parameter, parameters_of
from c3sim.experiments.cases import Case, collective_of, gemm_of
from c3sim.experiments.draws import Condition, Fractions, Measured, Rerun, conditions, difference
from c3sim.experiments.pairs import halves_of, in_turns
from c3sim.experiments.study import Asked, Row, grouped
from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.reading.paths import canonical
from c3sim.spec.study import Band

Outcomes = Mapping[str, Row]  # of a case, by strategy


@dataclass(frozen=True, kw_only=True)
class Part:
    """Some cases with their outcomes (*kept*), which draws rerun, and their *usual* means."""

    kept: list[tuple[Case, Row]]
    reruns: list[Rerun]
    usual: Fractions


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The subject of draws: the *names* of the strategies, their *own* means, the cases that draws
    may rerun with their outcomes (*kept*), the parts that draws rerun in *turns*, and *halves* of
    these.
    """

    names: list[str]
    own: Fractions
    kept: list[tuple[Case, Row]]
    turns: list[Part]
    halves: list[Part]
    parameters: tuple[Parameter, ...]
    known: list[list[Condition]]

    @property
    def some(self) -> Part:
        """Those in which one thing alone is tried."""
        return self.halves[0]

    @property
    def single(self) -> list[Condition]:
        """Every alternative condition, alone."""
        return [condition for of in self.known for condition in of]


def subject_of(
    asked: Asked, band: Band, cases: Sequence[Case], found: Sequence[Outcomes]
) -> Subject:
    study = asked.study
    published = study.published.get("mean_fraction_of_ideal") or {}
    names = [name for name in study.strategies if name in published] or list(study.strategies)
    own = _usual(names, found)
    names = list(own)
    outcomes = {
        case.name: (case, Row(each))
        for case, each in zip(cases, found, strict=True)
        if case.name.partition(",")[0] not in band.skip
    }

    def part(of: Sequence[Case]) -> Part:
        kept = [outcomes[case.name] for case in of]
        reruns = [Rerun(case=case, strategies={name: name for name in names}) for case in of]
        return Part(kept=kept, reruns=reruns, usual=_usual(names, [each for _, each in kept]))

    turns = in_turns([case for case, _ in outcomes.values()])
    return Subject(
        names=names,
        own=own,
        kept=[*outcomes.values()],
        turns=[part(turn) for turn in turns],
        halves=[part(half) for half in halves_of(turns)],
        parameters=_parameters(asked, cases) if study.band is not None else (),
        known=_conditions(band, cases),
    )


def shifts_of(parts: Sequence[Part], replayed: Sequence[Measured]) -> list[Fractions]:
    """What each draw changes, by each yardstick; of *parts*, those that each draw reran."""
    return [
        difference(means, part.usual)
        for part, measured in zip(parts, replayed, strict=True)
        for means in measured
    ]


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


def one_of_each(kept: Sequence[tuple[Case, Outcomes]], names: Sequence[str]) -> list[Rerun]:
    """A case of each operation with a compute-bound and with a memory-bound GEMM, with the
    candidates that were the best ones. Each has another place in its group, so classes differ.
    """

    def group_of(one: tuple[Case, Outcomes]) -> tuple[bool, str]:
        case, _ = one
        return is_memory_bound(case.node, gemm_of(case)[1]), collective_of(case)[1].op

    groups = grouped(kept, group_of).values()
    return [as_chosen(group[place % len(group)], names) for place, group in enumerate(groups)]


def as_chosen(one: tuple[Case, Outcomes], names: Sequence[str]) -> Rerun:
    """The case *one* with the candidates that its outcomes have."""
    case, found = one
    return Rerun(case=case, strategies={name: found[name].chosen for name in names})

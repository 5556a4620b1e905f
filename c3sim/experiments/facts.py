"""Isolated facts that draws of a study are weighed by: published times of a task alone, and ratios
of two such times.

A draw i gives fact j the value v_ij by isolated runs. With the published ends a_j <= b_j (equal for
one figure) and the stated relative error e_j, one standard deviation,

    z_ij = ln(v_ij / b_j) / e_j above b_j, ln(v_ij / a_j) / e_j below a_j, 0 between
    weight of i  ~  exp(-1/2 sum over j of z_ij squared)

- A fact excludes the draws with |z| > 2.
- A fact that excludes every draw says that the model misses it, not which draw is right. It weighs
  nothing, and is shown.
- Facts of records are of other runs: parameters are drawn, the unknown conditions of the study are
  not. Facts of the study itself have both. So the clock state of a draw is one, alone and together.
- Isolated runs are cheap: many draws are screened by them. Few, drawn by weight, run together.
  Before that, each of the few takes MOVES steps: a part of its places is drawn anew, and it goes
  there with chance min(1, weight there / weight here). So copies of one draw part (Metropolis steps
  within a block, which leave the weighted distribution as it is).
- No parameter is set by a fact, and no concurrent run is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from math import exp, inf, log
from statistics import fmean
from zlib import crc32

from c3sim.errors import InputError
from c3sim.evaluation.strategies.rewrites import reserved
from c3sim.experiments.axes import Settings
from c3sim.experiments.cases import Case
from c3sim.experiments.draws import Draw, Drawing, Nodes, in_si
from c3sim.experiments.study import Asked, Row
from c3sim.simulation.runs import isolated
from c3sim.spec.reading.paths import is_of_workload
from c3sim.spec.study import Fact

EXCLUDED = 2.0  # errors between a fact and a draw that it excludes
Values = Sequence[float]  # of a draw, by fact; none where the values of the draw exclude each other


def distance(fact: Fact, value: float) -> float:
    """Stated errors from what is published to *value*; positive above, 0 between the ends."""
    least, most = fact.ends
    if most is not None and value > most:
        return log(value / most) / fact.error
    if least is not None and value < least:
        return log(value / least) / fact.error
    return 0.0


def values_of(facts: Sequence[Fact], cases: Mapping[str, Case], draw: Draw) -> list[float]:
    """The value of each of *facts* [s, or 1] under *draw*. Raises InputError: values that exclude
    each other.
    """
    nodes = Nodes()
    return [_value(fact, cases, draw.settings, nodes) for fact in facts]


def _value(fact: Fact, cases: Mapping[str, Case], drawn: Settings, nodes: Nodes) -> float:
    if fact.of == "record":
        drawn = tuple(pair for pair in drawn if not is_of_workload(pair[0]))
    names = [name for name in fact.scenarios if name in cases] or list(cases)[:1]
    return fmean(_value_in(fact, cases[name], drawn, nodes) for name in names)


def _value_in(fact: Fact, case: Case, drawn: Settings, nodes: Nodes) -> float:
    workload, node = nodes.models(case, (*drawn, *in_si(fact.set, case)))
    if fact.fewer is not None:
        fewer = reserved(workload, node, fact.fewer)
        return isolated(node, fewer, fact.task).end / isolated(node, workload, fact.task).end
    time = isolated(node, workload, fact.task).end
    if fact.over is None:
        return time
    workload, node = nodes.models(case, (*drawn, *in_si(fact.over, case)))
    return time / isolated(node, workload, fact.task).end


def screen(
    facts: Sequence[Fact], cases: Sequence[Case], draws: Sequence[Draw], asked: Asked
) -> list[Values]:
    """The value of each fact in each of *draws*, in order."""
    if not facts:
        return [() for _ in draws]
    of_name = {case.scenario: case for case in cases}
    work = partial(_values, tuple(facts), of_name)
    return asked.each(work, draws, what="isolated facts", worth=4)


#: So many draws are asked about every fact, and tell what share each fact excludes.
WHOLE = 24
#: Other draws are asked until they have less than e^-FAR of the weight of the best of these.
FAR = 8.0


def screened_by(
    facts: Sequence[Fact], cases: Sequence[Case], draws: Sequence[Draw], asked: Asked
) -> tuple[Values, Screened | None, list[int]]:
    """The value of each of *facts* as run; the verdict on those of *draws* that may weigh anything,
    None where none runs; and their numbers.
    """
    usual, *values = screen(facts, cases, [Draw(), *draws[:WHOLE]], asked)
    good = [number for number, each in enumerate(values) if each]
    if not good:
        return usual, None, []
    first = Screened(facts, [draws[n] for n in good], [values[n] for n in good])
    of_name, least = {case.scenario: case for case in cases}, max(first.exponents()) - FAR
    work = partial(_values_above, tuple(facts), of_name, frozenset(first.used), least)
    values += asked.each(work, draws[WHOLE:], what="isolated facts", worth=4)
    kept = [number for number, each in enumerate(values) if each]
    all_of = [draws[n] for n in kept], [values[n] for n in kept]
    return usual, Screened(facts, *all_of, first=len(good)), kept


def _values_above(
    facts: Sequence[Fact], cases: Mapping[str, Case], counted: Set[int], least: float, draw: Draw
) -> Values:
    """The value of each fact; none once the logarithm of the weight, by facts of the numbers
    *counted*, is below *least*.
    """
    nodes, exponent, found = Nodes(), 0.0, {}
    with draw.runs():
        try:
            for index in _by_runs(facts):
                found[index] = _value(facts[index], cases, draw.settings, nodes)
                if index in counted:
                    exponent -= 0.5 * distance(facts[index], found[index]) ** 2
                if exponent < least:
                    return ()
        except InputError:
            return ()
    return [found[index] for index in range(len(facts))]


def _by_runs(facts: Sequence[Fact]) -> list[int]:
    """Numbers of *facts*, those of the fewest runs first."""
    runs = [max(len(fact.scenarios), 1) * (1 if fact.ratio is None else 2) for fact in facts]
    return sorted(range(len(facts)), key=runs.__getitem__)


def _values(facts: Sequence[Fact], cases: Mapping[str, Case], draw: Draw) -> Values:
    with draw.runs():
        try:
            return values_of(facts, cases, draw)
        except InputError:
            return ()


class Screened:
    """The verdict of isolated facts on *draws*, whose *values* were found by :func:`screen`. The
    *first* of them (None: all) are there whatever facts say of them.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        draws: Sequence[Draw],
        values: Sequence[Values],
        first: int | None = None,
    ) -> None:
        self.facts, self.draws, self.values, self.first = facts, draws, values, first
        self._far = [
            [distance(fact, value) for fact, value in zip(facts, each, strict=True)]
            for each in self.values
        ]

    def excluded_share(self, index: int) -> float:
        """Share of the first draws that fact number *index* alone excludes."""
        return fmean(abs(far[index]) > EXCLUDED for far in self._far[: self.first])

    def weighs(self, index: int) -> bool:
        """False for a fact that no draw comes near."""
        return any(abs(far[index]) <= EXCLUDED for far in self._far)

    @property
    def used(self) -> list[int]:
        """Numbers of the facts that weigh."""
        return [index for index in range(len(self.facts)) if self.weighs(index)]

    def exponents(self) -> list[float]:
        """Logarithm of the weight of each draw, up to a constant."""
        used = self.used
        return [-0.5 * sum(far[index] ** 2 for index in used) for far in self._far]

    def weights(self) -> list[float]:
        """The weight of each draw; their sum is 1."""
        exponents = self.exponents()
        most = max(exponents)
        raw = [exp(each - most) for each in exponents]
        return [each / sum(raw) for each in raw]

    def drawn(self, count: int) -> list[int]:
        """*count* numbers of draws, each as often as its weight says: every 1 / count of the
        cumulated weight, from half of it on.
        """
        found: list[int] = []
        passed, place = 0.0, 0.5 / count
        for number, weight in enumerate(self.weights()):
            passed += weight
            while place < passed and len(found) < count:
                found.append(number)
                place += 1.0 / count
        return found

    def effective(self) -> float:
        """Number of draws of one weight that tell as much: 1 / sum of squared weights."""
        return 1.0 / sum(weight**2 for weight in self.weights())

    def rows(self, usual: Values) -> list[Row]:
        """A row per fact: published, as run (*usual*), in the draws, and the share it excludes."""
        weights = self.weights()
        rows = []
        for index, fact in enumerate(self.facts):
            column = [each[index] for each in self.values]
            pairs = zip(weights, column, strict=True)
            rows.append(
                Row(
                    fact=fact.name,
                    published=list(fact.ends),
                    error=fact.error,
                    unit="s" if fact.ratio is None else "1",
                    usual=usual[index] if usual else None,
                    drawn=[min(column[: self.first]), max(column[: self.first])],
                    conditioned=sum(weight * value for weight, value in pairs),
                    excluded_share=self.excluded_share(index),
                    weighs=self.weighs(index),
                    of=fact.of,
                    source=fact.source,
                )
            )
        return rows


MOVES = 6  # steps of each draw that runs together
REDRAWN = 0.2  # part of the places that a step draws anew


def conditioned(
    screened: Screened,
    rows: Sequence[Sequence[float]],
    drawing: Drawing,
    cases: Sequence[Case],
    count: int,
    asked: Asked,
) -> list[Draw]:
    """*count* draws by weight, from those *screened*, which lie at *rows*, and moved."""
    used = screened.used
    facts = tuple(screened.facts[index] for index in used)
    starts = [
        (place, rows[number], _exponent(facts, [screened.values[number][index] for index in used]))
        for place, number in enumerate(screened.drawn(count))
    ]
    of_name = {case.scenario: case for case in cases}
    work = partial(_moved, facts, of_name, drawing)
    return asked.each(work, starts, what="draws that agree with facts", worth=2)


def _moved(
    facts: Sequence[Fact],
    cases: Mapping[str, Case],
    drawing: Drawing,
    start: tuple[int, Sequence[float], float],
) -> Draw:
    """The draw that a chain reaches from *start*: its number, its place, its weight's logarithm.

    Steps of a place follow from its name: one more parameter moves no other.
    """
    import numpy as np

    number, row, here = start[0], np.asarray(start[1]), start[2]
    seeds = [(number, crc32(name.encode())) for name in drawing.names]
    places = np.array([np.random.default_rng(seed).random((MOVES, 2)) for seed in seeds])
    for step, chance in enumerate(np.random.default_rng(number).random(MOVES)):
        there = np.where(places[:, step, 0] < REDRAWN, places[:, step, 1], row)
        least = here + log(chance)
        exponent = _reached(facts, cases, drawing.at(there), least)
        if exponent > least:
            row, here = there, exponent
    return drawing.at(row)


def _reached(facts: Sequence[Fact], cases: Mapping[str, Case], draw: Draw, least: float) -> float:
    """Logarithm of the weight of *draw*; facts stop being asked once it is below *least*."""
    nodes, exponent = Nodes(), 0.0
    with draw.runs():
        try:
            for index in _by_runs(facts):
                value = _value(facts[index], cases, draw.settings, nodes)
                exponent -= 0.5 * distance(facts[index], value) ** 2
                if exponent < least:
                    break
            return exponent
        except InputError:
            return -inf


def _exponent(facts: Sequence[Fact], values: Values) -> float:
    """Logarithm of a weight, up to a constant."""
    pairs = zip(facts, values, strict=True)
    return -0.5 * sum(distance(fact, value) ** 2 for fact, value in pairs)


def excluding(facts: Sequence[Fact], values: Values, usual: Values) -> tuple[str, ...]:
    """Names of *facts* that exclude a draw with *values*, and not the *usual* one more."""
    return tuple(
        fact.name
        for fact, value, as_run in zip(facts, values, usual, strict=bool(values))
        if abs(distance(fact, value)) > max(EXCLUDED, abs(distance(fact, as_run)))
    )

"""Weighted max-min sharing on random systems: the laws, and agreement with the slow oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c3sim.engine import oracle as sharing_oracle
from c3sim.engine.sharing import Demand, alone, fill, solve

INF = math.inf
REL = 1e-9  # the only tolerance, always relative

System = tuple[list[float], list[Demand]]


@st.composite
def systems(draw: st.DrawFn, spread: float = 16.0) -> System:
    """Up to 6 capacities and 12 flows; weights, amounts, sizes and caps within a factor *spread* of
    one, or zero.
    """
    positive = st.floats(1 / spread, spread) | st.sampled_from(
        [0.5, 1.0, 2.0]
    )  # the latter make ties likely
    sizes = draw(st.lists(positive | st.just(0.0), min_size=1, max_size=6))
    uses = st.dictionaries(st.integers(0, len(sizes) - 1), positive, max_size=3)
    demands = []
    for drawn in draw(st.lists(uses, max_size=12)):
        cap = draw(positive | st.just(0.0) | (st.just(INF) if drawn else st.nothing()))
        demands.append(Demand(draw(positive), cap, tuple(drawn.items())))
    return sizes, demands


laws = settings(max_examples=100, deadline=None, derandomize=True)  # the same examples on every run


def exceeded(system: System, rates: Sequence[float | Fraction], rel: float) -> list[str]:
    """The capacities and caps that *rates* do not respect."""
    capacities, demands = system
    drawn = draws(system, rates)
    problems = [
        f"capacity {c}"
        for c, size in enumerate(capacities)
        if drawn[c] > Fraction(size) * (1 + Fraction(rel))
    ]
    problems += [
        f"cap of {i}" for i, demand in enumerate(demands) if not 0 <= rates[i] <= demand.cap
    ]
    return problems


def draws(system: System, rates: Sequence[float | Fraction]) -> list[Fraction]:
    """The draw of the flows from each capacity together, exactly."""
    drawn = [Fraction(0) for _ in system[0]]
    for rate, demand in zip(rates, system[1], strict=True):
        for c, amount in demand.uses:
            drawn[c] += Fraction(amount) * Fraction(rate)
    return drawn


def without_bottleneck(system: System, rates: Sequence[float | Fraction], rel: float) -> list[int]:
    """The flows that could go faster: below their cap, and no exhausted capacity where nobody's
    level is higher.
    """
    capacities, demands = system
    slack = 1 - Fraction(rel)
    drawn = draws(system, rates)
    level = [
        Fraction(rate) / Fraction(demand.weight)
        for rate, demand in zip(rates, demands, strict=True)
    ]
    highest = [
        max((level[i] for i, d in enumerate(demands) if c in dict(d.uses)), default=0)
        for c in range(len(drawn))
    ]
    exhausted = [drawn[c] >= Fraction(size) * slack for c, size in enumerate(capacities)]
    return [
        i
        for i, demand in enumerate(demands)
        if rates[i] < demand.cap
        and not any(exhausted[c] and level[i] >= highest[c] * slack for c, _ in demand.uses)
    ]


@laws
@given(systems())
def test_it_agrees_with_the_oracle_which_obeys_the_laws_exactly(system: System) -> None:
    exact = sharing_oracle.solve(*system, Fraction)
    assert not exceeded(system, exact, rel=0.0)
    assert not without_bottleneck(system, exact, rel=0.0)
    expected = pytest.approx([float(rate) for rate in exact], rel=REL, abs=0.0)
    assert solve(*system) == expected
    assert sharing_oracle.solve(*system, float) == expected


@laws
@given(systems(spread=1e6))
def test_rates_stay_within_capacities_and_every_flow_is_capped_or_has_a_bottleneck(
    system: System,
) -> None:
    rates = solve(*system)
    assert not exceeded(system, rates, REL)
    assert not without_bottleneck(system, rates, REL)


@laws
@given(systems(), st.integers(2, 7), st.randoms(use_true_random=False))
def test_what_changes_nothing(system: System, parts: int, random: Random) -> None:
    """A flow split into parts, other units of capacities and of weights, another order."""
    rates = solve(*system)

    def agree(found: Sequence[float]) -> None:
        assert found == pytest.approx(rates, rel=REL, abs=0.0)

    if system[1]:
        agree(joined(system, parts, random.randrange(len(system[1]))))
    for factor in (2.0**-40, 1e-12, 1e12, 2.0**40):
        scaled = solve(*in_units(system, factor))
        if math.frexp(factor)[0] == 0.5:  # a power of two changes exponents alone
            assert scaled == [rate * factor for rate in rates]
        agree([rate / factor for rate in scaled])
    capacities, demands = system
    for factor in (1e-12, 1e12):
        agree(solve(capacities, [d._replace(weight=d.weight * factor) for d in demands]))
    agree(in_another_order(system, random))


def joined(system: System, parts: int, chosen: int) -> list[float]:
    """Rates where flow *chosen* is split into *parts* of its weight and cap, those added up."""
    capacities, demands = system
    part = demands[chosen]._replace(
        weight=demands[chosen].weight / parts, cap=demands[chosen].cap / parts
    )
    rates = list(solve(capacities, [*demands[:chosen], *[part] * parts, *demands[chosen + 1 :]]))
    return [*rates[:chosen], sum(rates[chosen : chosen + parts]), *rates[chosen + parts :]]


def in_units(system: System, factor: float) -> System:
    """Capacities and caps times *factor*."""
    capacities, demands = system
    return [size * factor for size in capacities], [d._replace(cap=d.cap * factor) for d in demands]


def in_another_order(system: System, random: Random) -> list[float]:
    """Rates where capacities and flows are declared in another order, put back in the first."""
    capacities, demands = system
    flows = random.sample(range(len(demands)), len(demands))  # new position -> old one
    places = random.sample(range(len(capacities)), len(capacities))
    at = {old: new for new, old in enumerate(places)}
    shuffled = [
        demands[i]._replace(uses=tuple((at[c], a) for c, a in reversed(demands[i].uses)))
        for i in flows
    ]
    found = dict(zip(flows, solve([capacities[c] for c in places], shuffled), strict=True))
    return [found[i] for i in range(len(demands))]


@laws
@given(systems())
def test_a_flow_that_shares_nothing_has_the_rate_of_filling(system: System) -> None:
    """To the last digit, whatever else is filled with it on other capacities."""
    capacities, demands = system
    for demand in demands:
        if 0.0 < demand.cap < INF and demand.uses:
            others = [each for each in demands if not dict(each.uses).keys() & dict(demand.uses)]
            assert alone(capacities, demand) == fill(capacities, [demand, *others])[0]


def test_a_flow_alone_leaves_mistakes_and_two_uses_of_one_capacity_to_filling() -> None:
    twice = Demand(1.0, 9.0, ((0, 1.0), (0, 1.0)))
    assert alone([8.0], twice) is None
    assert fill([8.0], [twice]) == [4.0]
    assert alone([-1.0], Demand(1.0, 9.0, ((0, 1.0),))) is None

"""The clock under a power limit, solved by hand for loads of each kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from c3sim.models.power import Load, clock_factor, power

Flow = tuple[Load, float]  # and the part of the square of its time that follows the clock


def rate(clocked: float, factor: float) -> float:
    return float((clocked / factor**2 + 1.0 - clocked) ** -0.5)


def drawn(idle: float, exponent: float, flows: Sequence[Flow]) -> Callable[[float], float]:
    """P(f) of *flows* whose rate is 1 at full clock."""
    return lambda factor: power(
        idle, [(load, rate(c, factor)) for load, c in flows], factor, exponent
    )


def test_power_of_a_flow() -> None:
    """At half the clock, x = 2: 9 W idle + (8 J x 3/s + 4 W / 2) / 4 + 5 J x 3/s + 7 W."""
    flow = (Load(core=8, uncore=5, held=4, busy=7), 3)
    assert power(9, [flow], 0.5, 2) == 9 + 6.5 + 15 + 7


COPY = (Load(uncore=50), 0)  # a DMA engine: what it moves does not slow with the clock


@pytest.mark.parametrize(
    ("limit", "idle", "exponent", "flows", "factor"),
    [
        (300, 100, 1, [(Load(core=800), 1)], 0.5),  # 800 f f = 200
        (500, 100, 2, [(Load(held=3200), 1)], 0.5),  # 3200 f f^2 = 400
        (150, 100, 1, [(Load(uncore=100), 1)], 0.5),  # 100 f = 50
        (
            500,
            100,
            1,
            [(Load(core=800), 0)],
            0.5,
        ),  # as many FLOP per second as before, at less voltage: 800 f = 400
        (
            350,
            100,
            1,
            [(Load(core=800), 1), COPY],
            0.5,
        ),  # 800 f^2 = 350 - 100 - 50: the copy takes power from the clock
        (
            290,
            40,
            1,
            [(Load(core=400, uncore=200), 1), (Load(busy=10), 0)],
            (math.sqrt(2.65) - 0.5) / 2,
        ),
        # 400 f^2 + 200 f = 240, so f^2 + f / 2 - 0.6 = 0
        (750, 150, 1, [(Load(core=600), 1)], 1.0),  # just fits
        (750, 150, 1, [], 1.0),
        (math.inf, 150, 1, [(Load(core=600), 1)], 1.0),  # nothing limits
        (110, 100, 1, [(Load(core=800), 1), COPY], 0.2),  # cannot fit: the lowest clock there is
    ],
)
def test_clock_factor(
    limit: float, idle: float, exponent: float, flows: list[Flow], factor: float
) -> None:
    assert clock_factor(limit, 0.2, drawn(idle, exponent, flows)) == pytest.approx(
        factor, rel=1e-11
    )


watts, share = st.floats(0, 1000), st.floats(0, 1)
some_flow = st.tuples(st.builds(Load, core=watts, uncore=watts, held=watts, busy=watts), share)
some_flows = st.lists(some_flow, max_size=4)


@given(st.floats(150, 2000), st.floats(0, 2), some_flows)
def test_the_clock_spends_the_limit_and_no_more(
    limit: float, exponent: float, flows: list[Flow]
) -> None:
    watts_at = drawn(100.0, exponent, flows)
    factor = clock_factor(limit, 0.25, watts_at)
    assert 0.25 <= factor <= 1
    if 0.25 < factor < 1:
        # to the last bits of the clock: P is no steeper than a few times itself
        assert limit * (1 - 1e-9) <= watts_at(factor) <= limit
    elif factor == 1:
        assert watts_at(factor) <= limit
    else:
        assert watts_at(factor) >= limit * (1 - 1e-9)


@given(some_flows, some_flow)
def test_more_load_never_raises_the_clock(flows: list[Flow], more: Flow) -> None:
    before = clock_factor(750.0, 0.25, drawn(150.0, 1.3, flows))
    after = clock_factor(750.0, 0.25, drawn(150.0, 1.3, [*flows, more]))
    assert after <= before * (1 + 1e-9)

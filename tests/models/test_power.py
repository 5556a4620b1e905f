"""The clock under a power limit, solved by hand for loads of each kind."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from c3sim.models.power import Load, clock_factor, pace, power


@pytest.mark.parametrize(
    ("clocked", "factor", "left"),
    [
        (1.0, 0.5, 0.5),  # all of its time follows the clock
        (0.0, 0.5, 1.0),  # none of it
        (0.75, 0.5, 3.25**-0.5),  # time squared is 0.75 / 0.25 + 0.25
        (0.3, 1.0, 1.0),
    ],
)
def test_pace(clocked: float, factor: float, left: float) -> None:
    assert pace(clocked, factor) == pytest.approx(left, rel=1e-12)


COPY = Load(uncore=50, clocked=0)  # a DMA engine: what it moves does not slow with the clock


@pytest.mark.parametrize(
    ("limit", "idle", "exponent", "loads", "factor"),
    [
        (300, 100, 1, [Load(core=800)], 0.5),  # 800 f f = 200
        (500, 100, 2, [Load(held=3200)], 0.5),  # 3200 f f^2 = 400
        (150, 100, 1, [Load(uncore=100)], 0.5),  # 100 f = 50
        (
            500,
            100,
            1,
            [Load(core=800, clocked=0)],
            0.5,
        ),  # as many FLOP per second as before, at less voltage: 800 f = 400
        (
            350,
            100,
            1,
            [Load(core=800), COPY],
            0.5,
        ),  # 800 f^2 = 350 - 100 - 50: the copy takes power from the clock
        (
            290,
            40,
            1,
            [Load(core=400, uncore=200), Load(uncore=10, clocked=0)],
            (math.sqrt(2.65) - 0.5) / 2,
        ),
        # 400 f^2 + 200 f = 240, so f^2 + f / 2 - 0.6 = 0
        (750, 150, 1, [Load(core=600)], 1.0),  # just fits
        (750, 150, 1, [], 1.0),
        (110, 100, 1, [Load(core=800), COPY], 0.2),  # cannot fit: the lowest clock there is
    ],
)
def test_clock_factor(
    limit: float, idle: float, exponent: float, loads: list[Load], factor: float
) -> None:
    assert clock_factor(limit, idle, exponent, 0.2, tuple(loads)) == pytest.approx(
        factor, rel=1e-12
    )


watts, share = st.floats(0, 1000), st.floats(0, 1)
some_loads = st.lists(
    st.builds(Load, core=watts, held=watts, uncore=watts, clocked=share), max_size=4
).map(tuple)


@given(st.floats(150, 2000), st.floats(0, 2), some_loads)
def test_the_clock_spends_the_limit_and_no_more(
    limit: float, exponent: float, loads: tuple[Load, ...]
) -> None:
    factor = clock_factor(limit, 100.0, exponent, 0.25, loads)
    spent = power(factor, 100.0, exponent, loads)
    assert 0.25 <= factor <= 1
    if 0.25 < factor < 1:
        # to the last bits of the clock: P is no steeper than a few times itself
        assert spent == pytest.approx(limit, rel=1e-9)
    elif factor == 1:
        assert spent <= limit
    else:
        assert spent >= limit * (1 - 1e-9)


@given(some_loads, st.builds(Load, core=watts, held=watts, uncore=watts, clocked=share))
def test_more_load_never_raises_the_clock(loads: tuple[Load, ...], more: Load) -> None:
    before = clock_factor(750.0, 150.0, 1.3, 0.25, loads)
    assert clock_factor(750.0, 150.0, 1.3, 0.25, (*loads, more)) <= before * (1 + 1e-12)

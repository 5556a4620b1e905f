"""The clock under a power limit: P(f) = idle + core f^(1+x) + scaled f + fixed, solved for f."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from c3sim.models.power import clock_factor, power


@pytest.mark.parametrize(
    ("limit", "idle", "exponent", "core", "scaled", "fixed", "factor"),
    [
        (300, 100, 1, 800, 0, 0, 0.5),  # 800 f^2 = 200
        (500, 100, 2, 3200, 0, 0, 0.5),  # 3200 f^3 = 400
        (150, 100, 1, 0, 100, 0, 0.5),  # 100 f = 50
        (350, 100, 1, 800, 0, 50, 0.5),  # 800 f^2 = 350 - 100 - 50: traffic that does not slow takes power from the clock
        (290, 40, 1, 400, 200, 10, (math.sqrt(2.65) - 0.5) / 2),  # 400 f^2 + 200 f = 240: f^2 + f/2 - 0.6 = 0
        (750, 150, 1, 600, 0, 0, 1.0),  # just fits
        (750, 150, 1, 100, 100, 100, 1.0),  # room to spare
        (110, 100, 1, 800, 0, 50, 0.2),  # cannot fit: the lowest clock there is
    ],
)
def test_clock_factor(
    limit: float, idle: float, exponent: float, core: float, scaled: float, fixed: float, factor: float
) -> None:
    assert clock_factor(limit, idle, exponent, 0.2, core, scaled, fixed) == pytest.approx(factor, rel=1e-12)


watts = st.floats(0, 3000)


@given(st.floats(150, 2000), st.floats(0, 2), watts, watts, watts)
def test_the_clock_spends_the_limit_and_no_more(
    limit: float, exponent: float, core: float, scaled: float, fixed: float
) -> None:
    factor = clock_factor(limit, 100.0, exponent, 0.25, core, scaled, fixed)
    spent = power(factor, 100.0, exponent, core, scaled, fixed)
    assert 0.25 <= factor <= 1
    if 0.25 < factor < 1:
        assert spent == pytest.approx(limit, rel=1e-9)
    elif factor == 1:
        assert spent <= limit
    else:
        assert spent >= limit * (1 - 1e-9)


@given(st.integers(0, 2), st.floats(0, 500), watts, watts, watts)
def test_more_load_never_raises_the_clock(which: int, more: float, core: float, scaled: float, fixed: float) -> None:
    loads = [core, scaled, fixed]
    before = clock_factor(750.0, 150.0, 1.3, 0.25, *loads)
    loads[which] += more
    assert clock_factor(750.0, 150.0, 1.3, 0.25, *loads) <= before * (1 + 1e-12)

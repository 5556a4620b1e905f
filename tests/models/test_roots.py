"""Where a growing function passes zero."""

from __future__ import annotations

import pytest

from c3sim.models.roots import last_within


def test_a_root_in_between_is_found() -> None:
    # x^3 = 2 at the cube root of two
    assert last_within(lambda x: x**3 - 2.0, 0.0, 8.0) == pytest.approx(2.0 ** (1 / 3), rel=1e-12)


def test_a_kink_is_found_and_what_lies_before_it_is_kept() -> None:
    # flat and below zero up to 1, steep behind it: zero at 1.25
    found = last_within(lambda x: -1.0 if x < 1.0 else 4.0 * x - 5.0, 0.0, 100.0)
    assert found == pytest.approx(1.25, rel=1e-12)
    assert 4.0 * found - 5.0 <= 0.0


def test_a_step_onto_the_root_from_above_does_not_end_it_early() -> None:
    # a line is met by the first step, at times a float above its root
    roots = [number / 101 for number in range(1, 101)]
    found = [last_within(lambda x, root=root: 3.0 * (x - root), 0.0, 1.0) for root in roots]
    assert found == pytest.approx(roots, rel=1e-12)


@pytest.mark.parametrize(("shift", "expected"), [(-9.0, 3.0), (9.0, 1.0), (-3.0, 3.0)])
def test_without_a_root_an_end_is_returned(shift: float, expected: float) -> None:
    # x + shift within [1, 3]: below zero everywhere, above it everywhere, zero at the upper end
    assert last_within(lambda x: x + shift, 1.0, 3.0) == expected


def test_curves_are_followed_in_few_questions() -> None:
    # Between two questions to a line 1.6 times as many digits are right, to a parabola 1.8 times.
    asked: list[float] = []

    def growing(x: float) -> float:
        asked.append(x)
        return x**3 - 0.5

    assert last_within(growing, 0.25, 1.0) == pytest.approx(0.5 ** (1 / 3), rel=1e-13)
    assert len(asked) <= 10


@pytest.mark.parametrize("kink", [1e-9, 1e-3, 0.5, 0.999])
def test_a_wall_behind_a_plain_is_found_by_halves(kink: float) -> None:
    # No curve through points of the plain and of the wall comes near: at most 10 steps along it.
    asked: list[float] = []

    def growing(x: float) -> float:
        asked.append(x)
        return -1e-9 if x <= kink else 1e9

    found = last_within(growing, 0.0, 1.0)
    assert found <= kink < found + 1e-13
    assert len(asked) <= 2 + 10 + 80

"""The tree on static sizes: it finds a threshold that is there, and takes no split that is none."""

from __future__ import annotations

import pytest

from c3sim.experiments.trees import Seen, Sizes, choice, fit, regrets

NAMES = ("rows", "columns")


def seen(aspect: float, better: str, gemm: str = "") -> Seen:
    times = {name: 1.0 if name == better else 1.5 for name in NAMES}
    return Seen(gemm or str(aspect), Sizes(intensity=100.0, footprint=1e9, aspect=aspect), times)


def test_sizes_by_hand() -> None:
    """M 2, N 3, K 4: 24 products over 8 + 12 + 6 numbers."""
    assert Sizes.of(2, 3, 4) == pytest.approx((24 / 26, 26, 0.5))


def test_a_threshold_lies_between_the_sides() -> None:
    """Rows are better where M is at least 2 K: the threshold is the mean of 1/2 and 2, in ratio."""
    given = [seen(0.25, "columns"), seen(0.5, "columns"), seen(2, "rows"), seen(4, "rows")]
    tree = fit(given, NAMES)
    assert tree.text == "aspect < 1 ? columns : rows"
    assert choice(tree, Sizes(1, 1, 0.7)) == "columns"


def test_two_levels_tell_a_band() -> None:
    """Two GEMMs on each side and two between: without any one of them the band still shows."""
    sides = [seen(aspect, "rows") for aspect in (0.1, 0.2, 10, 20)]
    given = [*sides, seen(1, "columns"), seen(2, "columns")]
    tree = fit(given, NAMES)
    assert [choice(tree, each.sizes) for each in given] == ["rows"] * 4 + ["columns"] * 2


def test_one_exception_makes_no_rule() -> None:
    """A level that only serves one GEMM loses on others that are left out, so it is not taken."""
    given = [seen(0.1 * step, "columns" if step == 4 else "rows") for step in range(1, 9)]
    assert fit(given, NAMES) == "rows"


def test_loss_is_against_the_best() -> None:
    assert seen(1, "rows").loss("columns") == pytest.approx(0.5)
    assert seen(1, "rows").loss("neither") == float("inf")


def test_regret_of_a_constant_a_rule_and_the_simulator() -> None:
    """Measured: a is the best for g and h, b for i. Predicted: the same, but for g.

    simulator   takes b for g, twice as long as a: regret 1; right for h and i
    constant    of g from h and i: a loses 0.5 there, b 1, so a; likewise of h. Of i from g and h:
                a, 3 for 2, regret 0.5
    """
    sizes = {name: Sizes.of(m, 64, 64) for name, m in (("g", 64), ("h", 128), ("i", 256))}
    measured = {("g", "x"): {"a": 1.0, "b": 2.0}, ("h", "x"): {"a": 1.0, "b": 2.0}}
    measured |= {("i", "x"): {"a": 3.0, "b": 2.0}}
    predicted = {**measured, ("g", "x"): {"a": 2.0, "b": 1.0}}
    found = regrets(predicted, measured, sizes)
    assert found["simulator"] == [1.0, 0.0, 0.0]
    assert found["constant"] == [0.0, 0.0, 0.5]
    assert len(found["rule"]) == 3

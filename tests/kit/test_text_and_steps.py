"""The style of numbers, and arithmetic on step functions."""

import pytest

from c3sim.kit import steps
from c3sim.kit.text import figures, natural, percent, size, time_unit, times
from c3sim.models.capacity import Capacity
from c3sim.result import Counter


def test_numbers_as_written():
    assert [time_unit(t)[0] for t in (0.0, 4e-4, 5e-4, 1.0, 2.0)] == ["us", "us", "ms", "ms", "s"]
    assert (percent(0.4213), percent(0.4213, 0), percent(None)) == ("42.1", "42", "-")
    assert (times(1.4142), times(None)) == ("1.41x", "-")
    assert [size(n) for n in (100, 1536, 896 * 2**20, 1.625 * 2**30)] == [
        "100 B",
        "1.5 KiB",
        "896 MiB",
        "1.625 GiB",
    ]
    assert [figures(x) for x in (0.0, 0.01234, -2.25, 5300.0)] == ["0", "0.0123", "-2.25", "5300"]


def test_numbers_in_names_sort_as_numbers():
    assert sorted(["dma[10]", "dma[2]", "clock"], key=natural) == ["clock", "dma[2]", "dma[10]"]


def test_a_step_holds_until_the_next():
    assert steps.at([1.0, 2.0], [5.0, 7.0], [0.0, 1.0, 1.5, 2.0, 9.0]) == [0.0, 5.0, 5.0, 7.0, 7.0]
    assert steps.extended([1.0, 2.0], [5.0, 7.0], 3.0) == (
        [0.0, 1.0, 2.0, 3.0],
        [0.0, 5.0, 7.0, 7.0],
    )
    # 0 for 1 s, 5 for 1 s, 7 for 1 s
    assert steps.average([0.0, 1.0, 2.0, 3.0], [0.0, 5.0, 7.0, 7.0]) == pytest.approx(4.0)


def test_the_mean_of_counters_with_steps_at_different_times():
    one = Counter(
        place=Capacity("gpu", 0, "a"),
        unit="B/s",
        times=[0.0],
        values=[4.0],
        maximum=10.0,
        by_task={"x": [4.0]},
    )
    two = Counter(
        place=Capacity("gpu", 0, "b"),
        unit="B/s",
        times=[1.0],
        values=[8.0],
        maximum=20.0,
        by_task={"y": [8.0]},
    )
    both = steps.mean([one, two], "mean")
    assert (both.times, both.values, both.maximum) == ([0.0, 1.0], [2.0, 6.0], 15.0)
    assert both.by_task == {"x": [2.0, 2.0], "y": [0.0, 4.0]}

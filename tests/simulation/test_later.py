"""Runs that wait until a figure of one is read, and then are made side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from made_workload import workload_of
from shapes import TEACHING

from c3sim.simulation import runs
from c3sim.simulation.later import FEWEST, side_by_side
from c3sim.spec.workload import Workload

GEMM = {"kind": "gemm", "m": 512, "n": 512, "k": 512, "stream": "s"}


class Together:
    """Goes through items as ``map`` does, and says how many there were each time."""

    def __init__(self) -> None:
        self.sizes: list[list[int]] = []

    def __call__(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[Any]:
        self.sizes.append([item.size for item in items])
        return map(function, items)


def gemms(count: int, k: int = 512) -> Workload:
    tasks = {f"gemm{number}": {**GEMM, "k": k} for number in range(count)}
    return workload_of(tasks)


def kept() -> int:
    return sum(len(known.runs) for known in runs._runs.values())


def test_a_figure_that_is_read_has_all_runs_made_the_longest_first() -> None:
    """What is asked for twice is one run; another one that is asked for later is another batch."""
    runs.forget()
    each, told = Together(), list[tuple[int, int]]()
    with side_by_side(each, lambda done, total: told.append((done, total))):
        few, many = runs.run_once(TEACHING, gemms(20)), runs.run_once(TEACHING, gemms(40))
        assert runs.run_once(TEACHING, gemms(20)) is few
        assert not kept()
        assert few.end == pytest.approx(many.end / 2, rel=0.1)
        assert each.sizes == [[40, 20]] and kept() == 2
        runs.run_once(TEACHING, gemms(60))
    assert each.sizes == [[40, 20], [60]] and kept() == 3
    assert told == [(1, 2), (2, 2), (3, 3)]


def test_runs_that_waited_are_those_that_are_made_at_once() -> None:
    """And are known behind it."""
    runs.forget()
    at_once = [runs.run_once(TEACHING, gemms(FEWEST, k)) for k in (512, 1024)]
    runs.forget()
    with side_by_side(map):
        waited = [runs.run_once(TEACHING, gemms(FEWEST, k)) for k in (512, 1024)]
    for one, other in zip(at_once, waited, strict=True):
        assert one.times == other.times and one.energy == other.energy
    assert runs.run_once(TEACHING, gemms(FEWEST)).times == at_once[0].times and kept() == 2


def test_few_tasks_are_run_here() -> None:
    runs.forget()
    each = Together()
    with side_by_side(each):
        runs.run_once(TEACHING, gemms(FEWEST - 1))
    assert kept() == 1 and not each.sizes

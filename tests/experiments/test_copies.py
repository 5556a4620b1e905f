"""Items gone through by copies of this process."""

from __future__ import annotations

import os
import sys
from functools import partial
from time import sleep

import pytest

from c3sim.errors import InputError, WorkerError
from c3sim.experiments import copying
from c3sim.experiments.copying import copies, cores
from c3sim.experiments.jobs import Workers, of_each

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="copies are of Linux")


@on_linux
def test_copies_know_what_this_process_knows_and_answer_in_order():
    known = {"here": os.getpid()}

    def work(number: int) -> tuple[int, int, bool]:
        sleep(0.01)
        return number, known["here"], os.getpid() != known["here"]

    each = copies(2)
    found = list(each(work, range(40)))
    assert [each[:2] for each in found] == [(n, os.getpid()) for n in range(40)]
    assert {each[2] for each in found} == {True, False}  # this process works too
    assert list(each(work, [7])) == [(7, os.getpid(), False)]  # one item stays here
    assert next(iter(copies(1)(work, range(2)))) == (0, os.getpid(), False)


@on_linux
def test_cores_are_counted_as_joblib_counts_them(monkeypatch):
    from joblib import cpu_count

    assert cores() == cpu_count()
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert cores() == cpu_count() == 1
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert cores() == cpu_count() == 1
    finally:
        os.sched_setaffinity(0, allowed)


@on_linux
@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, 7),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 7),
        ({}, 7),
    ],
)
def test_a_control_group_gives_so_many_cores(monkeypatch, tmp_path, files, count):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(copying, "GROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(7)))
    assert cores() == count


@on_linux
def test_a_mistake_in_a_copy_is_raised_here():
    def work(number: int) -> int:
        raise InputError(f"item {number}", "tasks.a", "mine.yaml", 3)

    with pytest.raises(InputError, match=r"mine\.yaml:3: tasks\.a: item 0"):
        list(copies(2)(work, range(2)))


def failing(parent: int, number: int) -> int:
    """Work that ends every other process than *parent*, or has a mistake."""
    sleep(0.01)
    if number == 1 and os.getpid() != parent:
        os._exit(3)
    return number // (number - 2)


@on_linux
@pytest.mark.parametrize("copied", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([1] * 40, r"a process that does a part of the work ended.*; --jobs 1 needs none"),
        ([2] * 4, r"failed: ZeroDivisionError: .*zero \(in failing, test_copies\.py\)"),
    ],
)
def test_a_process_that_fails_is_told_in_one_line(items, said, copied):
    with pytest.raises(WorkerError, match=said) as caught:
        of_each(partial(failing, os.getpid()), items, Workers(jobs=2, copied=copied))
    assert "\n" not in str(caught.value)


@on_linux
def test_batches_of_copies_come_in_the_order_of_items():
    said = []
    found = of_each(str, range(9), Workers(jobs=2, copied=True), lambda *told: said.append(told))
    assert found == [*"012345678"] and said[0] == (0, 9) and said[-1] == (9, 9)

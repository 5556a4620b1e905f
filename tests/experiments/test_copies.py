"""Items gone through by copies of this process."""

from __future__ import annotations

import os
import sys

import pytest

from c3sim.errors import InputError
from c3sim.experiments.jobs import copies


@pytest.mark.skipif(sys.platform != "linux", reason="copies are of Linux")
def test_copies_know_what_this_process_knows_and_answer_in_order():
    known = {"here": os.getpid()}

    def work(number: int) -> tuple[int, int, bool]:
        return number, known["here"], os.getpid() != known["here"]

    each = copies(2)
    assert list(each(work, range(5))) == [(n, os.getpid(), True) for n in range(5)]
    assert list(each(work, [7])) == [(7, os.getpid(), False)]  # one item stays here
    assert next(iter(copies(1)(work, range(2)))) == (0, os.getpid(), False)


@pytest.mark.skipif(sys.platform != "linux", reason="copies are of Linux")
def test_a_mistake_in_a_copy_is_raised_here():
    def work(number: int) -> int:
        raise InputError(f"item {number}", "tasks.a", "mine.yaml", 3)

    with pytest.raises(InputError, match=r"mine\.yaml:3: tasks\.a: item 0"):
        list(copies(2)(work, range(2)))

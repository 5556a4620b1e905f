"""Ctrl-C while something is read. Python hears it where it runs functions of Python. pydantic has
such functions of its own: of what is no dict it asks ``isinstance(value, Mapping)``, unless it
reads strictly, and goes on whatever was raised there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from c3sim.iterations.described import described
from c3sim.spec.reading.loading import load_node, load_study, load_workload, open_iteration
from c3sim.spec.reading.paths import set_value

NODE, PAIR = load_node("teaching-4"), load_workload("gemm-beside-all-gather")
STEP = open_iteration("bert-large-one-gpu")
ON_ITS_NODE = load_node(STEP.iteration.node)


@contextmanager
def asked_of_mappings() -> Iterator[list[str]]:
    """Who asked in a function of Python, directly from a method of pydantic."""
    found: list[str] = []

    def called(frame: FrameType, event: str, _: object) -> None:
        by = frame.f_back
        if event == "call" and frame.f_code.co_name == "__instancecheck__" and by is not None:
            found.extend([by.f_code.co_name] * (by.f_globals["__name__"] == "pydantic.main"))

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield found
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize(
    "read",
    [
        lambda: set_value(NODE, PAIR, "task.gather.channels", 2),
        lambda: load_study("conccl"),
        lambda: described(STEP, ON_ITS_NODE),
    ],
    ids=["a value", "a study", "a step"],
)
def test_nothing_is_asked_where_ctrl_c_would_be_lost(read: Callable[[], object]) -> None:
    with asked_of_mappings() as found:
        read()
    assert found == []


def test_it_would_be_seen() -> None:
    with asked_of_mappings() as found:
        type(PAIR).model_validate({"schema": 1, "name": "again", "tasks": PAIR.tasks})
    assert found

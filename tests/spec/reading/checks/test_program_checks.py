"""DMA programs: every poll needs an atomic or fence of its own program that some engine reaches."""

import pytest

from c3sim.errors import InputErrors
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.checks.workload import check_workload
from c3sim.spec.reading.loading import load_node, parse_workload
from c3sim.spec.workload import Workload


def poll(on, engine=0, value=1):
    return {"op": "poll", "on": on, "engine": engine, "value": value}


def atomic(on, engine=0, **fields):
    return {"op": "atomic", "on": on, "engine": engine, **fields}


def workload(*program, **others):
    tasks = {"dma": {"kind": "commands", "program": program}}
    tasks |= {name: {"kind": "commands", "program": commands} for name, commands in others.items()}
    return Workload.model_validate({"schema": 1, "name": "w", "tasks": tasks})


@pytest.mark.parametrize(
    "program",
    [
        [atomic("a"), poll("a")],
        [poll("a"), atomic("a", 1)],  # another engine sends it meanwhile
        [poll("a"), atomic("b"), atomic("a", 1), poll("b", 1)],
        [atomic("a", 1), atomic("a", 2), poll("a", value=2)],  # counts
        [poll("a", value=3), {"op": "fence", "on": "a", "engine": 1, "value": 3}],
        [poll("a"), atomic("a", 1, peer=1)],  # its peer's word; another GPU does the same for it
        [poll("a"), atomic("b"), poll("b", 1), atomic("c", 1), atomic("a", 2), poll("c", 2)],
    ],
)
def test_programs_that_end(program):
    check_workload(workload(*program))
    assert simulate(load_node("mi300x-8"), workload(*program)).end > 0


@pytest.mark.parametrize(
    ("program", "stuck"),
    [
        ([poll("a"), atomic("a")], [0]),  # behind itself
        ([atomic("a", 1), poll("a", value=2)], [1]),  # not far enough
        (
            [poll("a"), atomic("b"), poll("b", 1), atomic("a", 1)],
            [0, 2],
        ),  # two engines wait for each other
        ([atomic("x"), poll("a"), atomic("a"), poll("x", 1)], [1]),
    ],
)
def test_programs_that_would_wait_for_ever(program, stuck):
    with pytest.raises(InputErrors) as caught:
        check_workload(workload(*program))
    assert [error.path for error in caught.value.errors] == [
        f"tasks.dma.program[{i}]" for i in stuck
    ]
    assert all("it would wait for ever" in error.message for error in caught.value.errors)


def test_words_belong_to_their_program():
    """The simulator keeps them apart by task, so a poll for another task's word would never end."""
    with pytest.raises(InputErrors) as caught:
        check_workload(workload(poll("go"), other=[atomic("go")]))
    assert str(caught.value) == "tasks.dma.program[0].on: unknown word 'go'; allowed: none"


def test_a_wrong_value_in_a_command_is_the_only_error() -> None:
    """The command is left out of what is read; that the program is then empty is not the user's
    mistake.
    """
    wrong = {"op": "copy", "bytes": "0 B", "peer": 1}
    task = {"kind": "commands", "program": [wrong]}
    with pytest.raises(InputErrors) as found:
        parse_workload({"schema": 1, "name": "w", "tasks": {"t": task}})
    assert [str(error) for error in found.value.errors] == [
        "tasks.t.program[0].bytes: got '0 B'; must be greater than 0"
    ]

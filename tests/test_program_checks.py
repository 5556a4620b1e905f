"""DMA programs: every wait needs a signal of its own program that some engine reaches."""

import pytest

from c3sim.checks import check_workload
from c3sim.errors import InputErrors
from c3sim.loading import load_hardware
from c3sim.simulation import simulate
from c3sim.specs.workload import Workload


def wait(on, engine=0):
    return {"op": "wait", "on": on, "engine": engine}


def signal(on, engine=0):
    return {"op": "signal", "on": on, "engine": engine}


def workload(*program, **others):
    tasks = {"dma": {"kind": "commands", "program": program}}
    tasks |= {name: {"kind": "commands", "program": commands} for name, commands in others.items()}
    return Workload.model_validate({"schema": 1, "name": "w", "tasks": tasks})


@pytest.mark.parametrize(
    "program",
    [
        [signal("a"), wait("a")],
        [wait("a"), signal("a", 1)],  # another engine sends it meanwhile
        [wait("a"), signal("b"), signal("a", 1), wait("b", 1)],
        [wait("a"), signal("b"), wait("b", 1), signal("c", 1), signal("a", 2), wait("c", 2)],
    ],
)
def test_programs_that_end(program):
    check_workload(workload(*program))
    assert simulate(load_hardware("mi300x-8").node, workload(*program)).end > 0


@pytest.mark.parametrize(
    ("program", "stuck"),
    [
        ([wait("a"), signal("a")], [0]),  # behind itself
        ([wait("a"), signal("b"), wait("b", 1), signal("a", 1)], [0, 2]),  # two engines wait for each other
        ([signal("x"), wait("a"), signal("a"), wait("x", 1)], [1]),
    ],
)
def test_programs_that_would_wait_for_ever(program, stuck):
    with pytest.raises(InputErrors) as caught:
        check_workload(workload(*program))
    assert [error.path for error in caught.value.errors] == [f"tasks.dma.program[{i}]" for i in stuck]
    assert all("it would wait for ever" in error.message for error in caught.value.errors)


def test_signals_belong_to_their_program():
    """The simulator keeps them apart by task, so a wait for another task's signal would never end."""
    with pytest.raises(InputErrors) as caught:
        check_workload(workload(wait("go"), other=[signal("go")]))
    assert str(caught.value) == "tasks.dma.program[0].on: unknown signal 'go'; allowed: none"

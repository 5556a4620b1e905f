"""Parameters in managed memory that the host has touched: a launch waits for them, on its units."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import workload_of
from shapes import TEACHING

from c3sim.errors import InputError, InputErrors
from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload

FAULT = 40e-6
COPY = {"kind": "copy", "bytes": "1 MiB", "destination": "gpu", "executor": "kernel"}


def with_fault(node: Node, seconds: float | None) -> Node:
    return node.changed(gpu__kernels__parameter_fault=seconds)


NODE = with_fault(TEACHING, FAULT)


def workload(tasks: dict[str, Any]) -> Workload:
    return workload_of(tasks)


def run(tasks: dict[str, Any]) -> Run:
    return simulate(NODE, workload(tasks))


@pytest.mark.parametrize("workgroups", [1, 4, 14, 40])
def test_a_launch_takes_one_fault_longer_whatever_its_grid(workgroups: int) -> None:
    """14 of 40 workgroups find a unit at once; the others start when the page is there already."""
    copy = {**COPY, "workgroups": workgroups}
    plain, managed = (
        run({"copy": {**copy, "parameters": where}}).task("copy") for where in ("value", "managed")
    )
    assert managed.start == plain.start
    assert managed.end - plain.end == pytest.approx(FAULT)


def test_every_launch_of_a_repeated_copy_waits_again() -> None:
    copy = {**COPY, "workgroups": 4, "repeat": 3}
    plain, managed = (
        run({"copy": {**copy, "parameters": where}}).end for where in ("value", "managed")
    )
    assert managed - plain == pytest.approx(3 * FAULT)


def test_workgroups_that_wait_hold_their_units() -> None:
    """A hold needs whole units: it gets those of the copy when the copy has ended."""
    held = {"kind": "hold", "workgroups": 14, "time": "10 us"}

    def begin(where: str) -> float:
        copy = {**COPY, "workgroups": 14, "parameters": where, "stream": "a"}
        tasks = {"copy": copy, "hold": {**held, "stream": "b"}}
        return run(tasks).task("hold").start

    assert begin("managed") - begin("value") == pytest.approx(FAULT)


def test_it_is_of_kernels_and_of_gpus_that_say_what_it_costs() -> None:
    with pytest.raises((InputError, InputErrors), match=r"parameters: 'managed'.*executor kernel"):
        workload({"copy": {**COPY, "executor": "dma", "parameters": "managed"}})
    asked = workload({"copy": {**COPY, "workgroups": 4, "parameters": "managed"}})
    check_on_node(asked, NODE)
    with pytest.raises(InputErrors, match="parameter_fault"):
        check_on_node(asked, with_fault(TEACHING, None))
    assert load_node("h200-4").gpu.kernels.parameter_fault == pytest.approx(142e-6)

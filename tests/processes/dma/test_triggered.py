"""Commands that a tracker starts: no host, one latency; sums that memory makes itself."""

from __future__ import annotations

import pytest
from made_workload import workload_of

from c3sim.errors import InputErrors
from c3sim.simulation.counters import MemoryCounter
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload

NODE = load_node("t3-8")
SIZE = 15e6  # bytes: 100 us at 150 GB/s


def with_engines(node: Node, **engines: object) -> Node:
    able = node.gpu.dma_engines.changed(**engines)
    return node.changed(gpu__dma_engines=able)


def chain() -> Workload:
    tasks = {
        f"send{step}": {
            "kind": "commands",
            "program": [{"op": "reduce", "peer": 1, "bytes": SIZE}],
            "after": [f"send{step - 1}"] if step else [],
        }
        for step in range(2)
    }
    return workload_of(tasks, node="t3-8")


def gap(node: Node) -> float:
    """From the end of the first to the end of the second [s]."""
    run = simulate(node, chain())
    return run.task("send1").end - run.task("send0").end


def test_a_trigger_takes_the_place_of_submission() -> None:
    """Its latency moves the end by as much; the host's time does not."""
    quick, slow = (gap(with_engines(NODE, trigger_latency=latency)) for latency in (0.2e-6, 3.2e-6))
    assert slow - quick == pytest.approx(3e-6, abs=1e-9)
    patient = NODE.changed(host__copy_time=50e-6, host__batch_time=50e-6)
    assert gap(patient) == pytest.approx(gap(NODE), abs=1e-9)
    assert gap(with_engines(patient, trigger_latency=None)) > gap(NODE) + 40e-6


def test_memory_that_adds_reads_nothing() -> None:
    """Two sums of SIZE: the sender reads each once; the receiver reads it too, or not."""
    near, counted = MemoryCounter(), MemoryCounter()
    simulate(NODE, chain(), observers=(near,))
    plain = NODE.changed(gpu__hbm__update_cost=0.0)
    simulate(plain, chain(), observers=(counted,))
    assert near.reads["send1"] == pytest.approx(SIZE)
    assert near.writes["send1"] == pytest.approx(SIZE)
    assert counted.reads["send1"] == pytest.approx(2 * SIZE)


def test_updates_need_memory_that_adds() -> None:
    gemm = {"kind": "gemm", "m": 1024, "n": 1024, "k": 1024, "updates": True}
    work = workload_of({"gemm": gemm})
    with pytest.raises(InputErrors, match=r"set gpu\.hbm\.update_cost"):
        check_on_node(work, load_node("mi300x-8"))

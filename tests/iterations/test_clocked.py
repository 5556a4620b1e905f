"""What of an operator's time follows the engine clock."""

from __future__ import annotations

import pytest

from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Op
from c3sim.machine.settling import Settled
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.workload import Workload

NODE = load_hardware("h200-1").node
ROWS, WIDTH = 16384, 4096
ON = OperatorSet.on(NODE.gpu, "bf16", rms=True)
NUMBERS = float(ROWS * WIDTH)
LAYER = OperatorSet.on(NODE.gpu, "bf16")


def seconds(op: Op, mhz: float) -> float:
    """The kernel alone in a loop whose clock is held."""
    workload = Workload.model_validate(
        {
            "schema": 1,
            "name": "w",
            "node": "h200-1",
            "tasks": {"t": op.task.changed(stream="s")},
            "host": {"loop": {"iterations": 100}, "launch": "graph"},
        }
    )
    held = Settled(NODE.gpu.clock.power_limit, mhz * 1e6 / NODE.gpu.clock.maximum)
    run = simulate(NODE, workload, settled=held).task("t")
    return run.end - run.start


@pytest.mark.parametrize(
    ("op", "alone", "behind", "ratio"),
    [
        (ON.normalisation("rms", ROWS, WIDTH), 1720, 1442, 1.048),
        (LAYER.normalisation("layer", ROWS, WIDTH), 1739, 1437, 1.131),
        (ON.normalisation_backward("rms", ROWS, WIDTH, 1)[0], 1720, 1442, 1.011),
        (ON.elementwise("add", NUMBERS, 2, 1), 1967, 1423, 0.982),
        (ON.elementwise("sign", NUMBERS / 2, 1, 1, strided=True), 1980, 1653, 1.092),
        (ON.elementwise("sum", NUMBERS, 2, 1, strided=True), 1980, 1653, 1.119),
        (ON.elementwise("silu", 3.5 * NUMBERS, 1, 1, flops=67), 1764, 1461, 1.124),
    ],
    ids=lambda value: value.name if isinstance(value, Op) else None,
)
def test_a_kernel_follows_the_clock_as_far_as_its_way_does(
    op: Op, alone: float, behind: float, ratio: float
) -> None:
    """Times behind a GEMM that takes the clock [MHz] down, against those alone, on one H200
    (validation/data/kernels, h200-held-clock). If all followed it, they were 1.2 to 1.39.
    """
    found = seconds(op, behind) / seconds(op, alone)
    assert abs(found - ratio) < 0.04
    assert found - 1.0 < 0.75 * (alone / behind - 1.0)

"""Training in 8 bit numbers: each operand gets a scale and is cast in front of its product."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.scales import casts, scaled
from c3sim.simulation.simulate import simulate
from c3sim.spec.iteration import Iteration
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Gemm, HostThreads, Workload

GPU = load_hardware("h200-1").node.gpu
NUMBERS = 4096 * 4096 + 4096 * 14336  # of both operands


def bytes_of(*, fused: bool) -> float:
    """Moved in front of a product of 4096 x 14336 x 4096."""
    o = OperatorSet.on(GPU, "fp8", fused=fused)
    product = o.gemm("product", 4096, 14336, 4096)
    tasks = [step.task for step in scaled(o, [product])][:-1]
    return sum(task.read + task.written for task in tasks if isinstance(task, Kernel))


def test_bytes_of_casts() -> None:
    """Compiled: 2 bytes of each number are read twice, 1 is written. Eager, six kernels: absolute
    2 + 2, largest 2, wide 2 + 4, scale 4 + 4, clamp 4 + 4, cast 4 + 1.
    """
    assert bytes_of(fused=True) == pytest.approx(5 * NUMBERS)
    assert bytes_of(fused=False) == pytest.approx(33 * NUMBERS)


def test_times_of_casts_as_measured() -> None:
    """377 MB compiled in 112 us, 2.5 GB eager in 830 us on one H200: 3.0 to 3.4 TB/s."""
    for fused, measured in ((True, 112e-6), (False, 830e-6)):
        rate = bytes_of(fused=fused) / measured
        assert 0.6 * GPU.hbm.bandwidth < rate < GPU.hbm.bandwidth


def test_eager_casts_are_done_number_by_number_where_a_framework_does() -> None:
    """On one H200 830 us, 15 of them small kernels: 226 to make numbers wider, 223 to
    scale them by one that lies in memory, 144 to clamp them.
    """
    o = OperatorSet.on(GPU, "fp8", fused=False)
    steps = list(scaled(o, [o.gemm("product", 4096, 14336, 4096)]))[:-1]
    tasks = {step.name: step.task.changed(stream="s") for step in steps}
    host = HostThreads(launch="graph")
    workload = Workload(schema_version=1, name="casts", node="h200-1", tasks=tasks, host=host)
    found = simulate(load_hardware("h200-1").node, workload)
    assert found.end == pytest.approx(815e-6, rel=0.12)
    for kernel, measured in (("wide", 226e-6), ("scale", 223e-6), ("clamp", 144e-6)):
        times = [found.task(name) for name in tasks if name.endswith(kernel)]
        assert sum(time.end - time.start for time in times) == pytest.approx(measured, rel=0.2)


def test_a_gradient_is_cast_once() -> None:
    """A product that gives gradients of weights takes what the one before it had cast."""
    o = OperatorSet.on(GPU, "fp8", fused=True)
    gemm = o.gemm("product", 256, 512, 1024).task
    assert isinstance(gemm, Gemm)
    assert len(list(casts(o, "p", gemm, weights=False))) == 4
    assert len(list(casts(o, "p", gemm, weights=True))) == 2


def test_only_8_bit_numbers_have_scales() -> None:
    with pytest.raises(ValidationError, match="scales are of fp8"):
        Iteration(schema=1, kind="iteration", name="x", model="llama-3-8b", scales="tensor")

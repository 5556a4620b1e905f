"""Claims of memory kernels' workgroups."""

from __future__ import annotations

import pytest

from c3sim.processes.kernels.residency import Claim
from c3sim.spec.reading.loading import load_node
from c3sim.spec.task import Kernel
from c3sim.tasks.kernel import claim_of
from c3sim.tasks.on_units import plain_claim


@pytest.mark.parametrize(("node", "fitting"), [("mi300x-8", 4), ("h200-4", 2), ("teaching-4", 4)])
def test_workgroups_of_a_memory_kernel_that_fit_on_a_unit(node: str, fitting: int) -> None:
    """512 threads of 64 registers: 8 waves of 64 lanes take 512 of 2048, 16 of 32 lanes 1024."""
    units = load_node(node).gpu.compute_units
    assert plain_claim(units).fitting(units) == fitting


def test_the_scarcest_of_lds_registers_and_waves_decides() -> None:
    """A unit of the teaching GPU has 64 KiB of LDS, 2048 registers, 32 waves."""
    unit = load_node("teaching-4").gpu.compute_units
    assert Claim(lds=24 * 1024, registers=100, waves=1).fitting(unit) == 2
    assert Claim(lds=1, registers=700, waves=1).fitting(unit) == 2
    assert Claim(lds=1, registers=1, waves=5).fitting(unit) == 6


def test_a_kernel_may_say_its_threads_and_registers() -> None:
    """4 waves of 184 registers: two have 1472 of 2048, and two of 87,360 B have room in 227 KiB."""
    units = load_node("h200-1").gpu.compute_units
    task = Kernel(kind="kernel", workgroups=1, threads=128, registers=184, lds=87360)
    assert claim_of(task, units) == Claim(lds=87360, registers=736, waves=4)
    assert claim_of(task, units).fitting(units) == 2

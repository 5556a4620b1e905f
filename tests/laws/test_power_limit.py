"""The power limit holds: whatever runs, a GPU takes no more, unless its clock is at its lowest."""

from __future__ import annotations

import pytest
from law_cases import Case, every_case
from law_observer import Recorder

from c3sim.engine.flow import Flow
from c3sim.input.loading import load_hardware
from c3sim.models.power import power
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

ROUNDING = 1e-6


def limited(node: Node, watts: float | None = None) -> Node:
    """*node* whose limit acts at once; *watts*: another limit."""
    clock = node.gpu.clock
    changed = {"power_window": 0.0, "power_limit": watts or clock.power_limit}
    gpu = node.gpu.model_copy(update={"clock": clock.model_copy(update=changed)})
    return node.model_copy(update={"gpu": gpu})


def most_drawn(node: Node, workload: Workload) -> float:
    """The most W that the flows of one GPU take with the clock above its lowest, of the limit.

    A transfer pays for both of its ends (machine/energy.py).
    """
    seen, clock, most = Recorder(), node.gpu.clock, 0.0
    simulate(node, workload, observers=[seen])
    for snapshot in seen.snapshots:
        by_domain: dict[object, list[tuple[Flow, float]]] = {}
        for flow, rate in snapshot.rates:
            by_domain.setdefault(flow.domain, []).append((flow, rate))
        for domain, flows in by_domain.items():
            factor = snapshot.states[domain].clock
            if factor > clock.minimum / clock.maximum * (1 + ROUNDING):
                loads = [(flow.tags.declared.load, rate) for flow, rate in flows]
                drawn = power(clock.idle_power, loads, factor, clock.voltage_exponent)
                most = max(most, drawn / clock.power_limit)
    return most


@every_case("power_stays_within_the_limit")
def test_power_stays_within_the_limit(case: Case) -> None:
    """Nor within half of what it leaves above idle power."""
    clock = case.node.gpu.clock
    for part in (1.0, 0.5):
        limit = clock.idle_power + part * (clock.power_limit - clock.idle_power)
        assert most_drawn(limited(case.node, limit), case.workload) <= 1 + ROUNDING, part


# Bound by memory, by operands, by a last round that most units leave free: 900, 845 and 776 W of
# 750 when the clock was found from rates that were taken to follow it.
@pytest.mark.parametrize(
    ("library", "m", "n", "k"),
    [("triton", 1024, 28672, 128), ("hipblaslt", 4096, 8192, 128), ("triton", 1024, 28672, 8192)],
)
def test_a_gemm_bound_by_memory_spends_the_limit_of_mi300x_and_no_more(
    library: str, m: int, n: int, k: int
) -> None:
    gemm = {"kind": "gemm", "m": m, "n": n, "k": k, "library": library}
    workload = Workload.model_validate({"schema": 1, "name": "w", "tasks": {"gemm": gemm}})
    node = load_hardware("mi300x-8").node
    assert 0.99 <= most_drawn(node, workload) <= 1 + ROUNDING

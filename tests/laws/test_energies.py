"""Laws of energy: every joule belongs to a component, and the power over time holds them all."""

from __future__ import annotations

from itertools import pairwise

import pytest
from law_cases import Case, every_case
from law_runs import as_it_is, unfolded

from c3sim.machine.energy import COMPONENT_OF, by_component, components_of, idle_energy
from c3sim.result import Counter
from c3sim.simulation.folding import can_fold
from c3sim.specs.energies import Energies

REL = 1e-9


def integral(counter: Counter, values: object, end: float) -> float:
    return sum(
        value * (b - a)
        for value, (a, b) in zip(values, pairwise([*counter.times, end]), strict=True)
    )


def test_every_energy_of_the_schema_has_a_component() -> None:
    """But for idle power, which is a value of the clock."""
    assert set(COMPONENT_OF) - {"idle_power"} == set(Energies.model_fields) - {
        "measured",
        "operands",
    }


@every_case("components_sum_to_the_energy_and_power_integrates_to_it")
def test_components_sum_to_the_energy_and_power_integrates_to_it(case: Case) -> None:
    """Of every task, and of the whole; from the counters of the simulated GPUs, in total and by
    component.
    """
    run, _ = as_it_is(case)
    tasks = {name: run.account_of(name) for name in case.workload.tasks}
    parts = {task: by_component(case.node, account, idle=False) for task, account in tasks.items()}
    for task, account in tasks.items():
        assert sum(parts[task].values()) == pytest.approx(sum(account.values()), rel=REL)
        assert set(parts[task]) == set(components_of(case.node)) - {"idle"}
    idle = idle_energy(case.node, run.end)
    whole = idle + sum(sum(account.values()) for account in tasks.values())
    copies = case.node.ranks if run.folded else 1
    power = [counter for counter in run.timeline.counters if counter.place.kind == "power"]
    assert len(power) * copies == case.node.ranks
    watts = copies * sum(integral(counter, counter.values, run.end) for counter in power)
    assert watts == pytest.approx(whole, rel=REL)
    for component in components_of(case.node):
        joules = idle if component == "idle" else sum(part[component] for part in parts.values())
        curves = [(c, c.by_component[component]) for c in power if component in c.by_component]
        area = sum(integral(counter, values, run.end) for counter, values in curves)
        assert copies * area == pytest.approx(joules, rel=REL, abs=REL * whole), component


def _folds(case: Case) -> bool:
    return case.node_name in ("mi300x-8", "h200-2", "teaching-cluster") and can_fold(
        case.workload, case.node
    )


@every_case("folded_equals_unfolded", _folds)
def test_folded_and_unfolded_take_the_same_energy_by_component(case: Case) -> None:
    """What falls due at the other end of a link counts there, and adds up to the same."""
    (folded, _), (whole, _) = as_it_is(case), unfolded(case)
    for task in case.workload.tasks:
        assert folded.account_of(task) == pytest.approx(whole.account_of(task), rel=1e-6), task

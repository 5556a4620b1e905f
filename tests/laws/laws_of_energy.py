"""Laws of energy: every joule belongs to a component, and the power over time holds them all."""

from __future__ import annotations

from itertools import pairwise

import pytest
from law_cases import Case
from law_runs import REL, Trial, law

from c3sim.machine.energy import idle_energy
from c3sim.result import Counter
from c3sim.simulation.folding import can_fold
from c3sim.spec.energies import by_component, components_of


def _integral(counter: Counter, values: object, end: float) -> float:
    return sum(
        value * (b - a)
        for value, (a, b) in zip(values, pairwise([*counter.times, end]), strict=True)
    )


@law()
def components_sum_to_the_energy_and_power_integrates_to_it(trial: Trial) -> None:
    """Components of every task, and of the whole; from the counters of the simulated GPUs, in total
    and by component.
    """
    run, node = trial.run, trial.node
    tasks = {name: run.account_of(name) for name in trial.workload.tasks}
    parts = {task: by_component(node, account, idle=False) for task, account in tasks.items()}
    for task, account in tasks.items():
        assert sum(parts[task].values()) == pytest.approx(sum(account.values()), rel=REL)
        assert set(parts[task]) == set(components_of(node)) - {"idle"}
    idle = idle_energy(node, run.end)
    whole = idle + sum(sum(account.values()) for account in tasks.values())
    copies = node.ranks if run.folded else 1
    power = [counter for counter in run.timeline.counters if counter.place.kind == "power"]
    assert len(power) * copies == node.ranks
    watts = copies * sum(_integral(counter, counter.values, run.end) for counter in power)
    assert watts == pytest.approx(whole, rel=REL)
    for component in components_of(node):
        joules = idle if component == "idle" else sum(part[component] for part in parts.values())
        curves = [(c, c.by_component[component]) for c in power if component in c.by_component]
        area = sum(_integral(counter, values, run.end) for counter, values in curves)
        assert copies * area == pytest.approx(joules, rel=REL, abs=REL * whole), component


def _folds(case: Case) -> bool:
    return case.node_name in ("mi300x-8", "h200-2", "teaching-cluster") and can_fold(
        case.workload, case.node
    )


@law(_folds)
def folded_and_unfolded_take_the_same_energy(trial: Trial) -> None:
    """Energy that falls due at the other end of a link counts there, and adds up to the same."""
    for task in trial.workload.tasks:
        whole = trial.unfolded.account_of(task)
        assert trial.run.account_of(task) == pytest.approx(whole, rel=1e-6), task

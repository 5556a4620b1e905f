"""The machines of a study of cache policies, at one place of what is guessed of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import sqrt

from c3sim.errors import InputError
from c3sim.evaluation.policy_costs import CacheMachine
from c3sim.input.loading import load_hardware
from c3sim.specs.applications import PlainMachine, PolicyMachines
from c3sim.specs.hardware import Gpu
from c3sim.sweeps.intervals import Parameter, latin_hypercube, settings_of

PUBLISHED = "apu"
Guesses = Mapping[str, float]


def guesses(machines: PolicyMachines) -> tuple[dict[str, float], list[dict[str, float]]]:
    """What is guessed: the geometric middle of each interval, and the draws."""
    intervals = machines.guesses.items()
    middle: dict[str, float] = {name: sqrt(low * high) for name, (low, high) in intervals}
    as_known = partial(Parameter, unit="", whole=False, fitted=False)
    parameters = [
        as_known(path=name, value=middle[name], low=low, high=high)
        for name, (low, high) in intervals
    ]
    rows = latin_hypercube([each.path for each in parameters], machines.draws, machines.seed)
    return middle, [
        {path: float(value) for path, value in settings_of(parameters, row)} for row in rows
    ]


class Machines:
    """Every machine of a study by name. Raises InputError: a node whose file has no policies."""

    def __init__(self, machines: PolicyMachines):
        self._published = machines.published
        self._gpus: dict[str, Gpu] = {}
        for name in machines.nodes:
            gpu = load_hardware(name).node.gpu
            if gpu.cache_policies is None:
                raise InputError(f"{name} gives no gpu.cache_policies", "machines.nodes")
            self._gpus[name] = gpu

    @property
    def names(self) -> Sequence[str]:
        return (PUBLISHED, *self._gpus)

    def machine(self, name: str, dtype: str, guess: Guesses) -> CacheMachine:
        if name == PUBLISHED:
            return _plain(self._published, dtype, guess)
        return _of_gpu(self._gpus[name], dtype, guess)


def _guessed(guess: Guesses) -> partial[CacheMachine]:
    return partial(
        CacheMachine,
        latency=guess["latency"],
        l1_ways=guess["l1_ways"],
        asked=guess["asked"],
        together=guess["together"],
        row_lines=guess["row_lines"],
    )


def _plain(machine: PlainMachine, dtype: str, guess: Guesses) -> CacheMachine:
    per_cycle: Mapping[str, float] = machine.flops_per_cycle  # type: ignore[assignment]
    return _guessed(guess)(
        compute_units=machine.compute_units,
        flops=machine.compute_units * machine.clock * per_cycle[dtype] * guess["reached"],
        l1=machine.l1,
        l2=machine.l2,
        ways=machine.ways,
        line=machine.line,
        l2_bandwidth=machine.memory * guess["l2_rate"],
        memory=machine.memory,
        scattered=machine.memory * guess["scattered"],
    )


def _of_gpu(gpu: Gpu, dtype: str, guess: Guesses) -> CacheMachine:
    policies, cache, clock = gpu.cache_policies, gpu.memory_side_cache, gpu.clock.maximum
    assert policies is not None  # held by Machines
    per_cycle: Mapping[str, float] = gpu.compute_units.flops_per_cycle  # type: ignore[assignment]
    return _guessed({**guess, "latency": gpu.hbm.latency})(
        compute_units=gpu.compute_unit_count,
        flops=gpu.compute_unit_count * clock * per_cycle[dtype] * guess["reached"],
        l1=policies.l1_capacity,
        l2=gpu.dies.count * gpu.l2.capacity,
        ways=policies.ways,
        line=policies.line,
        l2_bandwidth=gpu.l2.bandwidth * gpu.dies.count * clock,
        memory=gpu.hbm.bandwidth * gpu.hbm.read_efficiency,
        scattered=gpu.hbm.bandwidth * policies.scattered_writes,
        memory_side=cache.capacity if cache else 0.0,
        memory_side_bandwidth=cache.bandwidth if cache else 0.0,
    )

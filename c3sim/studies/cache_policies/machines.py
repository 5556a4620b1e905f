"""The machines of a study of cache policies, at one place of what is guessed of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf, sqrt

from c3sim.errors import InputError
from c3sim.experiments.bands import Parameter, latin_hypercube, settings_at
from c3sim.input.loading import load_hardware
from c3sim.specs.applications import PlainMachine, PolicyMachines
from c3sim.specs.hardware import Dies, Node
from c3sim.specs.memory import L2

PUBLISHED = "apu"
HARD = 64.0  # exponent of what units ask for and what memory gives: no loss below that
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
        {path: float(value) for path, value in settings_at(parameters, row)} for row in rows
    ]


class Machines:
    """Every machine of a study by name. Raises InputError: a node whose file has no policies."""

    def __init__(self, machines: PolicyMachines, base: str):
        """*base*: the node whose file says what is not published of the published machine."""
        self._published, self._base = machines.published, load_hardware(base).node
        self._nodes = {name: load_hardware(name).node for name in machines.nodes}
        for name, node in {**self._nodes, base: self._base}.items():
            if node.gpu.cache_policies is None:
                raise InputError(f"{name} gives no gpu.cache_policies", "machines.nodes")

    @property
    def names(self) -> Sequence[str]:
        return (PUBLISHED, *self._nodes)

    def node(self, name: str, guess: Guesses) -> Node:
        if name == PUBLISHED:
            return _node_of(self._published, self._base, guess)
        return self._nodes[name]


def _node_of(machine: PlainMachine, base: Node, guess: Guesses) -> Node:
    """One GPU as published; its kernels begin and end at once, and no power limit binds."""
    gpu, memory, clock = base.gpu, machine.memory, machine.clock
    assert gpu.cache_policies is not None  # held by Machines
    per_unit = memory / machine.compute_units / clock
    units = {
        "flops_per_cycle": machine.flops_per_cycle,
        "read_bandwidth": guess["asked"] * per_unit,
        "l2_bandwidth": guess["l2_rate"] * per_unit,
    }
    of_memory = {"bandwidth": memory, "latency": guess["latency"]}
    whole = {"read_efficiency": 1.0, "mixed_efficiency": 1.0, "saturation_exponent": HARD}
    policies = {
        "l1_capacity": machine.l1,
        "line": machine.line,
        "ways": machine.ways,
        "scattered_writes": guess["scattered"],
        "l1_ways": guess["l1_ways"],
        "row_lines": guess["row_lines"],
        "evicted_together": guess["together"],
    }
    at_once = {"dispatch_latency": 0.0, "completion_latency": 0.0, "back_to_back_latency": 0.0}
    parts = {
        "name": PUBLISHED,
        "dies": Dies(count=1, shader_engines=(machine.compute_units,), dispatch="rotation"),
        "compute_units": gpu.compute_units.model_copy(update=units),
        "l2": L2(capacity=machine.l2, bandwidth=guess["l2_rate"] * memory / clock),
        "memory_side_cache": None,
        "hbm": gpu.hbm.model_copy(update={**of_memory, **whole}),
        "cache_policies": gpu.cache_policies.model_copy(update=policies),
        "clock": gpu.clock.model_copy(update={"maximum": clock, "power_limit": inf}),
        "kernels": gpu.kernels.model_copy(update=at_once),
    }
    one = {"name": PUBLISHED, "gpus": 1, "gpu": gpu.model_copy(update=parts)}
    return base.model_copy(update=one)

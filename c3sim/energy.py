"""Energy of tasks and of the whole, from the recorded rates.

While a flow proceeds at rate r with the clock at factor f, it takes the power

    P = r (e_core f^x + e_uncore) + N p_cu f^(1+x)        [W]

e_core, e_uncore: J per unit of work, in the clocked domain at full clock and outside it (``FlowTags.energy``); N
compute units held, p_cu the power of a held one at full clock; x joins clock and voltage (models/power.py). On top of
that a GPU takes its idle power, which belongs to no task. Where no power was measured the result is unvalidated.
"""

from __future__ import annotations

from collections.abc import Iterable

from c3sim.observe import Segment
from c3sim.specs.hardware import Gpu, Node

__all__ = ["flow_power", "task_energies", "total_energy"]


def flow_power(gpu: Gpu, segment: Segment) -> float:
    """Power [W] of one flow during *segment*, without the GPU's idle power."""
    tags, factor = segment.flow.tags, segment.factor
    exponent = gpu.clock.voltage_exponent
    core, uncore = tags.energy
    moving = segment.rate * (core * factor**exponent + uncore)
    return float(moving + tags.compute_units * gpu.energy.compute_unit * factor ** (1.0 + exponent))


def task_energies(gpu: Gpu, segments: Iterable[Segment]) -> dict[str, float]:
    """Energy [J] of each task on the simulated GPUs, idle power left out."""
    energies: dict[str, float] = {}
    for segment in segments:
        task = segment.flow.tags.task
        used = flow_power(gpu, segment) * (segment.end - segment.start)
        energies[task] = energies.get(task, 0.0) + used
    return energies


def total_energy(node: Node, tasks: Iterable[float], wall: float) -> float:
    """Energy [J] of all nodes' GPUs: their *tasks* [J, all GPUs] and every GPU's idle power for *wall* s."""
    return sum(tasks) + node.gpu.clock.idle_power * wall * node.ranks

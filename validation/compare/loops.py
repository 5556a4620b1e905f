"""Loads in a loop: the mean power and the time of a turn that ``probe power`` measured, and theirs
in the model's steady state.

A turn is one pass of the loop. The power limit acts throughout a loop of seconds, so the model has
it act at once (``gpu.clock.power_window`` of 0). Operands are where the last turn left them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from c3sim.simulation.runs import run_once
from c3sim.spec.energies import by_component
from c3sim.spec.hardware import Node
from c3sim.spec.record import Record
from c3sim.spec.workload import Workload

UNITS = {"power": "W", "energy": "J", "loop_time": "us"}  # metric -> unit
# A run of four turns less a run of two leaves two turns of the steady state.
FEW, MANY = 2, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Mean power of a GPU, and the time of one turn."""

    power_w: float
    turn_us: float | None  # None: nothing ran
    # component of the node file -> W; only predictions have them
    components: Mapping[str, float] = field(default_factory=dict)

    @property
    def figures(self) -> dict[str, float]:
        """By metric: power [W], and of a turn its time [us] and the energy of a GPU [J]."""
        figures = {"power": self.power_w}
        if self.turn_us is not None:
            figures |= {"loop_time": self.turn_us, "energy": self.power_w * self.turn_us * 1e-6}
        return figures


def measured_loop(record: Record) -> Loop | None:
    """The loop that *record* observed, by the mean over GPUs; None if it observed none."""
    energy = record.observed.get("energy")
    if not isinstance(energy, dict) or not energy.get("gpus") or len(record.workload.tasks) != 1:
        return None
    turn = energy.get("iteration_us")
    return Loop(
        power_w=fmean(gpu["power_w"] for gpu in energy["gpus"]), turn_us=turn and float(turn)
    )


def has_figures(record: Record) -> bool:
    """True if a prediction can be compared with it: it has a time, or the power of a loop."""
    return record.measured.has_times or measured_loop(record) is not None


def predicted_loop(node: Node, workload: Workload) -> Loop:
    """The steady state of *workload*, which has one task, in a loop on *node*."""
    looped = node.changed(gpu__clock__power_window=0.0)
    few, many = (run_once(looped, _repeated(workload, turns)) for turns in (FEW, MANY))
    time = many.end - few.end
    spent = {name: joules - few.account.get(name, 0.0) for name, joules in many.account.items()}
    watts = {name: joules / time / node.gpus for name, joules in by_component(node, spent).items()}
    return Loop(power_w=sum(watts.values()), turn_us=time / (MANY - FEW) * 1e6, components=watts)


def _repeated(workload: Workload, turns: int) -> Workload:
    ((name, task),) = workload.tasks.items()
    changes: dict[str, Any] = {"repeat": turns}
    if hasattr(task, "inputs"):
        changes["inputs"] = "warm"
    return workload.changed(tasks={name: task.changed(**changes)})


def mean_observed(repeats: Sequence[Record]) -> dict[str, Any]:
    """``observed`` of the first of *repeats*, with the mean power and time of all."""
    first = repeats[0].observed
    loops = [loop for record in repeats if (loop := measured_loop(record))]
    if not loops:
        return first
    turns = [loop.turn_us for loop in loops if loop.turn_us is not None]
    mean = {"gpus": [{"power_w": fmean(loop.power_w for loop in loops)}]}
    return {
        **first,
        "energy": {**first["energy"], **mean, **({"iteration_us": fmean(turns)} if turns else {})},
    }

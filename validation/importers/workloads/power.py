"""Iterations of a loop at the power limit.

What a GPU took before an iteration decides when its clock falls (``host.loop``). The isolated times
of such a trace were taken at a lowered clock too, but a workload's are those of an idle GPU: the
model says by how much they are shorter there. To that end the iteration is run as the earliest one
of the trace; equal kernels must then take at least what the shortest of them took.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from c3sim.simulation.run import Run
from c3sim.specs.hardware import Node

from ..traces.intervals import Kernel, overlaps
from .alone import Key
from .build import Built

NEAR_LIMIT = 0.9  # of the power limit
MUCH = 0.7  # of it: chips that draw more than others may be at their limit
NOTHING = 0.998  # a time that is no more off than this is as measured


def at_power_limit(run: Run, node: Node) -> bool:
    """Whether a GPU takes so much that what it took before the iteration decides its clock."""
    return _drawn(run, node) > NEAR_LIMIT


def draws_much(run: Run, node: Node) -> bool:
    """Whether the limit of power may have lowered the clock of such a GPU."""
    return _drawn(run, node) > MUCH


def _drawn(run: Run, node: Node) -> float:
    """Of the power limit, by a GPU in the mean of *run*, which has its energy."""
    return run.energy / run.end / node.ranks / node.gpu.clock.power_limit


def loop_after(turns: int) -> dict[str, int]:
    """A loop in whose middle as many *turns* have gone before."""
    return {"iterations": 2 * turns}


def shorten(built: Built, earliest: Run) -> None:
    """Give the tasks of *built* the isolated times of a GPU at its full clock. *earliest*: its
    replay with the power of the trace's earliest iteration before it.
    """
    shares = {
        key: built.alone[key] / shortest
        for key, shortest in _shortest(built, earliest).items()
        if built.alone[key] < NOTHING * shortest
    }
    if not shares:
        return
    for name, task in built.workload["tasks"].items():
        share = shares.get(built.keys[name], 1.0)
        if "time" in task:
            task["time"] *= share
        elif task["kind"] == "gemm" and "speed" in task:
            task["speed"] = round(task["speed"] / share, 4)
    most = 1.0 - min(shares.values())
    built.add(
        f"{len(shares)} times alone were taken at the power limit: at the full clock up to"
        f" {most:.1%} less, as the model says"
    )


def _shortest(built: Built, run: Run) -> Mapping[Key, float]:
    """Of each group of equal kernels with an isolated time: the shortest that is alone in *run*
    [us].
    """
    found = []
    for name in built.keys:
        times = run.task(name)
        found.append(
            Kernel(
                name=name,
                kind="other",
                start=1e6 * times.start,
                duration=1e6 * (times.end - times.start),
                device="",
                stream=built.workload["tasks"][name]["stream"],
            )
        )
    found.sort(key=lambda kernel: kernel.start)
    shortest: dict[Key, float] = {}
    for kernel, beside in zip(found, overlaps(found), strict=True):
        key = built.keys[kernel.name]
        if key in built.alone and not beside:
            shortest[key] = min(kernel.duration, shortest.get(key, math.inf))
    return shortest

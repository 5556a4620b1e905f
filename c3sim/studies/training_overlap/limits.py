"""What limits the overlap of an iteration: runs of few layers in which computing and communication
do not share one thing.
"""

from __future__ import annotations

from collections.abc import Mapping

from c3sim.iterations.build import build
from c3sim.iterations.runs import launched
from c3sim.simulation.simulate import average_before, simulate
from c3sim.studies.iterations import IterationCase

LAYERS = 2
#: Kinds of sharing between computing and communication that can stretch either.
SHARED = ("compute_units", "hbm", "clock")


def removal(case: IterationCase) -> dict[str, float]:
    """Kind of sharing -> part of the wall time of a few layers that goes where both sides do not
    share it.
    """
    planned = case.planned()
    built = build(planned, min(LAYERS, planned.own_layers))
    workload = case.change(launched(built.workload, eager=False))
    average = average_before(case.node, workload)

    def wall(private: frozenset[str]) -> float:
        run = simulate(case.node, workload, private=private, by_class=True, average=average)
        return run.end

    whole = wall(frozenset())
    return {kind: 1.0 - wall(frozenset((kind,))) / whole for kind in SHARED}


def limited_by(exposed: float, stretched: float, removed: Mapping[str, float]) -> str:
    """The largest loss: ``exposed`` communication, or what stretches operators most."""
    if exposed >= stretched:
        return "exposed"
    return max(removed, key=lambda kind: removed[kind])

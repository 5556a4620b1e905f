"""The wall time of a trace's iteration by what ran: computation, exposed communication, idle; each
class of kernels and each kernel, with what the model says contention adds to them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from c3sim.importers.workloads.imported import Imported, short_name
from c3sim.importers.workloads.trace import Work
from c3sim.simulation.exposure import length, union
from c3sim.simulation.runs import isolated

US = 1e-6


@dataclass(kw_only=True)
class Kernels:
    """So many kernels of one class or name: time that they ran, and what of it is contention in
    the replay, both added up [s].
    """

    count: int = 0
    busy: float = 0.0
    contention: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Parts:
    """*wall* [s] is computation (also beside communication), exposed communication and idle."""

    wall: float
    computation: float
    exposed: float
    classes: Mapping[str, Kernels]
    kernels: Mapping[str, Kernels]

    @property
    def idle(self) -> float:
        """Time [s] when nothing ran."""
        return self.wall - self.computation - self.exposed


def parts_of(found: Imported) -> Parts:
    """The iteration *found* in a trace."""
    built = found.built
    classes: dict[str, Kernels] = defaultdict(Kernels)
    kernels: dict[str, Kernels] = defaultdict(Kernels)
    for name, work in built.works.items():
        slower = _slower(found, name)
        for group in (classes[found.class_of(name)], kernels[short_name(work.name)]):
            group.count += 1
            group.busy += US * work.duration
            group.contention += slower
    busy = [_span(work) for work in built.works.values() if not work.is_collective]
    return Parts(
        wall=US * built.wall,
        computation=US * length(union(busy)),
        exposed=US * built.exposed,
        classes=classes,
        kernels=kernels,
    )


def _slower(found: Imported, name: str) -> float:
    """Time [s] by which the task *name*, once it moves, takes longer in the replay than alone."""
    run, alone = found.replay.run.task(name), isolated(found.node, found.workload, name)
    return (run.end - run.start - run.waited) - (alone.end - alone.start - alone.waited)


def _span(work: Work) -> tuple[float, float]:
    return work.start, work.end

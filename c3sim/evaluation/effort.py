"""Cost of a run on this computer: time and memory, estimated by counting events before anything is
run.

Each task has so many events on each GPU that is simulated (one where folding lets it stand for
all): launches, rounds of workgroups, chunks, commands. An event takes about EVENT_S, a launch the
more the more compute units it deals workgroups to; both were measured on the packaged workloads and
two cores. tests/evaluation/test_effort.py holds the count to the events of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean

from c3sim.simulation.folding import can_fold
from c3sim.spec.hardware import Node
from c3sim.spec.schedules import expanded
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import kind_of

EVENT_S, UNIT_S = 100e-6, 1e-6  # of an event; of a launch, per compute unit
EVENT_BYTES, UNIT_BYTES, LINK_BYTES = 5e3, 130.0, 2e3
POINT_BYTES = 2e3  # a point of a sweep: its place, its row
RUNS = 3  # simulations behind one result: the run, each task alone, and on compute units


@dataclass(frozen=True, slots=True)
class Effort:
    """Estimated *seconds* of one core, and *bytes* of memory at once."""

    seconds: float
    bytes: float

    @classmethod
    def mean(cls, efforts: Iterable[Effort]) -> Effort:
        """Mean time and largest memory of *efforts* that run one after the other."""
        several = list(efforts)
        return cls(fmean(each.seconds for each in several), max(each.bytes for each in several))

    def times(self, points: float, jobs: int = 1) -> Effort:
        """So many points, on *jobs* cores."""
        return Effort(self.seconds * points / jobs, self.bytes * jobs + POINT_BYTES * points)


#: Is told what is ahead before it begins, and raises where that is too much.
Agree = Callable[[Effort], None]


def effort_of(workload: Workload, node: Node) -> Effort:
    """Time and memory that one result of *workload* on *node* takes."""
    workload = expanded(workload, node)
    alone = can_fold(workload, node)
    gpus = 1 if alone else node.ranks
    ways = 1 if workload.host.release == "event" else 8  # simulation/draws.py
    events = gpus * ways * events_of(workload, node)
    units = node.gpu.compute_unit_count
    launches = gpus * ways * sum(task.repeat for task in workload.tasks.values())
    links = gpus * node.gpus
    seconds = RUNS * (events * EVENT_S + launches * units * UNIT_S)
    return Effort(seconds, events * EVENT_BYTES + gpus * units * UNIT_BYTES + links * LINK_BYTES)


def events_of(workload: Workload, node: Node) -> float:
    """Events of one GPU, about."""
    tasks = workload.tasks.values()
    return sum(task.repeat * kind_of(task).events(task, node) for task in tasks)

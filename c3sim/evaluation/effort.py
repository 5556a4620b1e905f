"""What a run takes of this computer: time and memory, by counting events before anything is run.

Each task has so many events on each GPU that is simulated (one where folding lets it stand for
all): launches, rounds of workgroups, chunks, commands. An event takes about EVENT_S, a launch the
more the more compute units it deals workgroups to; both were measured on the packaged workloads and
two cores. tests/evaluation/test_effort.py holds the count to the events of runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from c3sim.models.groups import ranks_in
from c3sim.schedules import expanded
from c3sim.simulation.folding import can_fold
from c3sim.specs.hardware import Node
from c3sim.specs.task import Stores
from c3sim.specs.workload import (
    Collective,
    Commands,
    Copy,
    Gemm,
    Hold,
    StreamKernel,
    Task,
    Workload,
)

EVENT_S, UNIT_S = 100e-6, 1e-6  # of an event; of a launch, per compute unit
EVENT_BYTES, UNIT_BYTES, LINK_BYTES = 5e3, 130.0, 2e3
POINT_BYTES = 2e3  # a point of a sweep: its place, its row
RUNS = 3  # simulations behind one result: the run, each task alone, and on compute units
LAUNCH = 7  # events of a task beside its work
_TILE = 256  # rows, columns
_RESIDENT = 8  # workgroups of a streaming kernel on a compute unit


@dataclass(frozen=True, slots=True)
class Effort:
    """Estimated *seconds* of one core, and *bytes* of memory at once."""

    seconds: float
    bytes: float

    @classmethod
    def mean(cls, efforts: Iterable[Effort]) -> Effort:
        """Of one of *efforts*, in a row: the mean time, the largest memory."""
        several = list(efforts)
        return cls(fmean(each.seconds for each in several), max(each.bytes for each in several))

    def times(self, points: float, jobs: int = 1) -> Effort:
        """So many points, on *jobs* cores."""
        return Effort(self.seconds * points / jobs, self.bytes * jobs + POINT_BYTES * points)


def effort_of(workload: Workload, node: Node) -> Effort:
    """What one result of *workload* on *node* takes."""
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
    return sum(task.repeat * _events(task, node) for task in workload.tasks.values())


def _events(task: Task, node: Node) -> float:
    """Of one repetition of *task*."""
    units = node.gpu.compute_unit_count
    if isinstance(task, Gemm):
        rows, columns = task.macro_tile or (_TILE, _TILE)
        tiles = ceil(task.m / rows) * ceil(task.n / columns) * task.batch
        return LAUNCH + tiles / units
    if isinstance(task, StreamKernel | Stores | Hold):
        return LAUNCH + (task.workgroups or 0) / (units * _RESIDENT)
    if isinstance(task, Collective) and task.backend == "dma":
        return 5 * (ranks_in(node, task) - 1) * (task.engines or 1)
    if isinstance(task, Collective):
        wide = node.scale_out if node.nodes > 1 else None
        parts = 1 if wide is None else task.pipeline or wide.pipeline
        return LAUNCH * parts + task.chunks
    if isinstance(task, Copy):
        return LAUNCH * (task.engines or 1)
    if isinstance(task, Commands):
        return 4 * len(task.program)
    return LAUNCH

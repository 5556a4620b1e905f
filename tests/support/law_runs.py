"""Laws, and the runs of a case that they look at, each made once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

from law_cases import Case
from law_observer import Recorder

from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload

REL = 1e-9  # what rounding may do to a time, a rate or a sum of bytes


@dataclass(frozen=True)
class Law:
    """A law: what *check* asserts of the runs of every case that it *applies* to."""

    check: Callable[[Trial], None]
    applies: Callable[[Case], bool]

    @property
    def name(self) -> str:
        return self.check.__name__


LAWS: list[Law] = []


def law(applies: Callable[[Case], bool] = lambda case: True) -> Callable[..., Callable[..., None]]:
    """Make a law of a function that asserts something of a :class:`Trial`."""

    def add(check: Callable[[Trial], None]) -> Callable[[Trial], None]:
        LAWS.append(Law(check, applies))
        return check

    return add


class Trial:
    """A case on trial: its runs, made when a law first asks for them."""

    def __init__(self, case: Case) -> None:
        self.case, self.node, self.workload = case, case.node, case.workload
        self._alone: dict[str, Run] = {}

    @cached_property
    def _run(self) -> tuple[Run, Recorder]:
        return observed(self.node, self.workload, trace=True)

    @cached_property
    def _unfolded(self) -> tuple[Run, Recorder]:
        if not self.run.folded:
            return self._run
        return observed(self.node, self.workload, fold=False, energy=True)

    @property
    def run(self) -> Run:
        """The case with its timeline, folded where it can be."""
        return self._run[0]

    @property
    def seen(self) -> Recorder:
        """The record of an observer of :attr:`run`."""
        return self._run[1]

    @property
    def unfolded(self) -> Run:
        """The same with every GPU simulated, and no timeline where that differs."""
        return self._unfolded[0]

    @property
    def seen_unfolded(self) -> Recorder:
        return self._unfolded[1]

    def alone(self, task: str) -> Run:
        """One task of the case without the others."""
        if task not in self._alone:
            self._alone[task] = simulate(self.node, only(self.workload, task))
        return self._alone[task]


def observed(node: Node, workload: Workload, **options: bool) -> tuple[Run, Recorder]:
    """A run and what an observer saw of it."""
    recorder = Recorder()
    return simulate(node, workload, observers=[recorder], **options), recorder


def only(workload: Workload, name: str) -> Workload:
    """*workload* with task *name* alone, which waits for nothing."""
    task = workload.tasks[name]
    waits = ("after", "awaits") if task.awaited else ("after",)
    task = task.changed(**{wait: () for wait in waits})
    return workload.changed(tasks={name: task}, host__order=())


def ends(outcome: Run) -> dict[tuple[str, int], float]:
    """When each task ends on each simulated GPU [s]."""
    return {key: times.end for key, times in outcome.times.items()}


@cache
def first_digest(case: Case) -> str:
    """The digest of a run of *case* with its timeline."""
    return digest(simulate(case.node, case.workload, trace=True))


def digest(run: Run) -> str:
    """A hash of all that *run* says about time, to the last bit."""
    times = [[*key, t.ready, t.start, t.end, t.detail] for key, t in run.times.items()]
    timeline = () if run.timeline is None else run.timeline.spans
    spans = [[s.track, s.name, s.task, s.start, s.end, dict(s.detail)] for s in timeline]
    text = json.dumps([times, spans, run.end, run.events])
    return hashlib.sha256(text.encode()).hexdigest()

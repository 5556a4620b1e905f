"""A description held against the step that was measured: what its classes take there.

Operators of a class take so many times as long as the node's file says, in the mean over the step;
the host's calls too. Both are found from the class's times in the measured step, so that a what-if
begins at what this machine does. What neither explains is left over, and said.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from c3sim.iterations.described import evaluate
from c3sim.iterations.result import IterationResult
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described
from c3sim.spec.workload import Workload

COMMUNICATION = "communication"
ROUNDS = 4  # classes that run beside each other change each other's times
LEAST, MOST = 0.1, 10.0  # beyond, the description is not of the step that was measured


class Measured(Protocol):
    """Seconds of a step; ``importers.workloads.step.StepTimes``."""

    @property
    def name(self) -> str: ...
    @property
    def wall_s(self) -> float: ...
    @property
    def exposed_s(self) -> float | None: ...
    @property
    def busy_s(self) -> Mapping[str, float]: ...
    @property
    def host_s(self) -> float | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibrated:
    """*workload* as the measured machine runs it; the results *before* and *after* that."""

    measured: Measured
    workload: Described
    before: IterationResult
    after: IterationResult

    @property
    def left_over(self) -> float:
        """Measured wall time by that of the calibrated step."""
        return self.measured.wall_s / self.after.wall_s

    def onto(self, workload: Workload, settings: Container[str]) -> Workload:
        """*workload* with what this machine takes, but for what *settings* say."""
        if not isinstance(workload, Described):
            return workload
        change: dict[str, Any] = {"takes": self.workload.takes}
        if "slowness" not in settings:
            slowness = {"slowness": self.workload.iteration.slowness}
            change["iteration"] = workload.iteration.changed(**slowness)
        return workload.changed(**change)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: by class, what was measured, predicted before and after [s], and how many
        times as long its operators take.
        """
        rows = {name: (m, b, a, t) for name, m, b, a, t in self.rows()}
        names = ("measured_s", "before_s", "after_s", "takes")
        return {
            "step": self.measured.name,
            "classes": {n: dict(zip(names, row, strict=True)) for n, row in rows.items()},
            "left_over": self.left_over,
        }

    def rows(self) -> list[tuple[str, float | None, float, float, float | None]]:
        """Name, seconds measured, predicted, as calibrated, and how many times as long it takes:
        classes, launches of the host, exposed communication, wall time.
        """
        measured, takes = self.measured, self.workload.takes
        sides = self.before, self.after
        busy = [{n: t.busy_s for n, t in each.overlap.classes.items()} for each in sides]
        names = [n for n in busy[0] if busy[0][n] or measured.busy_s.get(n)]
        rows: list[tuple[str, float | None, float, float, float | None]] = [
            (n, measured.busy_s.get(n), busy[0][n], busy[1][n], takes.get(n)) for n in names
        ]
        slower = self.after.host_s / self.before.host_s if self.before.host_s else None
        hosts = [each.host_s for each in sides]
        rows.append(("host's launches", measured.host_s, hosts[0], hosts[1], slower))
        exposed = [each.overlap.exposed_s for each in sides]
        rows.append(("exposed", measured.exposed_s, exposed[0], exposed[1], None))
        rows.append(("wall", measured.wall_s, sides[0].wall_s, sides[1].wall_s, None))
        return rows


def calibrated(workload: Described, node: Node, measured: Measured) -> Calibrated:
    """*workload* on *node* with what *measured* says its operators and its host take."""
    before = result = _result(workload, node)
    for number in range(ROUNDS):
        takes = _takes(workload.takes, result, measured)
        iteration = workload.iteration
        if number == 0 and measured.host_s and result.host_s:
            slower = measured.host_s / result.host_s
            own = iteration.slowness or _slowness(workload, node)
            iteration = iteration.changed(slowness=own * slower)
        workload = workload.changed(takes=takes, iteration=iteration)
        result = _result(workload, node)
    return Calibrated(measured=measured, workload=workload, before=before, after=result)


def _result(workload: Described, node: Node) -> IterationResult:
    found = evaluate(workload, node, "as_written", noted=False)
    assert isinstance(found, IterationResult)
    return found


def _slowness(workload: Described, node: Node) -> float:
    name = workload.host.profile
    profile = None if name is None else node.host_profiles[name]
    return 1.0 if profile is None or profile.slowness is None else profile.slowness


def _takes(
    known: Mapping[str, float], found: IterationResult, measured: Measured
) -> dict[str, float]:
    """Factor of the time of each class, from the last run, *found*, with those *known*."""
    busy = {name: times.busy_s for name, times in found.overlap.classes.items() if times.busy_s}
    ratios = {
        name: measured.busy_s[name] / time for name, time in busy.items() if name in measured.busy_s
    }
    if not measured.busy_s:  # only times of the whole
        exposed = measured.exposed_s if measured.exposed_s is not None else found.overlap.exposed_s
        own = (measured.wall_s - exposed) / (found.wall_s - found.overlap.exposed_s)
        ratios = dict.fromkeys(busy, own)
        if measured.exposed_s is not None and found.overlap.exposed_s:
            ratios[COMMUNICATION] = measured.exposed_s / found.overlap.exposed_s
    return {
        name: min(MOST, max(LEAST, known.get(name, 1.0) * ratio)) for name, ratio in ratios.items()
    }

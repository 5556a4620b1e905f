"""Where the time of each task went: its slowdown split by cause.

The run is repeated with kinds of sharing taken away (each task gets, say, the memory to itself).
With T(S) the time of a task where the kinds S are shared, n kinds in all::

    share of k = mean over the orders of all kinds of T(S + k) - T(S), S: the kinds before k
    T - T0 = sum over k of share of k + dependencies + left over

Two kinds that hide each other, or that are worse together than apart, share that effect evenly, so
nothing of it is left over (Shapley values). The mean is exact: every subset of the kinds that
matter is run once. A kind does not matter to a run where taking it away changes no task's time,
from the whole run and from the run that shares only it::

    compute_units  its share, less order
    order          the part of it before the first workgroup got room: queueing, launch
    dependencies   the later start behind other tasks with no sharing at all
    ranks          that ranks begin by themselves, not in step (only where they do)
    left over      a different length with no sharing at all: work that was done ahead, operands
                   that the task before left in a cache, kinds that matter only together

Causes and what is left over may be negative: a task may gain from another one. The identity holds
by construction. The isolated time is that of the task as the strategy runs it, so masks and
backends are no cause here. *removal* is what a task gains where one kind alone is taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import TYPE_CHECKING, Any

from c3sim.evaluation.reasons import reasons
from c3sim.machine.machine import SHARING
from c3sim.shown import Shown
from c3sim.simulation.run import Run, TaskRun
from c3sim.simulation.runs import isolated, run_once
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.strategies.best import Best

if TYPE_CHECKING:
    import pandas as pd

CAUSES = ("order", *SHARING, "dependencies")
SAME = 1e-9  # relative; times that differ by less are the same

NONE = frozenset[str]()
# Beside the kinds of sharing, of workloads whose ranks are not released by one event.
RANKS = "ranks"

# Kinds that are shared -> the run in which only they are.
Runs = Mapping[frozenset[str], Run]


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskExplanation:
    """*isolated_s* + the sum of *causes_s* + *left_over_s* = *time_s*.

    *removal_s*: what the task gains where one kind of sharing alone is taken away. *reasons*: why a
    cause is longer than the isolated time, and why much is left over.
    """

    isolated_s: float
    time_s: float
    causes_s: Mapping[str, float]
    left_over_s: float
    removal_s: Mapping[str, float]
    reasons: Sequence[str] = ()

    @property
    def slowdown(self) -> float:
        """1 + the sum of *causes* + *left_over*."""
        return self.time_s / self.isolated_s

    @property
    def causes(self) -> dict[str, float]:
        """Each cause as a fraction of the isolated time."""
        return {cause: seconds / self.isolated_s for cause, seconds in self.causes_s.items()}

    @property
    def left_over(self) -> float:
        """The interaction between causes, as a fraction of the isolated time."""
        return self.left_over_s / self.isolated_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation(Shown):
    """Every task of one run explained."""

    workload: str
    node: str
    strategy: str
    wall_s: float
    tasks: Mapping[str, TaskExplanation]
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        times = [f"{name} {task.slowdown:.3g}x" for name, task in self.tasks.items()]
        shares = {
            f"{cause} of {name}": share
            for name, task in self.tasks.items()
            for cause, share in task.causes.items()
        }
        more = f" and {len(times) - 6} more" if len(times) > 6 else ""
        largest = sorted(shares, key=lambda what: -abs(shares[what]))[:3]
        return (
            f"Explanation: {self.workload} on {self.node}, strategy {self.strategy}\n"
            f"slowdown of {', '.join(times[:6])}{more}\n"
            f"most by {', '.join(f'{what} {100 * shares[what]:+.3g} %' for what in largest)}"
        )

    def to_frame(self) -> pd.DataFrame:
        """A row per task and part of its time: isolated, each cause, left over, and together, which
        is their sum. *share*: of the isolated time.
        """
        import pandas as pd

        rows = []
        for name, task in self.tasks.items():
            parts = {"isolated": task.isolated_s, **task.causes_s, "left_over": task.left_over_s}
            for part, seconds in (parts | {"together": task.time_s}).items():
                rows.append((name, part, seconds, seconds / task.isolated_s))
        return pd.DataFrame(rows, columns=["task", "part", "seconds", "share"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data; ``causes`` and ``left_over`` are fractions of the isolated time."""
        tasks = {
            name: {
                "isolated_s": task.isolated_s,
                "time_s": task.time_s,
                "slowdown": task.slowdown,
                "causes": task.causes,
                "left_over": task.left_over,
                "causes_s": dict(task.causes_s),
                "left_over_s": task.left_over_s,
                "removal": {kind: gain / task.isolated_s for kind, gain in task.removal_s.items()},
                "reasons": list(task.reasons),
            }
            for name, task in self.tasks.items()
        }
        return {
            "workload": self.workload,
            "node": self.node,
            "strategy": self.strategy,
            "wall_s": self.wall_s,
            "tasks": tasks,
            "notes": list(self.notes),
        }


def explain_run(best: Best, node: Node, strategy: str) -> Explanation:
    """Explain the run of the *best* candidate of *strategy*."""
    workload = best.workload
    kinds = (*SHARING, RANKS) if workload.host.release != "event" else SHARING
    whole = frozenset(kinds)
    runs, matter = _runs(node, workload, kinds)
    tasks = {}
    for name in workload.tasks:
        alone, run = isolated(node, workload, name), best.run.task(name)
        causes = _causes(name, runs, kinds, matter, alone)
        left_over = run.end - alone.end - sum(causes.values())
        tasks[name] = TaskExplanation(
            isolated_s=alone.end,
            time_s=run.end,
            causes_s=causes,
            left_over_s=left_over,
            removal_s={kind: run.end - _end(runs[whole - {kind}], name) for kind in kinds},
            reasons=reasons(workload, name, best.run, alone.end, causes, left_over),
        )
    return Explanation(
        workload=workload.name, node=node.name, strategy=strategy, wall_s=best.run.end, tasks=tasks
    )


def _runs(node: Node, workload: Workload, kinds: Sequence[str]) -> tuple[Runs, tuple[str, ...]]:
    """The runs that a split needs, and the kinds of sharing that matter to some task: all kinds
    shared, none, each alone, all but one, every subset of those that matter.
    """
    in_step = workload.model_copy(
        update={"host": workload.host.model_copy(update={"release": "event", "jitter": 0.0})}
    )
    whole, sharing = frozenset(kinds), frozenset(SHARING)

    def run(shared: frozenset[str]) -> Run:
        together = RANKS in kinds and RANKS not in shared
        return run_once(node, in_step if together else workload, sharing - shared)

    runs = {shared: run(shared) for shared in (whole, NONE)}
    for kind in kinds:
        runs[whole - {kind}], runs[frozenset({kind})] = run(whole - {kind}), run(frozenset({kind}))
    matter = _matter(runs, workload, kinds)
    return runs | {shared: run(shared) for shared in _subsets(matter)}, matter


def _matter(runs: Runs, workload: Workload, kinds: Sequence[str]) -> tuple[str, ...]:
    """The *kinds* that change the time of some task."""
    whole = frozenset(kinds)
    return tuple(
        kind
        for kind in kinds
        if any(
            abs(_end(runs[one], name) - _end(runs[other], name)) > SAME * _end(runs[one], name)
            for one, other in ((whole, whole - {kind}), (NONE, frozenset({kind})))
            for name in workload.tasks
        )
    )


def _subsets(kinds: Sequence[str]) -> Iterator[frozenset[str]]:
    for count in range(len(kinds) + 1):
        yield from map(frozenset, combinations(kinds, count))


def _end(run: Run, name: str) -> float:
    return run.task(name).end


def _causes(
    name: str, runs: Runs, kinds: Sequence[str], matter: Sequence[str], alone: TaskRun
) -> dict[str, float]:
    """Seconds per cause of task *name*."""
    whole = frozenset(kinds)
    shares = dict.fromkeys(("order", *kinds, "dependencies"), 0.0)
    shares |= shapley(matter, lambda shared: _end(runs[shared], name))
    private = runs[whole - {"compute_units"}]
    waited = runs[whole].task(name).start - private.task(name).start
    shares["order"] = min(max(waited, 0.0), max(shares["compute_units"], 0.0))
    shares["compute_units"] -= shares["order"]
    shares["dependencies"] = runs[NONE].task(name).start - alone.start
    return shares


def shapley(kinds: Sequence[str], time: Callable[[frozenset[str]], float]) -> dict[str, float]:
    """The share of each of *kinds* in *time* of all of them, less that of none."""
    shares = dict.fromkeys(kinds, 0.0)
    for kind in kinds:
        for before in _subsets([each for each in kinds if each != kind]):
            weight = _weight(len(before), len(kinds))
            shares[kind] += weight * (time(before | {kind}) - time(before))
    return shares


def _weight(before: int, kinds: int) -> float:
    """The share of all orders of *kinds* in which a given set of *before* comes first, and then a
    given other kind.
    """
    return factorial(before) * factorial(kinds - before - 1) / factorial(kinds)

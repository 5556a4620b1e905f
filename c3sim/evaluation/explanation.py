"""The slowdown of each task, split by cause.

The run is repeated with kinds of sharing taken away (each task gets, say, the memory to itself).
With T(S) the time of a task where the kinds S are shared, n kinds in all::

    share of k = mean over the orders of all kinds of T(S + k) - T(S), S: the kinds before k
    T - T0 = sum over k of share of k + dependencies + queue + awaited tiles + left over

Two kinds that hide each other, or that are worse together than apart, share that effect evenly, so
nothing of it is left over (Shapley values). The mean is exact: every subset of the kinds that
matter is run once. A kind does not matter to a run where taking it away changes no task's time,
from the whole run and from the run that shares only it::

    compute_units  its share, less order
    order          the part of it before the first workgroup got room: queueing, launch
    dependencies   the later start behind other tasks with no sharing at all
    queue          the part of it that goes where each stream has a hardware queue of its own
    awaited_tiles  with no sharing at all: the longer run of a kernel whose tiles wait inside for
                   those of others
    ranks          that ranks begin by themselves, not in step (only where they do)
    left over      a different length with no sharing at all: work that was done ahead, operands
                   that the task before left in a cache, kinds that matter only together

Causes and what is left over may be negative: a task may gain from another one. The identity holds
by construction. The isolated time is that of the task as the strategy runs it, so masks and
backends are no cause here. *removal* is what a task gains where one kind alone is taken away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from c3sim.evaluation.limiter import Limit
from c3sim.evaluation.losses import loss_note, losses
from c3sim.evaluation.shares import NONE, Part, Progress, parts_of, runs_of_kinds, shapley
from c3sim.evaluation.strategies.table import Best
from c3sim.models.capacity import SHARING
from c3sim.result import Losses
from c3sim.result.shown import Shown
from c3sim.simulation.exposure import busy_and_exposed, classes_of
from c3sim.simulation.run import Run, TaskRun
from c3sim.simulation.runs import each_isolated, kinds_of, run_once
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload, parse_after, task_order

if TYPE_CHECKING:
    import pandas as pd


LARGE = 1.0  # of the isolated time: a cause above it says why
COUNTED = 0.001  # smallest share of bytes reported
SMALL = 0.05  # of the isolated time: what is left over above it says why


def reasons(
    workload: Workload,
    name: str,
    run: Run,
    isolated: float,
    causes: Mapping[str, float],
    left_over: float,
) -> tuple[str, ...]:
    """A sentence for each of *causes* [s] of task *name* that is large, for *left_over* [s] for
    waiting for other ranks, and for channels that a small message does not fill.
    """
    texts = []
    for cause, seconds in causes.items():
        if abs(seconds) > LARGE * isolated:
            long = f"{cause.replace('_', ' ')}, {seconds / isolated:.1f} times the isolated time"
            texts.append(f"{long}: {_why(workload, name, run, cause)}")
    if abs(left_over) > SMALL * isolated:
        texts.append(
            f"left over, {100 * left_over / isolated:+.0f} % of the isolated time: with nothing"
            " shared the task takes longer or shorter than alone, from what the tasks before it did"
            " ahead or left in caches, or from kinds of sharing that matter only together"
        )
    waited = run.task(name).waited
    if waited > COUNTED * isolated:
        texts.append(
            f"{waited * 1e3:.3g} ms of its time it waits for other ranks' channels, holding its own"
        )
    detail = run.task(name).detail
    if "of_channels" in detail:
        texts.append(
            f"{detail['channels']} of its library's {detail['of_channels']} channels carry it: as"
            " many as a message of this size fills, by the rule of the protocol (ring_parts)"
        )
    return (*texts, *_of_lines(run, name))


def _of_lines(run: Run, name: str) -> Iterator[str]:
    """Lines of the last-level cache by task, where somebody names a policy and it costs."""
    counts = run.lines.get(name)
    if counts is None:
        return
    if counts.row_hits < 1.0 - COUNTED:
        missed = f"{100 * (1 - counts.row_hits):.0f} % of the bytes it writes miss their DRAM row"
        yield f"{missed}: lines leave {counts.write_backs}"
    if counts.stalls > COUNTED:
        yield f"{100 * counts.stalls:.1f} % of its misses wait for a line of the last cache"


def _why(workload: Workload, name: str, run: Run, cause: str) -> str:
    """The other tasks that a large cause comes from."""
    if cause == "dependencies":
        return f"it follows {_listed(_predecessors(workload, name))}"
    if cause == AWAITED:
        awaited = [*workload.tasks[name].awaited]
        return f"its workgroups hold their places until tiles of {_listed(awaited)} end"
    if cause == QUEUE:
        return "the kernel in front of it in its hardware queue waits for what it depends on"
    task = run.task(name)
    others = {other: run.task(other) for other in workload.tasks if other != name}
    if cause == "order":
        before = [each for each, at in others.items() if at.start < task.start < at.end]
        before = before or [each for each, at in others.items() if at.start < task.start]
        return f"it gets no room until workgroups of {_listed(before)} end"
    beside = [each for each, at in others.items() if at.start < task.end and at.end > task.start]
    return f"it runs beside {_listed(beside)}, which may run for longer than it does alone"


def _predecessors(workload: Workload, name: str) -> list[str]:
    """The tasks that *name* waits for by ``after`` or in its stream, direct ones alone."""
    direct = [parse_after(entry).task for entry in workload.tasks[name].after]
    return list(dict.fromkeys([*direct, *_in_stream(workload, name)]))


def _in_stream(workload: Workload, name: str) -> Iterator[str]:
    stream = workload.tasks[name].stream
    order = task_order(workload)
    earlier = order[: order.index(name)] if stream is not None and name in order else ()
    same = [each for each in earlier if workload.tasks[each].stream == stream]
    yield from same[-1:]


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "other tasks"


CAUSES = ("order", *SHARING, "dependencies")
# Beside the kinds of sharing, of workloads whose ranks are not released by one event.
RANKS = "ranks"
# Of workloads whose streams share hardware queues, or whose kernels wait inside.
QUEUE, AWAITED = "queue", "awaited_tiles"

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
    waited_for_ranks_s: float = 0.0  # of a collective, part of time_s
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
    """Every task of one run explained, and *parts* of the whole: its wall time, the exposed
    communication, the time in which each operator class runs; *losses* where the overlap loses;
    *limits*: what binds each time (limiter.py), where that was asked for.
    """

    workload: str
    node: str
    strategy: str
    wall_s: float
    tasks: Mapping[str, TaskExplanation]
    parts: Mapping[str, Part] = field(default_factory=dict)
    losses: Losses | None = None
    limits: Mapping[str, Limit] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        if not self.tasks:
            return f"{self._head}\n" + "\n".join(
                f"{name} {1e3 * part.time_s:.4g} ms, of which sharing {1e3 * part.shared_s:+.3g} ms"
                for name, part in self.parts.items()
                if name in ("wall", "exposed")
            )
        times = [f"{name} {task.slowdown:.3g}x" for name, task in self.tasks.items()]
        shares = {
            f"{cause} of {name}": share
            for name, task in self.tasks.items()
            for cause, share in task.causes.items()
        }
        more = f" and {len(times) - 6} more" if len(times) > 6 else ""
        largest = sorted(shares, key=lambda what: -abs(shares[what]))[:3]
        return (
            f"{self._head}\nslowdown of {', '.join(times[:6])}{more}\n"
            f"most by {', '.join(f'{what} {100 * shares[what]:+.3g} %' for what in largest)}"
        )

    @property
    def _head(self) -> str:
        return f"Explanation: {self.workload} on {self.node}, strategy {self.strategy}"

    def to_frame(self) -> pd.DataFrame:
        """A row per task and part of its time: isolated, each cause, left over, and together, which
        is their sum. *share*: of the isolated time. Of an iteration :meth:`parts_frame`.
        """
        import pandas as pd

        if not self.tasks:
            return self.parts_frame()
        rows = []
        for name, task in self.tasks.items():
            parts = {"isolated": task.isolated_s, **task.causes_s, "left_over": task.left_over_s}
            for part, seconds in (parts | {"together": task.time_s}).items():
                rows.append((name, part, seconds, seconds / task.isolated_s))
        return pd.DataFrame(rows, columns=["task", "part", "seconds", "share"])

    def parts_frame(self) -> pd.DataFrame:
        """A row per part of the whole (wall time, exposed communication, each operator class) and
        what it is made of, in seconds: nothing shared, each kind of sharing, and together.
        """
        import pandas as pd

        rows = []
        for name, part in self.parts.items():
            of = {"nothing_shared": part.unshared_s, **part.causes_s, "together": part.time_s}
            rows += [(name, what, seconds) for what, seconds in of.items()]
        return pd.DataFrame(rows, columns=["part", "what", "seconds"])

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
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
            "losses": None if self.losses is None else asdict(self.losses),
            "limits": {name: limit.to_dict() for name, limit in self.limits.items()},
            "notes": list(self.notes),
        }


def explain_run(
    best: Best,
    node: Node,
    strategy: str,
    progress: Progress | None = None,
    *,
    pair: Workload | None = None,
) -> Explanation:
    """Explain the run of the *best* candidate of *strategy*; *progress* hears of its runs. *pair*:
    whole, what it has in pieces (losses.py).
    """
    workload = best.workload
    kinds = (*kinds_of(workload), *[RANKS] * (workload.host.release != "event"))
    whole = frozenset(kinds)
    runs, matter = _runs(node, workload, kinds, progress)
    free = _without_waits(node, _in_step(workload), frozenset(kinds) - {RANKS})
    tasks = {}
    for name, alone in each_isolated(node, workload).items():
        run = best.run.task(name)
        causes = _causes(name, runs, free, kinds, matter, alone)
        left_over = run.end - alone.end - sum(causes.values())
        tasks[name] = TaskExplanation(
            isolated_s=alone.end,
            time_s=run.end,
            causes_s=causes,
            left_over_s=left_over,
            removal_s={kind: run.end - _end(runs[whole - {kind}], name) for kind in kinds},
            waited_for_ranks_s=run.waited,
            reasons=reasons(workload, name, best.run, alone.end, causes, left_over),
        )
    lost = _lost(node, workload, best.run, pair)
    return Explanation(
        workload=workload.name,
        node=node.name,
        strategy=strategy,
        wall_s=best.run.end,
        tasks=tasks,
        parts=parts_of(
            {shared: figures_of_run(run, workload) for shared, run in runs.items()}, kinds, matter
        ),
        losses=lost,
        notes=tuple(filter(None, [loss_note(lost)])),
    )


def _lost(node: Node, workload: Workload, run: Run, pair: Workload | None) -> Losses | None:
    serial = sum(each.end for each in each_isolated(node, workload).values())
    return losses(node, workload, run.end, pair=pair, serial=serial)


def figures_of_run(run: Run, workload: Workload) -> dict[str, float]:
    """Seconds of the whole *run*, of exposed communication, and of each operator class."""
    classes = busy_and_exposed(run, classes_of(workload))
    busy = {name: busy for name, (busy, _) in classes.items() if busy}
    return {"wall": run.end, "exposed": run.exposure.exposed, **busy}


def _runs(
    node: Node, workload: Workload, kinds: Sequence[str], progress: Progress | None
) -> tuple[Runs, tuple[str, ...]]:
    """The runs that a split needs, and the kinds of sharing that matter to some task."""
    in_step = _in_step(workload)
    sharing = frozenset(kinds) - {RANKS}

    def run(shared: frozenset[str]) -> Run:
        together = RANKS in kinds and RANKS not in shared
        return run_once(node, in_step if together else workload, sharing - shared)

    def ends(one: Run) -> dict[str, float]:
        return {name: _end(one, name) for name in workload.tasks}

    return runs_of_kinds(run, ends, kinds, progress)


def _in_step(workload: Workload) -> Workload:
    return _with_host(workload, release="event", jitter=0.0)


def _with_host(workload: Workload, **update: object) -> Workload:
    """*workload* with other fields of its host."""
    return workload.changed(host=workload.host.changed(**update))


def _without_waits(node: Node, workload: Workload, private: frozenset[str]) -> dict[str, Run]:
    """Runs that share nothing: with a queue for each stream, where streams share queues, and
    without waits inside kernels, where there are any.
    """
    found = {}
    if workload.host.queues is not None:
        found[QUEUE] = run_once(node, _with_host(workload, queues=None), private)
    if any(task.awaited for task in workload.tasks.values()):
        tasks = {
            name: task.changed(awaits=()) if task.awaited else task
            for name, task in workload.tasks.items()
        }
        found[AWAITED] = run_once(node, workload.changed(tasks=tasks), private)
    return found


def _waits(
    name: str, run: TaskRun, free: Mapping[str, Run], causes: Mapping[str, float]
) -> dict[str, float]:
    """Seconds that task *name* waits in its queue, of those behind others in *causes*, and inside;
    *run*: it with nothing shared, *free*: without these waits.
    """
    found = {}
    if QUEUE in free:
        found[QUEUE] = run.start - free[QUEUE].task(name).start
        found["dependencies"] = causes["dependencies"] - found[QUEUE]
    if AWAITED in free:
        own = free[AWAITED].task(name)
        found[AWAITED] = (run.end - run.start) - (own.end - own.start)
    return found


def _end(run: Run, name: str) -> float:
    return run.task(name).end


def _causes(
    name: str,
    runs: Runs,
    free: Mapping[str, Run],
    kinds: Sequence[str],
    matter: Sequence[str],
    alone: TaskRun,
) -> dict[str, float]:
    """Seconds per cause of task *name*; *free*: runs without its waits."""
    whole = frozenset(kinds)
    shares = dict.fromkeys(("order", *kinds, "dependencies"), 0.0)
    shares |= shapley(matter, lambda shared: _end(runs[shared], name))
    private = runs[whole - {"compute_units"}]
    waited = runs[whole].task(name).start - private.task(name).start
    shares["order"] = min(max(waited, 0.0), max(shares["compute_units"], 0.0))
    shares["compute_units"] -= shares["order"]
    shares["dependencies"] = runs[NONE].task(name).start - alone.start
    return shares | _waits(name, runs[NONE].task(name), free, shares)

"""The runs of one number of layers, and the numbers of them that grow linearly with the layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf
from typing import Any, Literal, NamedTuple

from c3sim.iterations.build import Built
from c3sim.iterations.builder import COMMUNICATION
from c3sim.iterations.shares import adding_up, parts_of_step, shares_of_groups
from c3sim.simulation.exposure import CLASSES, busy_and_exposed, compute_busy
from c3sim.simulation.run import Clocks, Run, Settled
from c3sim.simulation.runs import run_once
from c3sim.simulation.simulate import simulate
from c3sim.spec.energies import IDLE
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload

PIPELINE = f"{COMMUNICATION}-pipeline"  # stream of copies between stages

Change = Callable[[Workload], Workload]
#: Of computation and communication, each alone: run, time that the first leaves idle, or nothing.
Sides = Literal["run", "idle", "none"]
#: Of an iteration: all of it, or what computes or communicates by itself.
Side = Literal["whole", "compute", "communication"]
#: A GPU in the middle of a loop of one side; None: no loop.
InLoop = Callable[[Side], Settled | None]


class Like(NamedTuple):
    """Parts that runs alike share: time [s] that computation alone leaves *idle*, *clocks*."""

    idle: float
    clocks: Clocks


@dataclass(frozen=True, slots=True)
class Numbers:
    """Figures of a run that are linear in the number of layers."""

    wall: float = 0.0
    compute: float = 0.0
    communication: float = 0.0
    stretched: float = 0.0
    waited: float = 0.0
    host: float = 0.0
    forward: float = 0.0
    """time of *wall* until the forward pass has ended"""
    weights: float = 0.0
    """kernels of gradients of weights, one after the other"""
    busy: dict[str, float] = field(default_factory=dict)
    exposed: dict[str, float] = field(default_factory=dict)
    account: dict[str, float] = field(default_factory=dict)
    once: dict[str, float] = field(default_factory=dict)
    """part of *account* that optimizer kernels take"""
    parts: dict[str, float] = field(default_factory=dict)
    """parts of *wall* (shares.py)"""
    group_busy: dict[str, float] = field(default_factory=dict)
    """time of communication, by the stream of its group of GPUs"""
    group_exposed: dict[str, float] = field(default_factory=dict)

    def at(self, other: Numbers, here: int, there: int, layers: int) -> Numbers:
        """On the line through this one (*here* layers) and *other* (*there*), at *layers*."""
        share = (layers - here) / (there - here)

        def line(name: str, least: float = 0.0) -> float:
            low, high = getattr(self, name), getattr(other, name)
            return max(least, float(low + share * (high - low)))

        def lines(name: str) -> dict[str, float]:
            low, high = getattr(self, name), getattr(other, name)
            return {
                key: max(0.0, low.get(key, 0.0) + share * (high[key] - low.get(key, 0.0)))
                for key in high
            }

        wall = line("wall")
        return Numbers(
            wall=wall,
            compute=line("compute"),
            communication=line("communication"),
            stretched=line("stretched", -inf),  # operators may run quicker than without
            waited=line("waited"),
            host=line("host"),
            forward=line("forward"),
            weights=line("weights"),
            busy=lines("busy"),
            exposed=lines("exposed"),
            account=lines("account"),
            once=lines("once"),
            parts=adding_up(lines("parts"), wall),
            group_busy=lines("group_busy"),
            group_exposed=lines("group_exposed"),
        )


def added(terms: Sequence[tuple[Numbers, float]]) -> Numbers:
    """The sum of so many times each of the figures."""
    total: dict[str, Any] = {}
    for each in fields(Numbers):
        values = [(getattr(numbers, each.name), times) for numbers, times in terms]
        if each.type == "float":
            total[each.name] = sum(value * times for value, times in values)
            continue
        entries: dict[str, float] = {}
        for value, times in values:
            for name, amount in value.items():
                entries[name] = entries.get(name, 0.0) + amount * times
        total[each.name] = entries
    return Numbers(**total)


@dataclass(frozen=True, slots=True)
class Runs:
    """The run of one number of layers, and those without either side; *workload* as it was run,
    on GPUs that have *settled*.
    """

    built: Built
    workload: Workload
    settled: Settled | None
    whole: Run
    compute: Run
    communication: Run | None
    known: dict[frozenset[str], Numbers] = field(default_factory=dict, compare=False)
    """figures by kinds of sharing that are taken away, worked out before"""
    given: float | None = None
    """*idle* of an equal one elsewhere, for which neither side was run"""
    gaps: Run | None = None
    """computation alone, for *idle* alone"""

    @classmethod
    def of(
        cls,
        node: Node,
        built: Built,
        workload: Workload,
        in_loop: InLoop,
        *,
        called: bool,
        trace: bool,
        sides: Sides = "run",
        like: Like | None = None,
    ) -> Runs:
        """*workload*: what runs of *built*. *in_loop*: GPUs before the iteration. *called*: see
        :func:`side_of`. Without *sides* nothing is run but the whole: its wall time is right, what
        compares it with either side is not, but for waiting where :attr:`idle` is asked for or
        known, of a run *like* this one, whose energy is not followed either.
        """
        settled = in_loop("whole")
        clocks: Clocks = {} if like is None else like.clocks
        if trace:
            whole = simulate(node, workload, energy=True, trace=True, settled=settled)
        else:
            whole = run_once(node, workload, energy=like is None, settled=settled, clocks=clocks)

        if not exchanged(built) or sides == "none" or like is not None:
            idle = None if like is None else like.idle
            return cls(built, workload, settled, whole, whole, None, given=idle)
        computing, communicating = (
            side_of(side, built, workload, called=called) for side in ("compute", "communication")
        )
        if sides == "idle":
            on = node if workload.host.launch == "eager" else at_once(node)
            gaps = run_once(on, computing, energy=False, settled=settled)
            return cls(built, workload, settled, whole, whole, None, gaps=gaps)
        return cls(
            built,
            workload,
            settled,
            whole,
            run_once(node, computing, energy=False, settled=in_loop("compute")),
            run_once(node, communicating, energy=False, settled=in_loop("communication")),
        )

    @property
    def numbers(self) -> Numbers:
        classes = self.built.classes
        shares = busy_and_exposed(self.whole, classes)
        told = self.whole.accounts is not None
        account = {n: j for n, j in self.whole.account.items() if n != IDLE} if told else {}
        busy, alone = compute_busy(self.whole, classes), compute_busy(self.compute, classes)
        streams = {name: task.stream or "" for name, task in self.workload.tasks.items()}
        groups = shares_of_groups(self.whole, classes, streams)
        optimizer = [name for name, kind in classes.items() if kind == "optimizer"]
        once: dict[str, float] = {}
        for task in optimizer if told else ():
            for name, joules in self.whole.account_of(task).items():
                once[name] = once.get(name, 0.0) + joules
        return Numbers(
            wall=self.whole.end,
            compute=self.compute.end,
            communication=0.0 if self.communication is None else self.communication.end,
            stretched=busy - alone,
            waited=self._waited(self.whole),
            host=self.built.host,
            forward=forward_end(self.built, self.whole),
            weights=weights_busy(self.built, self.whole),
            busy={name: shares[name][0] for name in CLASSES},
            exposed={name: shares[name][1] for name in CLASSES},
            account=account,
            once=once,
            parts=parts_of_step(self.whole, classes),
            group_busy=groups[0],
            group_exposed=groups[1],
        )

    @property
    def idle(self) -> float:
        """Time [s] that computation alone leaves idle: launches and completions of kernels."""
        if self.given is not None:
            return self.given
        alone = self.compute if self.gaps is None else self.gaps
        return alone.end - compute_busy(alone, self.built.classes)

    def _waited(self, run: Run) -> float:
        """Time [s] of *run* in which communication is exposed, but for what computation alone
        leaves idle: that is no wait for communication.
        """
        busy = compute_busy(run, self.built.classes)
        return max(0.0, min(run.exposure.exposed, run.end - busy - self.idle))

    @property
    def like(self) -> Like:
        """Times that hold for the same run on a node with other rates."""
        return Like(self.idle, self.whole.clocks)

    def sharing(self, node: Node, private: frozenset[str]) -> Numbers:
        """Wall time, communication waited for, and busy classes where tasks have the kinds of
        sharing *private* to themselves.
        """
        if private not in self.known:
            run = self.run(node, private)
            self.known[private] = replace(numbers_of(self.built, run), waited=self._waited(run))
        return self.known[private]

    def run(self, node: Node, private: frozenset[str]) -> Run:
        """The run of :meth:`sharing`."""
        if not private:
            return self.whole
        how: dict[str, Any] = {"energy": False, "settled": self.settled}
        return run_once(node, self.workload, private, clocks=self.whole.clocks, **how)


def exchanged(built: Built) -> frozenset[str]:
    """Tasks that communicate."""
    return frozenset(n for n, kind in built.classes.items() if kind == "communication")


def side_of(side: Side, built: Built, workload: Workload, *, called: bool) -> Workload:
    """What runs of *workload*, which stands for *built*, on one *side*. *called*: the host is in
    the loop where collectives run alone, which can be short.
    """
    if side == "compute":
        return without(workload, exchanged(built))
    if side == "communication":
        return one_after_the_other(workload, exchanged(built), eager=called)
    return workload


def at_once(node: Node) -> Node:
    """*node* whose clock follows power at once."""
    clock = node.gpu.clock.model_copy(update={"response": None})
    return node.model_copy(update={"gpu": node.gpu.model_copy(update={"clock": clock})})


def of_copy(node: Node, workload: Workload, private: frozenset[str] = frozenset()) -> Numbers:
    """Figures of nothing but a copy, which its operators wait for."""
    run = run_once(node, workload, private)
    end, own = run.end, {COMMUNICATION: run.end}
    account = {name: joules for name, joules in run.account.items() if name != IDLE}
    every = dict.fromkeys(CLASSES, 0.0)
    return Numbers(
        wall=end,
        communication=end,
        waited=end,
        busy=every | own,
        exposed=every | own,
        account=account,
        parts=own,
        group_busy={PIPELINE: end},
        group_exposed={PIPELINE: end},
    )


def numbers_of(built: Built, run: Run) -> Numbers:
    """Figures of *run*, of both sides: wall time, host, busy and exposed classes."""
    shares = busy_and_exposed(run, built.classes)
    return Numbers(
        wall=run.end,
        host=built.host,
        forward=forward_end(built, run),
        weights=weights_busy(built, run),
        parts=parts_of_step(run, built.classes),
        busy={name: shares[name][0] for name in CLASSES},
        exposed={name: shares[name][1] for name in CLASSES},
    )


def forward_end(built: Built, run: Run) -> float:
    """Seconds until the forward pass has ended on every GPU."""
    return max((t.end for (name, _), t in run.times.items() if name == built.turned), default=0.0)


def weights_busy(built: Built, run: Run) -> float:
    """Seconds of kernels that make gradients of weights, on the first GPU."""
    times = run.times
    return sum(times[name, 0].end - times[name, 0].start for name in built.weights)


def launched(workload: Workload, *, eager: bool) -> Workload:
    launch = "eager" if eager else "graph"
    return workload.model_copy(update={"host": workload.host.model_copy(update={"launch": launch})})


def one_after_the_other(workload: Workload, names: frozenset[str], *, eager: bool) -> Workload:
    """Nothing but the collectives *names* on one stream: calls of their library, with nothing in
    between.
    """
    alone = without(launched(workload, eager=eager), workload.tasks.keys() - names)
    change = {"launch_time": None, "stream": COMMUNICATION}
    tasks = {name: each.model_copy(update=change) for name, each in alone.tasks.items()}
    return alone.model_copy(update={"tasks": tasks})


def without(workload: Workload, names: frozenset[str] | set[str]) -> Workload:
    """*workload* less the tasks *names*, and streams of theirs alone: who waited for one waits for
    what that waited for.
    """
    waits: dict[str, tuple[str, ...]] = {}
    tasks = {}
    for name, task in workload.tasks.items():
        after = tuple(
            dict.fromkeys(earlier for entry in task.after for earlier in waits.get(entry, (entry,)))
        )
        if name in names:
            waits[name] = after
        else:
            tasks[name] = task.model_copy(update={"after": after})
    order = tuple(name for name in workload.host.order if name not in names)
    used = {task.stream for task in tasks.values()}
    changes: dict[str, object] = {
        "tasks": tasks,
        "host": workload.host.model_copy(update={"order": order}),
        "streams": {name: each for name, each in workload.streams.items() if name in used},
    }
    return workload.model_copy(update=changes)

"""Loops without a barrier, on GPUs that differ: how far ranks drift apart, turn by turn.

A rank that ended its turn begins the next one. Ranks begin a loop apart, GPUs of a node differ in
speed, and a GPU from turn to turn (``gpu.variation``), so the quick ones come first and their
collectives wait for the last rank's, with channels that hold compute units. The collective ends on
all ranks at once; where that is behind all else it brings them together again. With

    b_r     when rank r begins its turn
    w_r     how long it waits: max over ranks of b - b_r
    E(w)    end of a task on a rank that waits w, from its begin
    f_r     (1 + speed x normal of the rank) (1 + jitter x normal of the turn)

a task that computes ends at E(w_r) + (f_r - 1) x its length, a collective at E(w_r), and the rank
begins its next turn when the last of its tasks has ended. E is simulated once, with classes of
ranks that wait 0 to as long as still matters: until the collective, waited for, ends last. Between
classes it is linear; past them collectives end as much later as they wait longer. In a share of the
turns (*stalls*, per rank) the collective begins *stall_time* late.

The result are medians over turns and nodes. Where the host releases the ranks, they are over ranks
too: what one rank, whichever it is, sees. Where each GPU has an event of its own, they are of the
rank on which a task ends last, as without drift. There, kernels whose order is open decide which
ranks are late (simulation/draws.py), and these loops are left to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from c3sim.processes.plan import Arrival, Arrivals, Plan
from c3sim.simulation.draws import Draw, weighted_quantile
from c3sim.simulation.run import Exposure, Outcome, Run, TaskRun
from c3sim.spec.parts import Variation

NODES, TURNS = 8, 60  # loops that are drawn, and turns of each at most
CLASSES = 6  # ranks that are simulated beside each other
FURTHER = 1.1  # of the longest wait that matters in step: tasks take longer beside one that waits
WAYS = 20  # outcomes that are told of all turns
SEED = 1
Response = Sequence[TaskRun]  # of one task, by class


def drifted(plan: Plan, step: Run, begin: Callable[[Draw], Run]) -> Run | None:
    """The turns of a loop; *step*: one with all ranks in step, but for jitter. None: nothing drives
    ranks apart, nobody waits for others, or all end together.
    """
    host, variation = plan.scene.workload.host, plan.scene.node.gpu.variation
    if variation is None or host.loop is None or host.loop.barrier or host.release == "event":
        return None
    if any(task.on_first_gpu for task in plan.tasks.values()):
        return None
    slowest = host.release == "per_rank"
    if host.jitter:
        step = begin(Draw(1.0, Arrivals()))
    sides = {name: plan[name].side for name in {task for task, _ in step.times}}
    slack = step.end - max(
        (step.task(name).end for name, side in sides.items() if side == "communication"),
        default=step.end,
    )
    if slack <= 0.0:
        return None
    waits = [FURTHER * slack * place / (CLASSES - 1) for place in range(CLASSES)]
    seen = _responses(waits, plan.scene.node.ranks, begin)
    if not any(run.waited for runs in seen.values() for run in runs):
        return None
    turns = _Loops(plan, seen, waits, host.jitter, variation)
    turns.go(min(TURNS, host.loop.iterations))
    return turns.medians(step, slowest)


def _responses(
    waits: Sequence[float], ranks: int, begin: Callable[[Draw], Run]
) -> dict[str, Response]:
    """The run of each task on ranks that wait 0 to the last of *waits*: beside each other, or, of
    fewer *ranks* than that, each beside one that waits for nobody.
    """

    def times(late: Sequence[float]) -> Mapping[tuple[str, int], TaskRun]:
        return begin(Draw(1.0, Arrivals(tuple(Arrival(each) for each in late)))).times

    if ranks >= len(waits):
        found = times([waits[-1] - wait for wait in waits])
        return {name: [found[name, gpu] for gpu in range(len(waits))] for name, _ in found}
    pairs = [times([0.0, wait]) for wait in waits]
    return {name: [found[name, 0] for found in pairs] for name, _ in pairs[0]}


class _Turn(NamedTuple):
    """A turn of one rank: its end [s], and what it sees of each task."""

    end: float
    times: Mapping[str, TaskRun]


class _Loops:
    """Loops on nodes that are drawn, and what their ranks see of each turn."""

    def __init__(
        self,
        plan: Plan,
        seen: Mapping[str, Response],
        waits: Sequence[float],
        late: float,
        variation: Variation,
    ):
        self.ranks, self.late, self.variation = plan.scene.node.ranks, late, variation
        self.waits, self.step = waits, waits[1]
        self.tasks = seen
        self.computes = {name: plan[name].side == "compute" for name in self.tasks}
        self.random = Random(SEED)
        self.seen: list[list[list[_Turn]]] = []  # by node, rank and turn
        self.turns: list[tuple[float, tuple[float, ...]]] = []  # last end, begins of ranks

    def go(self, turns: int) -> None:
        """Go round *turns* times on each node."""
        random, variation = self.random, self.variation
        for _ in range(NODES):
            speeds = [1.0 + random.gauss(0.0, variation.speed) for _ in range(self.ranks)]
            begins = [variation.start and random.uniform(0.0, variation.start) for _ in speeds]
            rounds = []
            for _ in range(turns):
                rounds.append(self.turn(begins, speeds))
                begins = [begin + seen.end for begin, seen in zip(begins, rounds[-1], strict=True)]
            self.seen.append([list(of_rank) for of_rank in zip(*rounds, strict=True)])

    def turn(self, begins: Sequence[float], speeds: Sequence[float]) -> list[_Turn]:
        """A turn of every rank."""
        random, variation = self.random, self.variation
        launched = [begin + random.uniform(0.0, self.late) for begin in begins]
        last, first = max(launched), min(begins)
        if random.random() < self.ranks * variation.stalls:
            last += variation.stall_time
        seen = []
        for launch, speed in zip(launched, speeds, strict=True):
            factor = speed * (1.0 + random.gauss(0.0, variation.jitter))
            seen.append(self._see(last - launch, factor))
        ends = [begin + rank.end for begin, rank in zip(begins, seen, strict=True)]
        self.turns.append((max(ends) - first, tuple(begin - first for begin in begins)))
        return seen

    def _see(self, wait: float, factor: float) -> _Turn:
        """The turn of a rank that waits *wait*."""
        place = min(int(wait / self.step), len(self.waits) - 2)
        share = min(1.0, wait / self.step - place)
        further = max(0.0, wait - self.waits[-1])
        times = {}
        for name, runs in self.tasks.items():
            before, behind = runs[place], runs[place + 1]
            start = before.start + share * (behind.start - before.start)
            end = before.end + share * (behind.end - before.end)
            waited = before.waited + share * (behind.waited - before.waited)
            if further and behind.end - before.end > 0.5 * self.step:
                end += further
                waited += further if waited else 0.0
            if self.computes[name]:
                end += (factor - 1.0) * (end - start)
            times[name] = replace(before, start=start, end=end, waited=waited)
        return _Turn(max(run.end for run in times.values()), times)

    def medians(self, step: Run, slowest: bool) -> Run:
        """*step* with medians over turns and nodes, of the *slowest* rank or of any."""
        ranks = [rank for node in self.seen for rank in node]
        told = self.seen if slowest else [[[turn for rank in ranks for turn in rank]]]
        end = _median([max(_median([turn.end for turn in rank]) for rank in node) for node in told])
        times = {(name, 0): _told(told, name) for name in self.tasks}
        longer = end / step.end
        return replace(
            step,
            times=times,
            begins={0: 0.0},
            end=end,
            idle=step.idle * longer,
            exposure=Exposure(step.exposure.exposed, step.exposure.computing * longer),
            outcomes=tuple(self._ways()),
            drift=True,
        )

    def _ways(self) -> list[Outcome]:
        """Turns at even steps of the order of their ends, with the ranks' begins."""
        order = sorted(range(len(self.turns)), key=lambda turn: self.turns[turn][0])
        chosen = [order[int((way + 0.5) * len(order) / WAYS)] for way in range(WAYS)]
        ends = sorted(turn.end for node in self.seen for rank in node for turn in rank)
        return [
            Outcome(
                probability=1.0 / WAYS,
                end=ends[int((way + 0.5) * len(ends) / WAYS)],
                arrivals=Arrivals(tuple(Arrival(late) for late in self.turns[turn][1])),
            )
            for way, turn in enumerate(chosen)
        ]


def _told(nodes: Sequence[Sequence[Sequence[_Turn]]], name: str) -> TaskRun:
    """A task on the rank of each node on which it ends last, in the median over *nodes*."""
    slowest = []
    for node in nodes:
        ranks = [_median_task([turn.times[name] for turn in rank]) for rank in node]
        slowest.append(max(ranks, key=lambda run: run.end))
    return _median_task(slowest)


def _median(values: Sequence[float]) -> float:
    return weighted_quantile(values, [1.0] * len(values), 0.5)


def _median_task(runs: Sequence[TaskRun]) -> TaskRun:
    return replace(
        runs[0],
        start=_median([run.start for run in runs]),
        end=_median([run.end for run in runs]),
        waited=_median([run.waited for run in runs]),
    )

"""Loops without a barrier, on GPUs that differ: how far ranks drift apart, turn by turn.

A rank that ended its turn begins the next one. GPUs of a node differ in speed, and a GPU from turn
to turn (``gpu.variation``), so the quick ones come first and their collectives wait for the last
rank's, with channels that hold compute units. The collective ends on all ranks at once; where that
is behind all else it brings them together again. With

    b_r     when rank r begins its turn
    w_r     how long it waits: max over ranks of b - b_r
    E(w)    end of a task on a rank that waits w, from its begin
    f_r     (1 + speed x normal of the rank) (1 + jitter x normal of the turn)

a task that computes ends at E(w_r) + (f_r - 1) x its length, a collective at E(w_r), and the rank
begins its next turn when the last of its tasks has ended. E is simulated once, with classes of
ranks that wait 0 to as long as still matters: until the collective, waited for, ends last. Between
classes it is linear; past them collectives end as much later as they wait longer. In a share of the
turns (*stalls*, per rank) the collective begins *stall_time* late.

The result are medians over ranks and turns of loops that begin in step: what one rank, whichever it
is, sees of a loop on a node, whichever it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

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
    ranks apart, or all end together.
    """
    host, variation = plan.scene.workload.host, plan.scene.node.gpu.variation
    if variation is None or host.loop is None or host.loop.barrier or host.release == "event":
        return None
    if any(task.on_first_gpu for task in plan.tasks.values()):
        return None
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
    classes = tuple(Arrival(waits[-1] - wait) for wait in waits)
    run = begin(Draw(1.0, Arrivals(classes)))
    turns = _Loops(plan, run, waits, host.jitter, variation)
    turns.go(min(TURNS, host.loop.iterations))
    return turns.medians(step)


class _Loops:
    """Loops on nodes that are drawn, and what their ranks see of each turn."""

    def __init__(
        self, plan: Plan, run: Run, waits: Sequence[float], late: float, variation: Variation
    ):
        self.ranks, self.late, self.variation = plan.scene.node.ranks, late, variation
        self.waits, self.step = waits, waits[1]
        self.tasks: dict[str, Response] = {
            name: [run.times[name, gpu] for gpu in range(len(waits))]
            for name in dict.fromkeys(task for task, _ in run.times)
        }
        self.computes = {name: plan[name].side == "compute" for name in self.tasks}
        self.random = Random(SEED)
        self.seen: dict[str, list[TaskRun]] = {name: [] for name in self.tasks}
        self.ends: list[float] = []
        self.turns: list[tuple[float, tuple[float, ...]]] = []  # last end, begins of ranks

    def go(self, turns: int) -> None:
        """Go round *turns* times on each node."""
        normal, variation = self.random.gauss, self.variation
        for _ in range(NODES):
            speeds = [1.0 + normal(0.0, variation.speed) for _ in range(self.ranks)]
            begins = [0.0] * self.ranks
            for _ in range(turns):
                begins = self._turn(begins, speeds)

    def _turn(self, begins: Sequence[float], speeds: Sequence[float]) -> list[float]:
        """Begins of the next turn."""
        random, variation = self.random, self.variation
        launched = [begin + random.uniform(0.0, self.late) for begin in begins]
        last, first = max(launched), min(begins)
        if random.random() < self.ranks * variation.stalls:
            last += variation.stall_time
        ends = []
        for begin, launch, speed in zip(begins, launched, speeds, strict=True):
            factor = speed * (1.0 + random.gauss(0.0, variation.jitter))
            ends.append(begin + self._see(last - launch, factor))
        self.turns.append((max(ends) - first, tuple(begin - first for begin in begins)))
        return ends

    def _see(self, wait: float, factor: float) -> float:
        """Note what a rank sees that waits *wait*; returns the end of its turn."""
        place = min(int(wait / self.step), len(self.waits) - 2)
        share = min(1.0, wait / self.step - place)
        further = max(0.0, wait - self.waits[-1])
        turn = 0.0
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
            seen = replace(before, start=start, end=end, waited=waited)
            self.seen[name].append(seen)
            turn = max(turn, end)
        self.ends.append(turn)
        return turn

    def medians(self, step: Run) -> Run:
        """*step* with the medians of what was seen."""
        end = _median(self.ends)
        times = {(name, 0): _median_task(runs) for name, runs in self.seen.items()}
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
        ends = sorted(self.ends)
        return [
            Outcome(
                probability=1.0 / WAYS,
                end=ends[int((way + 0.5) * len(ends) / WAYS)],
                arrivals=Arrivals(tuple(Arrival(late) for late in self.turns[turn][1])),
            )
            for way, turn in enumerate(chosen)
        ]


def _median(values: Sequence[float]) -> float:
    return weighted_quantile(values, [1.0] * len(values), 0.5)


def _median_task(runs: Sequence[TaskRun]) -> TaskRun:
    return replace(
        runs[0],
        start=_median([run.start for run in runs]),
        end=_median([run.end for run in runs]),
        waited=_median([run.waited for run in runs]),
    )

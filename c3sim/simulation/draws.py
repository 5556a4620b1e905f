"""Ranks that are not in step: the ways in which they may begin, and how likely each is.

Where every GPU has an event of its own (``host.release: per_rank``), the streams that wait for it
see it at times of their own. Which kernel comes first on a GPU is then drawn, with equal chances,
whatever the launch order and the priority (``gpu.kernels.release_order: any``). Launch order
decides on GPUs that serve their queues in order, and where processes launch kernel by kernel.

What a run depends on is which orders occur among the ranks, not on how many: a collective goes on
once the last rank has it. With orders 1..k, equally likely, and n ranks:

    P(only order i) = k^-n        P(both of two orders) = 1 - 2^(1-n)

More than two orders are sampled. A rank begins up to ``host.jitter`` late, evenly distributed. How
far the last of n is behind the first is a distribution too, in parts r of the jitter:

    P(at most r) = n r^(n-1) - (n - 1) r^n      mean (n - 1) / (n + 1)

Its quantiles are ways to begin, equally likely, each with ranks at times of their own in between.

Loops without a barrier: a rank that ended its turn late begins the next one late.

A collective that ends last brings all ranks together. Where a GEMM ends last, ranks on which the
collective came first are behind the others: its channels held compute units while they waited for
the others' (by *D* s, from the turn in which both orders occur). So a turn begins with ranks
together, or with some of them late by *D*, and leaves them in one of these two states, the nearer
one. What is asked for is the stationary mixture of the two:

    share late = P(together -> late) / (P(together -> late) + P(late -> together))

The result is the median over all ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from random import Random

from c3sim.processes.plan import Arrival, Arrivals, Plan
from c3sim.simulation.run import Exposure, Outcome, Run, TaskRun

MOST = 8  # draws that are simulated
SAMPLES = 512  # of three streams and more
SKEWS = 4  # distances of the first and the last rank
LATENESSES = 4  # of ranks in one draw: GPUs are dealt to them in turn
SEED = 1
Order = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """One way to begin."""

    probability: float
    arrivals: Arrivals


def draws(plan: Plan) -> list[Draw]:
    """The most likely ways in which the ranks may begin, at most MOST; probabilities sum to 1."""
    node, host = plan.scene.node, plan.scene.workload.host
    kernels = node.gpu.kernels
    if host.release == "event":
        return [Draw(1.0, Arrivals())]
    racing = _racing(plan) if host.release == "per_rank" else ()
    if kernels.release_order == "launch" or len(racing) < 2:
        racing = ()
    ranks = node.ranks
    made: list[Draw] = []
    for orders, probability in _sets_of_orders(racing, ranks):
        ways = _classes(orders, host.jitter, ranks)
        made += [
            Draw(probability / len(ways), Arrivals(way, kernels.release_spread)) for way in ways
        ]
    kept = sorted(made, key=lambda draw: -draw.probability)[:MOST]
    total = sum(draw.probability for draw in kept)
    return [Draw(draw.probability / total, draw.arrivals) for draw in kept]


def _racing(plan: Plan) -> tuple[str, ...]:
    """Kernels that nothing but the release holds back, one of each stream, in launch order."""
    seen, racing = set[int](), []
    for name in plan.order:
        task = plan[name]
        if task.queue not in seen and not task.after and task.shape is not None:
            racing.append(name)
        seen.add(task.queue)
    return tuple(racing)


def _sets_of_orders(racing: tuple[str, ...], ranks: int) -> list[tuple[tuple[Order, ...], float]]:
    """The orders that occur among *ranks* ranks, with their probabilities."""
    orders = list(permutations(racing)) if racing else [()]
    if len(orders) == 1:
        return [((orders[0],), 1.0)]
    if len(orders) == 2:
        only = 0.5**ranks
        each = [((order,), only) for order in orders]
        return [*each, (tuple(orders), 1.0 - 2 * only)]
    random = Random(SEED)
    found = Counter(
        tuple(sorted({random.choice(orders) for _ in range(ranks)})) for _ in range(SAMPLES)
    )
    return [(occurring, count / SAMPLES) for occurring, count in found.most_common()]


def _classes(orders: tuple[Order, ...], jitter: float, ranks: int) -> list[tuple[Arrival, ...]]:
    """The classes of ranks that begin up to *jitter* s late; each way is equally likely. With more
    orders than one, those of an order begin together.
    """
    if jitter <= 0:
        return [tuple(Arrival(0.0, order) for order in orders)]
    random, ways = Random(SEED), []
    for number in range(SKEWS):
        skew = jitter * _range_of(ranks, (number + 0.5) / SKEWS)
        if len(orders) > 1:
            late = orders[number % 2]
            ways.append(tuple(Arrival(skew * (order is late), order) for order in orders))
            continue
        between = [random.random() for _ in range(min(ranks, LATENESSES) - 2)]
        ways.append(tuple(Arrival(skew * part, orders[0]) for part in (0.0, *between, 1.0)))
    return ways


def _range_of(ranks: int, quantile: float) -> float:
    """The *quantile* of the distance of the first and the last of *ranks* even numbers in 0..1."""
    low, high = 0.0, 1.0
    for _ in range(40):
        part = (low + high) / 2
        below = ranks * part ** (ranks - 1) - (ranks - 1) * part**ranks < quantile
        low, high = (part, high) if below else (low, part)
    return high


#: Share of the turn: ranks that are less apart are together.
APART = 0.02


@dataclass(frozen=True, slots=True)
class Case:
    """A way in which the ranks begin, and the run that follows."""

    draw: Draw
    run: Run

    @property
    def apart(self) -> float:
        """Between the ends of the first and of the last class of ranks [s]."""
        ends: dict[int, float] = {}
        for (_, gpu), task in self.run.times.items():
            ends[gpu] = max(ends.get(gpu, 0.0), task.end + self.run.begins[gpu])
        return max(ends.values()) - min(ends.values())


def drifting(together: Sequence[Case], ranks: int, begin: Callable[[Draw], Case]) -> list[Case]:
    """The cases of a turn in the steady state, from those with all ranks *together*."""
    furthest = max(together, key=lambda case: case.apart)
    if len(together) < 2 or furthest.apart < APART * furthest.run.end:
        return list(together)
    late = [begin(draw) for draw in _late(furthest.draw, ranks, furthest.apart)]
    share = _share_late(together, late, furthest.apart)
    return [*_weighted(together, 1.0 - share), *_weighted(late, share)]


def _late(mixed: Draw, ranks: int, skew: float) -> list[Draw]:
    """The ways to begin with some ranks late: two ranks, one of them late, each with either order;
    or more, among which all combinations occur.
    """
    orders = [arrival.order for arrival in mixed.arrivals.classes]
    ways: list[tuple[Arrival, ...]]
    if ranks == 2:
        ways = [
            (Arrival(0.0, first), Arrival(skew, second))
            for first, second in product(orders, orders)
        ]
    else:
        ways = [tuple(Arrival(late, order) for late in (0.0, skew) for order in orders)]
    return [Draw(1.0 / len(ways), replace(mixed.arrivals, classes=way)) for way in ways]


def _share_late(together: Sequence[Case], late: Sequence[Case], skew: float) -> float:
    """Share of turns that begin with ranks apart."""

    def leaves(cases: Sequence[Case], apart: bool) -> float:
        return sum(case.draw.probability for case in cases if (case.apart > skew / 2) == apart)

    comes, goes = leaves(together, True), leaves(late, False)
    return comes / (comes + goes) if comes + goes else 0.0


def _weighted(cases: Sequence[Case], share: float) -> list[Case]:
    return [
        Case(replace(case.draw, probability=case.draw.probability * share), case.run)
        for case in cases
        if share > 0
    ]


ROUNDING = 1e-9  # of probabilities


def median_run(cases: Sequence[Case]) -> Run:
    """End and times of tasks: medians, of the slowest rank; all else: of the case whose end is
    nearest to the median.
    """
    if len(cases) == 1:
        return cases[0].run
    weights = [case.draw.probability for case in cases]
    end = weighted_median([case.run.end for case in cases], weights)
    middle = min(
        (case for case in cases), key=lambda case: (abs(case.run.end - end), -case.draw.probability)
    ).run
    times = {
        (name, 0): _median_task([case.run.task(name) for case in cases], weights)
        for name in dict.fromkeys(task for task, _ in middle.times)
    }
    outcomes = tuple(
        Outcome(probability=case.draw.probability, end=case.run.end, arrivals=case.draw.arrivals)
        for case in cases
    )
    events = sum(case.run.events for case in cases)
    exposed, computing = (
        weighted_median([case.run.exposure[part] for case in cases], weights) for part in (0, 1)
    )
    return replace(
        middle,
        times=times,
        end=end,
        events=events,
        exposure=Exposure(exposed, computing),
        outcomes=outcomes,
    )


def _median_task(runs: Sequence[TaskRun], weights: Sequence[float]) -> TaskRun:
    return TaskRun(
        ready=weighted_median([run.ready for run in runs], weights),
        start=weighted_median([run.start for run in runs], weights),
        end=weighted_median([run.end for run in runs], weights),
        detail=runs[0].detail,
    )


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    """Half of the weight lies on either side; between two values, their mean."""
    return weighted_quantile(values, weights, 0.5)


def weighted_quantile(values: Sequence[float], weights: Sequence[float], share: float) -> float:
    """The least value that at least *share* of the weight reaches; where exactly that reaches it,
    the mean of it and the next.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    wanted, reached = share * sum(weights), 0.0
    for place, index in enumerate(order):
        reached += weights[index]
        if abs(reached - wanted) <= ROUNDING and place + 1 < len(order):
            return 0.5 * (values[index] + values[order[place + 1]])
        if reached >= wanted:
            return values[index]
    return values[order[-1]]

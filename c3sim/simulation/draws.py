"""Ranks that are not in step: the ways in which they may begin, and how likely each is.

Where every GPU has an event of its own (``host.release: per_rank``), the streams that wait for it
see it at times of their own. Which kernel comes first on a GPU is then drawn, with equal chances,
whatever the launch order and the priority (``gpu.kernels.release_order: any``). Launch order
decides on GPUs that serve their queues in order, and where processes launch kernel by kernel.

What a run depends on is which orders occur among the ranks, not on how many: a collective goes on
once the last rank has it. With orders 1..k, equally likely, and n ranks:

    P(only order i) = k^-n        P(both of two orders) = 1 - 2^(1-n)

More than two orders are sampled. A rank begins up to ``host.jitter`` late, evenly distributed: the
last of n is (n - 1) / (n + 1) of it behind the first, in the mean.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from random import Random

from c3sim.processes.arrivals import Arrival, Arrivals
from c3sim.processes.kernels.grids import grid_shapes
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload, task_order

MOST = 8  # draws that are simulated
SAMPLES = 512  # of three streams and more
SEED = 1
Order = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """One way to begin."""

    probability: float
    arrivals: Arrivals


def draws(workload: Workload, node: Node) -> list[Draw]:
    """The most likely ways in which the ranks may begin, at most MOST; probabilities sum to 1."""
    host, kernels = workload.host, node.gpu.kernels
    if host.release == "event":
        return [Draw(1.0, Arrivals())]
    racing = _racing(workload, node) if host.release == "per_rank" else ()
    if kernels.release_order == "launch" or len(racing) < 2:
        racing = ()
    ranks = node.ranks
    skew = host.jitter * (ranks - 1) / (ranks + 1)
    made: list[Draw] = []
    for orders, probability in _sets_of_orders(racing, ranks):
        ways = _classes(orders, skew)
        made += [
            Draw(probability / len(ways), Arrivals(way, kernels.release_spread)) for way in ways
        ]
    kept = sorted(made, key=lambda draw: -draw.probability)[:MOST]
    total = sum(draw.probability for draw in kept)
    return [Draw(draw.probability / total, draw.arrivals) for draw in kept]


def _racing(workload: Workload, node: Node) -> tuple[str, ...]:
    """Kernels that nothing but the release holds back, one of each stream, in launch order."""
    shapes, seen, racing = grid_shapes(workload, node), set[str](), []
    for name in task_order(workload):
        task = workload.tasks[name]
        stream = task.stream or f"task {name}"
        if stream not in seen and not task.after and name in shapes:
            racing.append(name)
        seen.add(stream)
    return tuple(racing)


def _sets_of_orders(racing: tuple[str, ...], ranks: int) -> list[tuple[tuple[Order, ...], float]]:
    """Which orders occur among *ranks* ranks, and how likely."""
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


def _classes(orders: tuple[Order, ...], skew: float) -> list[tuple[Arrival, ...]]:
    """The classes of ranks, of which some are late by *skew* s; each way is equally likely."""
    if skew <= 0:
        return [tuple(Arrival(0.0, order) for order in orders)]
    if len(orders) == 1:
        return [(Arrival(0.0, orders[0]), Arrival(skew, orders[0]))]
    return [
        tuple(Arrival(skew * (order is late), order) for order in orders) for late in orders[:2]
    ]

"""Flow sets for the benchmarks of the fluid layer, as plain data that any simulator can read.

``mesh``     links between the GPUs of a node of 8, and the memory that each flow leaves and enters:
             one connected set, in which each end may change every rate (the worst case)
``links``    the links alone: 56 independent sets
``random``   each flow on 2 or 3 of 64 links, with its own weight, starting after its latency

Sizes are random (fixed seed), so no two flows end together. Weights are 1 / latency, as in SimGrid.
With *rounds* each flow that ends is followed by another one on the same path, so the number of
concurrent flows is constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from random import Random

__all__ = ["KINDS", "FlowSet", "flow_set"]

KINDS = ("mesh", "links", "random")
GPUS, LINK, MEMORY = 8, 50e9, 200e9  # B/s; memories have 1 to 2 times as much
SEED = 1


@dataclass(frozen=True)
class FlowSet:
    """Capacities [B/s]; per flow the capacities it uses, the bytes of each round, and its latency
    [s] (0: starts at once, weight 1).
    """

    capacities: list[float]
    uses: list[tuple[int, ...]]
    sizes: list[list[int]]
    latencies: list[float]
    link_latencies: list[float]  # of each capacity; a flow's latency is their sum

    @cached_property
    def amounts(self) -> list[list[tuple[str, float]]]:
        """The uses of each flow as c3sim is told them."""
        return [[(str(capacity), 1.0) for capacity in used] for used in self.uses]

    def weight(self, flow: int) -> float:
        return 1.0 / self.latencies[flow] if self.latencies[flow] else 1.0

    @property
    def all_started(self) -> float:
        """An instant [s] after the last start and before the first end."""
        return max(self.latencies) + 1e-3


def flow_set(kind: str, flows: int, rounds: int) -> FlowSet:
    """*flows* concurrent flows of one of `KINDS`, *rounds* times."""
    random = Random(SEED)
    if kind == "random":
        capacities = [random.uniform(10e9, 100e9) for _ in range(64)]
        latencies = [random.uniform(0.1, 1.0) for _ in range(64)]
        uses = [tuple(random.sample(range(64), random.choice((2, 3)))) for _ in range(flows)]
    else:
        pairs = [(a, b) for a in range(GPUS) for b in range(GPUS) if a != b]
        capacities = [LINK] * len(pairs) + [MEMORY * random.uniform(1, 2) for _ in range(2 * GPUS)]
        latencies = [0.0] * len(capacities)
        uses = []
        for flow in range(flows):
            link = flow % len(pairs)
            out, into = (len(pairs) + end for end in (pairs[link][0], GPUS + pairs[link][1]))
            uses.append((out, link, into) if kind == "mesh" else (link,))
    sizes = [[int(1e12 * random.uniform(1, 10)) for _ in range(rounds)] for _ in range(flows)]
    return FlowSet(
        capacities, uses, sizes, [sum(latencies[c] for c in used) for used in uses], latencies
    )

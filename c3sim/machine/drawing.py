"""What the traffic of a flow draws on: capacities of the node, each per unit of the progress."""

from __future__ import annotations

import math
from functools import partial
from operator import itemgetter

from c3sim.engine.fluid import Fluid
from c3sim.machine.rates import host_memory_share, memory_rule, rate_of, with_like
from c3sim.machine.traffic import Traffic
from c3sim.models.capacity import Capacity, of_gpu
from c3sim.models.memory import memory_given
from c3sim.models.network import network_capacities
from c3sim.specs.hardware import Node


class Drawing:
    """Draws on capacities of *node*, which it declares to *fluid*. *gpus*: how many are simulated;
    *private*: kinds of sharing that are taken away.
    """

    def __init__(
        self, node: Node, fluid: Fluid, *, folded: bool, private: frozenset[str], gpus: int
    ):
        self.node, self.fluid, self.folded, self.private = node, fluid, folded, private
        self._gpus = gpus
        self._rates: dict[Capacity, float] = {}  # [B/s] of what has been drawn on
        self._sharers: dict[Capacity, int] = {}  # GPUs that share a part of the network

    def home(self, gpu: int, here: int | None = None) -> int:
        """As :meth:`Machine.home`."""
        if not self.folded:
            return gpu % self.node.ranks
        return gpu % self._gpus if here is None else here

    def amounts(self, group: str, gpu: int, traffic: Traffic) -> dict[Capacity, float]:
        """What *traffic* draws on, per unit of progress."""
        node, here = self.node, self.home(gpu)
        amounts: dict[Capacity, float] = {}

        def draw(capacity: Capacity, sharing: str, amount: float, sharers: int = 1) -> None:
            if amount > 0:
                own = capacity._replace(task=group) if sharing in self.private else capacity
                drawn = amount * sharers if self.folded else amount
                amounts[own] = amounts.get(own, 0.0) + drawn
                self._declare(own, sharers)

        draw(Capacity("gpu", here, "l2"), "cache", traffic.l2)
        if node.gpu.memory_side_cache is not None:
            draw(Capacity("gpu", here, "memory_side_cache"), "cache", traffic.cache)
        busy = traffic.hbm_read + traffic.hbm_write + traffic.hbm_busy
        draw(Capacity("gpu", here, "hbm"), "hbm", busy)
        for (where, port), amount in traffic.ports:
            draw(of_gpu(self.home(where, here), port), "links", amount)
        for (where, port), amount in traffic.network:
            for capacity, sharers in network_capacities(node, self.home(where, here), port):
                draw(capacity, "links", amount, sharers)
        for where, read, written in traffic.remote:
            draw(Capacity("gpu", self.home(where, here), "hbm"), "hbm", read + written)
        for direction, amount in traffic.host:
            draw(Capacity("gpu", here, "host", direction=direction), "links", amount)
            gpus = node.gpus if self.folded else 1
            drawn = host_memory_share(node, direction, amount * gpus)
            draw(Capacity("host", here // node.gpus, "memory"), "links", drawn)
        if traffic.engine is not None:
            draw(Capacity("gpu", here, "dma", traffic.engine[0]), "dma", traffic.engine[1])
        return amounts

    def with_answers(
        self, amounts: dict[Capacity, float], group: str, here: int, traffic: Traffic
    ) -> dict[Capacity, float]:
        """*amounts*, and what links draw on in their other direction. That is no part of what a
        flow could do alone: in a folded run its like draws on the port that it sends through.
        """
        share, drawn = self.node.links.reverse_share, dict(amounts)
        for hop, amount in traffic.ports if share else ():
            where, port = traffic.answering(self.node.gpus, hop)
            capacity = of_gpu(self.home(where, here), port)
            own = capacity._replace(task=group) if "links" in self.private else capacity
            drawn[own] = drawn.get(own, 0.0) + amount * share
            self._declare(own, 1)
        return drawn

    def _declare(self, capacity: Capacity, sharers: int) -> None:
        if capacity not in self._rates:
            self._rates[capacity] = rate_of(self.node, capacity)
            self._sharers[capacity] = sharers
            rule = partial(memory_rule, self.node.gpu) if capacity.kind == "hbm" else None
            self.fluid.capacity(capacity, self._rates[capacity], rule)

    def alone(
        self, amounts: dict[Capacity, float], traffic: Traffic, row_misses: float
    ) -> tuple[float, Capacity | None]:
        """Units/s with all capacities to itself, or to it and its like; the narrowest of them."""
        if traffic.together and not self.folded:
            amounts = with_like(amounts, self._sharers)
        moved = traffic.hbm_read + traffic.hbm_write
        share = traffic.hbm_write / moved if moved else 0.0
        memory = memory_given(self.node.gpu, share, row_misses) if moved else 0.0

        def rate(capacity: Capacity) -> float:
            return memory if capacity.kind == "hbm" and moved else self._rates[capacity]

        return min(
            ((rate(c) / amount, c) for c, amount in amounts.items()),
            key=itemgetter(0),
            default=(math.inf, None),
        )

"""A flow, the rules that govern it, and the observer interface."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol


class Flow:
    """Work in progress. *cap* is the rate bound, a number or a function of the domain's state.

    *rate*, *remaining*, *settled* (when *remaining* was last right) and *finish* belong to
    :class:`c3sim.engine.progress.Progress`; observers may read them.
    """

    rule: Callable[[Any], float] | None  # that gives its cap by state
    most: float  # its cap now
    uses: tuple[tuple[int, float], ...]  # *amounts* by index of the capacity
    places: tuple[Hashable, ...]  # whose rules a compiled run asks
    settled: float
    serial: int  # place in the order of starts
    slot: int  # row in the table of a compiled run
    done: Callable[[Flow], None]

    __slots__ = (
        "amounts",
        "cap",
        "domain",
        "done",
        "finish",
        "most",
        "name",
        "places",
        "rate",
        "remaining",
        "rule",
        "serial",
        "settled",
        "slot",
        "tags",
        "uses",
        "weight",
        "work",
    )

    def __init__(
        self,
        name: str,
        work: float,
        *,
        cap: float | Callable[[Any], float] = math.inf,
        weight: float = 1.0,
        amounts: Iterable[tuple[Hashable, float]] = (),
        domain: Hashable | None = None,
        tags: Any = None,
    ):
        self.name, self.work, self.remaining = name, work, work
        self.cap, self.weight, self.domain, self.tags = cap, weight, domain, tags
        self.amounts = tuple([use for use in amounts if use[1] > 0])
        self.rule, self.most = (cap, math.inf) if callable(cap) else (None, cap)
        self.rate, self.finish = 0.0, math.inf


class Observer(Protocol):
    """Receives what happened; cannot alter it."""

    def rates(self, time: float, flows: Iterable[Flow], states: dict[Hashable, Any]) -> None: ...

    def ended(self, time: float, flow: Flow) -> None: ...


CapacityRule = Callable[[float, list[Flow]], float]
DomainRule = Callable[[list[Flow]], Any]

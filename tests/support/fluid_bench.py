"""A clock, a fluid layer and an observer, for tests of the fluid layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.engine.progress import Progress

PROGRESS: type[Progress] = Progress  # conftest.py sets it


class Bench:
    """A clock, a fluid layer with the given capacities, and a list of (time, name) of every end."""

    def __init__(self, observers: Iterable[Any] = (), **capacities: float):
        self.env = Clock()
        self.fluid = Fluid(self.env, observers, PROGRESS())
        for name, value in capacities.items():
            self.fluid.capacity(name, value)
        self.ends: list[tuple[float, str]] = []

    def start(self, name: str, work: float, *capacities: str, **more: Any) -> Flow:
        flow = Flow(name, work, amounts=[(capacity, 1.0) for capacity in capacities], **more)
        return self.fluid.start(flow, lambda flow: self.ends.append((self.env.now, flow.name)))

    def at(self, time: float, call: Any) -> None:
        self.env.timeout(time).callbacks.append(lambda _event: call())

    def run(self) -> list[tuple[float, str]]:
        self.env.run()
        return self.ends


class Log:
    """An observer that writes down names and rates of every solve."""

    def __init__(self) -> None:
        self.solves: list[tuple[float, dict[str, float]]] = []
        self.ended_at: dict[str, float] = {}

    def rates(self, time: float, flows: Iterable[Flow], states: dict[str, Any]) -> None:
        self.solves.append((time, {flow.name: flow.rate for flow in flows}))

    def ended(self, time: float, flow: Flow) -> None:
        self.ended_at[flow.name] = time

"""A fluid simulator as one would first write it: SimPy, and everything reckoned anew at each end.

Kept plain on purpose: it is what the benchmarks compare with, and it shares no code with c3sim.
"""

from __future__ import annotations

import simpy
from flow_sets import FlowSet

__all__ = ["naive_ends"]


def naive_ends(flows: FlowSet) -> list[list[float]]:
    """When each round of each flow ends [s]."""
    env = simpy.Environment()
    left = dict[int, float]()
    ends: list[list[float]] = [[] for _ in flows.sizes]
    changed = [env.event()]

    def arrive(flow: int, latency: float):  # type: ignore[no-untyped-def]
        yield env.timeout(latency)
        left[flow] = float(flows.sizes[flow][len(ends[flow])])
        changed[0].succeed()
        changed[0] = env.event()

    def advance():  # type: ignore[no-untyped-def]
        while True:
            rates = naive_rates(flows, list(left))
            start = env.now
            until = min((left[flow] / rate for flow, rate in rates.items()), default=None)
            yield changed[0] if until is None else changed[0] | env.timeout(until)
            for flow, rate in rates.items():
                left[flow] -= rate * (env.now - start)
            if until is not None and env.now >= start + until:
                done = min(rates, key=lambda flow: left[flow] / rates[flow])
                del left[done]
                ends[done].append(env.now)
                if len(ends[done]) < len(flows.sizes[done]):
                    env.process(arrive(done, flows.latencies[done]))

    for flow, latency in enumerate(flows.latencies):
        env.process(arrive(flow, latency))
    env.process(advance())
    env.run()
    return ends


def naive_rates(flows: FlowSet, active: list[int]) -> dict[int, float]:
    """Weighted max-min shares: of all capacities, exhaust the one with the lowest level; again,
    until no flow is left.
    """
    rates = dict[int, float]()
    weights = {flow: flows.weight(flow) for flow in active}
    while len(rates) < len(active):
        lowest, at = None, -1
        for index, capacity in enumerate(flows.capacities):
            free = capacity - sum(rates[flow] for flow in rates if index in flows.uses[flow])
            rising = sum(
                weights[flow] for flow in active if flow not in rates and index in flows.uses[flow]
            )
            if rising and (lowest is None or free / rising < lowest):
                lowest, at = free / rising, index
        assert lowest is not None
        for flow in active:
            if flow not in rates and at in flows.uses[flow]:
                rates[flow] = weights[flow] * lowest
    return rates

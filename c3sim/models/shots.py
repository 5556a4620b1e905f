"""All-reduce by stores to peers inside one kernel: in one shot, or in two.

``one_shot``  every rank stores all it has (S) at every peer, a release and a flag behind it, and
              adds what has arrived: one step, (n - 1) S sent
``two_shot``  every rank stores at each peer that peer's shard (S/n), which adds what has arrived
              and stores the sum at every peer: two steps, 2 (n - 1)/n S sent

A workgroup stores as any kernel does (models/stores.py) and finds what has arrived in the last
cache, at the rate of its L2. Each step ends with a release, the way over a link, and the sight of a
flag. Small messages want one step, larger ones the fewer bytes.
"""

from __future__ import annotations

from c3sim.models.stores import policy_cost, remote_stores
from c3sim.specs.hardware import Gpu

SHOTS = ("one_shot", "two_shot")
#: Algorithms that send straight to every peer.
STRAIGHT = ("direct", *SHOTS)


def shot_step_time(gpu: Gpu) -> float:
    """Seconds of a workgroup from its last store of a step to the next step, without links."""
    stores = remote_stores(gpu)
    return policy_cost(stores, None).release_time + stores.flag_time


def shot_primitives(gpu: Gpu, algorithm: str, ranks: int) -> tuple[tuple[float, float], ...]:
    """What one channel does in turn, as in models/phase.py: (s at the maximum clock, bytes sent),
    both per payload byte that it sends in all.
    """
    clock = gpu.clock.maximum
    store = 1.0 / (policy_cost(remote_stores(gpu), None).bandwidth * clock)
    load = 1.0 / (gpu.compute_units.l2_bandwidth * clock)
    if algorithm == "one_shot":  # of S (n - 1): n loads and a store here for each byte of S
        return ((store, 1.0), ((ranks + 1) * load / (ranks - 1), 0.0))
    sent = 0.5  # of 2 (n - 1) S/n: n loads for each byte of S/n
    return ((sent * store, sent), (sent * (store + ranks * load / (ranks - 1)), sent))

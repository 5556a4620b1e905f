"""Memory controllers that serve compute before communication (T3's arbitration).

A request of a DMA engine enters the queue of memory only while it holds fewer than T requests of
compute (``hbm.communication_threshold``). With x the load that compute demands, as a share of what
memory can give, and arrivals and services without memory of the past (a queue M/M/1), the queue
holds n requests or more for the share x^n of the time, so that communication is admitted for

    a = max(floor, 1 - x^T),    floor = (request / bandwidth) / starvation_limit

where the floor is the request that goes whatever the queue holds, once it has waited
``starvation_limit``. Compute feels the floor alone. Where memory is exhausted both share it by
weights, those of communication times the floor: a priority with a floor.

Source: arXiv 2401.16677, which names the threshold and the limit; the queue is the plainest one.
"""

from __future__ import annotations

from c3sim.spec.hardware import Gpu


def least_admitted(gpu: Gpu) -> float:
    """The floor: share of the time in which requests go that have waited long enough."""
    hbm = gpu.hbm
    if not hbm.starvation_limit:
        return 0.0
    return min(1.0, hbm.request / hbm.bandwidth / hbm.starvation_limit)


def admitted_share(gpu: Gpu, load: float) -> float:
    """Share of the time in which communication is admitted beside compute that demands *load*; 1
    where nobody goes first.
    """
    threshold = gpu.hbm.communication_threshold
    if threshold is None:
        return 1.0
    return max(least_admitted(gpu), 1.0 - min(1.0, load) ** threshold)


#: Weights are positive, of a flow that may wait for ever too.
LEAST_FLOOR = 1e-6


def least_weight(gpu: Gpu, behind: bool) -> float:
    """Share of its weight that a flow keeps; *behind*: one that memory serves after others."""
    return max(least_admitted(gpu), LEAST_FLOOR) if behind else 1.0

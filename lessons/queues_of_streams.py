"""A step in shards, and an all-gather before products, with so many hardware queues (lesson 12)."""

from __future__ import annotations

from functools import cache

import c3sim

GATHER = {"kind": "collective", "op": "all_gather", "size": "64 MiB", "stream": "communication"}
PRODUCT = {"kind": "gemm", "m": 8192, "n": 3584, "k": 4096, "stream": "compute"}
#: The all-gather is launched first; the first product does not need it, the second one does.
TENSOR = {
    "schema": 1,
    "name": "tensor-parallel",
    "tasks": {"gather": GATHER, "product": PRODUCT, "next": {**PRODUCT, "after": ["gather"]}},
    "host": {"release": "per_rank"},
}


@cache
def sharded(queues: int) -> float:
    """Seconds of a training step of Llama 3 8B in shards over eight H200."""
    settings = {"workload.host.queues": queues}
    return c3sim.run("llama3-8b-training", node="h200-8", set=settings).wall_s


@cache
def tensor(queues: int) -> float:
    """Seconds of an all-gather launched before a product, and a product that needs it."""
    workload = c3sim.parse_workload(TENSOR)
    return c3sim.run(workload, node="h200-8", set={"workload.host.queues": queues}).wall_s

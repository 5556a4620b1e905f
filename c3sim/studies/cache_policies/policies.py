"""What a study of cache policies compares: how kernels load and store, and switches of the GPU."""

from __future__ import annotations

from typing import NamedTuple

from c3sim.specs.cache_policy import CachePolicy
from c3sim.specs.hardware import Node

_CACHED = CachePolicy(l1="allocate")


class Handling(NamedTuple):
    """*cache*: of every kernel; *switch*: of ``gpu.cache_policies``; empty: none is on."""

    cache: CachePolicy
    switch: str = ""


POLICIES = {
    "uncached": Handling(CachePolicy(l1="bypass", l2="bypass", stores="uncached")),
    "cache_r": Handling(CachePolicy(l1="allocate", stores="uncached")),
    "cache_rw": Handling(_CACHED),
    "allocation_bypass": Handling(_CACHED, "allocation_bypass"),
    "rinsing": Handling(_CACHED, "rinsing"),
    "reuse_predictor": Handling(_CACHED, "reuse_predictor"),
    "adaptive": Handling(_CACHED, "adaptive"),
}
STATIC = ("uncached", "cache_r", "cache_rw")


def switched(node: Node, switch: str) -> Node:
    """*node* with one *switch* of its cache policies on; empty: as it is."""
    if not switch:
        return node
    policies = node.gpu.cache_policies
    assert policies is not None  # asked before
    gpu = node.gpu.model_copy(update={"cache_policies": policies.model_copy(update={switch: True})})
    return node.model_copy(update={"gpu": gpu})

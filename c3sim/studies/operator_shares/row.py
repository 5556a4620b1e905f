"""One configuration on one node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """*iteration_s* = *kernels_s* + *idle_s*; *shares* are of kernels_s. *attention_gemm_share*:
    the part of attention's share that its batched GEMMs have. *host_bound*: launches take longest.
    """

    configuration: str
    node: str
    gpus: int
    iteration_s: float
    kernels_s: float
    idle_s: float
    shares: Mapping[str, float]
    attention_gemm_share: float
    host_bound: bool
    memory_bytes: float
    fits: bool

    def share(self, classes: str) -> float:
        """Of several classes, with + between them; ``non-gemm``: all but matrix products."""
        if classes == "non-gemm":
            return 1.0 - self.shares["gemm"] - self.attention_gemm_share
        return sum(self.shares[name] for name in classes.split("+"))

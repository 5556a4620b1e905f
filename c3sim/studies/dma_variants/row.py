"""A collective of one size by every variant: what claims, energies, tables and picture share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from c3sim.specs.workload import Workload
from c3sim.strategies.rewrites import with_tasks

PRELAUNCHED = "_pl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Time:
    """Of one collective alone."""

    time_us: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """*collective* of *size_bytes*: times of *variants* and of compute units (*rccl*), the *best*
    variant, and speedups over pcpy, simulated and *published*.
    """

    collective: str
    size_bytes: int
    variants: Mapping[str, Time]
    rccl: Time
    best: str
    speedups: Mapping[str, float]
    published: Mapping[str, float]


def variant_of(workload: Workload, task: str, variant: str) -> Workload:
    """*workload* with its collective *task*, on DMA engines already, by *variant*."""
    prelaunched = variant.endswith(PRELAUNCHED)
    host = workload.host.model_copy(update={"prelaunched": prelaunched})
    changed = with_tasks(workload, {task: {"variant": variant.removesuffix(PRELAUNCHED)}})
    return changed.model_copy(update={"host": host})

"""Rows that experts get.

Balanced, every expert gets as many, and of few tokens as many experts are reached as are expected
to be. Skewed, the share of an expert is exp(skew z) by the sum of those of all, z normal, drawn
with a seed: the logarithms of loads differ by *skew*. The GPU that has most is the one that all
wait for, so it is the one that is simulated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple

from c3sim.errors import InputError

if TYPE_CHECKING:
    from c3sim.spec.hardware import Node
    from c3sim.spec.iteration import Mixture


@dataclass(frozen=True, slots=True)
class Load:
    """Standard deviation of the logarithm of experts' loads, and the seed of its draw; 0: all get
    as many.
    """

    skew: float = 0.0
    seed: int = 0

    def fullest(self, rows: int, experts: int, gpus: int) -> tuple[int, ...]:
        """Rows of each expert of the GPU that gets most of *rows*, which all *gpus* have chosen
        experts for; those without rows are left out. Empty: balanced.
        """
        if not self.skew:
            return ()
        draw = Random(self.seed)
        shares = [exp(self.skew * draw.gauss(0.0, 1.0)) for _ in range(experts)]
        total, each = sum(shares), experts // gpus
        loads = [round(rows * share / total) for share in shares]
        of_gpu = [tuple(loads[gpu * each : (gpu + 1) * each]) for gpu in range(gpus)]
        most = max(of_gpu, key=sum)
        return tuple(load for load in most if load) or (1,)


BALANCED = Load()


class Dispatch(NamedTuple):
    """Transport of rows to experts on other GPUs, and the compute units that it takes."""

    by: Literal["all_to_all", "all_gather", "kernels", "puts"] = "all_to_all"
    units: int | None = None


BY_ALL_TO_ALL = Dispatch()
#: Dispatch by kernels -> their library. Two-sided: a row goes once to each GPU, whose units take it
#: from there to its experts; one-sided: it is stored at the place of each of its experts.
LIBRARIES = {"kernels": "deepep", "puts": "puts"}


def gpus_reached(experts: int, chosen: int, gpus: int) -> float:
    """GPUs that are expected to have an expert of a token that takes *chosen* of *experts*, all
    equally likely: G (1 - C(E - E/G, k) / C(E, k)).
    """
    missed = 1.0
    for taken in range(chosen):
        missed *= max(0.0, (experts - experts / gpus - taken) / (experts - taken))
    return gpus * (1.0 - missed)


def check_dispatch(mixture: Mixture, node: Node) -> None:
    """Raises InputError where *node* has not the kernels, or the units, that send rows."""
    library, units = LIBRARIES.get(mixture.dispatch), node.gpu.compute_unit_count
    if library is not None and library not in node.collective_libraries:
        message = f"{node.name} has no collective library {library}, kernels that send rows"
        message += "; all_to_all and all_gather need none"
        raise InputError(message, "mixture.dispatch")
    if (mixture.units or 0) > units:
        message = f"got {mixture.units}; must be at most the {units} compute units"
        raise InputError(message, "mixture.units")

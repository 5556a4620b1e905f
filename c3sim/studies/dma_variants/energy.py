"""Energy and power of collectives on DMA engines by variant, against each other and against compute
units.

A run spends sum_i e_i a_i: the energies e_i of the node file times what was done, a_i. Savings are
ratios of two such sums. With every e_i anywhere in its interval, the smallest and the largest ratio
lie at ends of intervals, and :func:`band` finds them exactly. Both runs share one set of energies;
times and clocks stay as simulated (no run here meets the power limit).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from c3sim.input.leaves import Leaf
from c3sim.machine.energy import IDLE, Account, by_component
from c3sim.simulation.run import Run
from c3sim.specs.hardware import Node
from c3sim.studies.cases import collective_of
from c3sim.studies.dma_variants.row import CaseRuns
from c3sim.studies.plain import ENTRIES, IF_KNOWN
from c3sim.studies.show import grouped
from c3sim.tasks.plan import payload_bytes

Ends = Mapping[str, tuple[float, float]]  # name of an energy -> ends of its interval over its value
ROUNDS = 50  # of band; it ends after three or four


@dataclass(frozen=True, kw_only=True, slots=True)
class Saving:
    """1 - this / other; *low* and *high* with every energy in its interval, if any has one."""

    saving: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Savings:
    """Of the mean *power* over the collective's time, and of the *energy*."""

    power: Saving
    energy: Saving


@dataclass(frozen=True, kw_only=True, slots=True)
class Consumption:
    """Energies [J] of all GPUs, *energy* by component; the power is that of one GPU."""

    energy_j: float
    power_w_per_gpu: float
    energy_per_byte: float
    energy: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantConsumption:
    """What a variant takes, and its savings over compute units and over pcpy.

    *moving*: the saving of power over pcpy if the variant took as long as pcpy. It comes from what
    the variant does per byte, not from being slower.
    """

    whole: Consumption = field(metadata=ENTRIES)
    over_rccl: Savings
    over_pcpy: Savings
    moving: float


@dataclass(frozen=True, kw_only=True, slots=True)
class EnergyRow:
    collective: str
    size_bytes: int
    payload_bytes: float
    rccl: Consumption
    variants: Mapping[str, VariantConsumption]


@dataclass(frozen=True, kw_only=True, slots=True)
class LargeSavings:
    """Mean savings of a variant at the published sizes; ends of bands are means of the ends."""

    collective: str
    variant: str
    over_rccl: Savings
    over_pcpy: Savings
    moving: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Energy:
    """*rows*, one per case. *validated*: whether power was *measured* on the node."""

    validated: bool
    measured: str
    rows: Sequence[EnergyRow]
    large: Sequence[LargeSavings] | None = field(default=None, metadata=IF_KNOWN)
    published: Mapping[str, Any] | None = field(default=None, metadata=IF_KNOWN)


def total(account: Account, factors: Mapping[str, float] | None = None) -> float:
    """Energy [J] of an *account*, every energy times its factor."""
    return sum(joules * (factors or {}).get(name, 1.0) for name, joules in account.items())


def intervals_of(provenance: Mapping[str, Leaf]) -> dict[str, tuple[float, float]]:
    """For each energy of a node file with an interval, its ends in units of its value."""
    found = {}
    for path, leaf in provenance.items():
        section, _, name = path.rpartition(".")
        is_energy = section == "gpu.energy" or path == f"gpu.clock.{IDLE}"
        if is_energy and leaf.interval and leaf.value:
            low, high = leaf.interval
            found[name] = (low / leaf.value, high / leaf.value)
    return found


def band(spent: Account, other: Account, ends: Ends) -> tuple[float, float]:
    """Smallest and largest ratio of energies [1] of *spent* to *other* with every energy in its
    interval.

    Dinkelbach's iteration: with r the ratio so far, each energy goes to the end that raises
    (lowers) spent - r other.
    """

    def extreme(sign: float) -> float:
        ratio = total(spent) / total(other)
        for _ in range(ROUNDS):
            factors = {}
            for name, (low, high) in ends.items():
                gain = spent.get(name, 0.0) - ratio * other.get(name, 0.0)
                factors[name] = high if sign * gain > 0 else low
            found = total(spent, factors) / total(other, factors)
            if abs(found - ratio) <= 1e-12 * ratio:
                break
            ratio = found
        return ratio

    return extreme(-1.0), extreme(1.0)


def variant_energy(
    runs: Sequence[CaseRuns], ends: Ends, published: Mapping[str, Any] | None
) -> Energy:
    rows = [_row(each, ends) for each in runs]
    measured = runs[0].case.node.gpu.energy.measured
    return Energy(
        validated=bool(measured),
        measured=measured,
        rows=rows,
        large=_large(rows, published["large_bytes"]) if published else None,
        published=published or None,
    )


def _row(runs: CaseRuns, ends: Ends) -> EnergyRow:
    node, task = runs.case.node, collective_of(runs.case)[1]
    moved = payload_bytes(node, task)
    assert moved is not None  # a collective moves bytes
    pcpy = runs.variants["pcpy"]
    return EnergyRow(
        collective=task.op,
        size_bytes=int(task.size),
        payload_bytes=moved,
        rccl=_consumption(node, runs.rccl, moved),
        variants={
            variant: VariantConsumption(
                whole=_consumption(node, run, moved),
                over_rccl=_savings(run, runs.rccl, ends),
                over_pcpy=_savings(run, pcpy, ends),
                moving=(_moving(pcpy) - _moving(run)) / total(pcpy.account),
            )
            for variant, run in runs.variants.items()
        },
    )


def _moving(run: Run) -> float:
    """Energy [J] without idle power."""
    return total(run.account) - run.account[IDLE]


def _consumption(node: Node, run: Run, moved: float) -> Consumption:
    energy = total(run.account)
    return Consumption(
        energy_j=energy,
        power_w_per_gpu=energy / run.end / node.ranks,
        energy_per_byte=energy / moved,
        energy=by_component(node, run.account),
    )


def _savings(run: Run, other: Run, ends: Ends) -> Savings:
    low, high = band(run.account, other.account, ends)
    ratio = total(run.account) / total(other.account)

    def saving(scale: float) -> Saving:
        return Saving(
            saving=1 - scale * ratio,
            low=1 - scale * high if ends else None,
            high=1 - scale * low if ends else None,
        )

    return Savings(power=saving(other.end / run.end), energy=saving(1.0))


def _large(rows: Sequence[EnergyRow], smallest: float) -> list[LargeSavings]:
    """Mean savings from *smallest* bytes on, of each collective and variant."""
    found = []
    large = [row for row in rows if row.size_bytes >= smallest]
    for operation, of_operation in grouped(large, lambda row: row.collective).items():
        for name in of_operation[0].variants:
            runs = [row.variants[name] for row in of_operation]
            found.append(
                LargeSavings(
                    collective=operation,
                    variant=name,
                    over_rccl=_mean_savings([run.over_rccl for run in runs]),
                    over_pcpy=_mean_savings([run.over_pcpy for run in runs]),
                    moving=mean(run.moving for run in runs),
                )
            )
    return found


def _mean_savings(savings: Sequence[Savings]) -> Savings:
    powers, energies = [each.power for each in savings], [each.energy for each in savings]
    return Savings(power=_mean(powers), energy=_mean(energies))


def _mean(savings: Sequence[Saving]) -> Saving:
    lows = [each.low for each in savings if each.low is not None]
    highs = [each.high for each in savings if each.high is not None]
    return Saving(
        saving=mean(each.saving for each in savings),
        low=mean(lows) if lows else None,
        high=mean(highs) if highs else None,
    )

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

from c3sim.evaluation.payload import payload_bytes
from c3sim.input.leaves import Leaf
from c3sim.machine.energy import IDLE, Account, by_component
from c3sim.simulation.runs import alone, run_once
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.strategies.rewrites import on_compute_units, with_tasks
from c3sim.studies.cases import Case, collective_of
from c3sim.studies.dma_variants.row import Row, variant_of
from c3sim.studies.kind import Options
from c3sim.studies.plain import ENTRIES, IF_KNOWN

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
    """One case, on compute units (*rccl*) and by every variant."""

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


@dataclass(frozen=True, slots=True)
class Spent:
    """One run: energy [J] of all GPUs by name of the energy, and its time [s]."""

    account: Account
    time: float

    def total(self, factors: Mapping[str, float] | None = None) -> float:
        """Energy [J], every energy times its factor."""
        return sum(joules * (factors or {}).get(name, 1.0) for name, joules in self.account.items())

    @property
    def moving(self) -> float:
        """Energy [J] without idle power."""
        return self.total() - self.account[IDLE]


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


def band(spent: Spent, other: Spent, ends: Ends) -> tuple[float, float]:
    """Smallest and largest ratio of energies [1] of *spent* to *other* with every energy in its
    interval.

    Dinkelbach's iteration: with r the ratio so far, each energy goes to the end that raises
    (lowers) spent - r other.
    """

    def extreme(sign: float) -> float:
        ratio = spent.total() / other.total()
        for _ in range(ROUNDS):
            factors = {}
            for name, (low, high) in ends.items():
                gain = spent.account.get(name, 0.0) - ratio * other.account.get(name, 0.0)
                factors[name] = high if sign * gain > 0 else low
            found = spent.total(factors) / other.total(factors)
            if abs(found - ratio) <= 1e-12 * ratio:
                break
            ratio = found
        return ratio

    return extreme(-1.0), extreme(1.0)


def variant_energy(
    cases: Sequence[Case],
    timed: Sequence[Row],
    ends: Ends,
    published: Mapping[str, Any],
    options: Options,
) -> Energy:
    """Energies of *cases* by the variants of their rows in *timed*; *ends* of
    :func:`intervals_of`.
    """
    rows: list[EnergyRow] = []
    for case, row in zip(cases, timed, strict=True):
        rows.append(_row(case, tuple(row.variants), ends))
        options.report("energies", len(rows), len(cases))
    measured = cases[0].node.gpu.energy.measured if cases else ""
    return Energy(
        validated=bool(measured),
        measured=measured,
        rows=rows,
        large=_large(rows, published["large_bytes"]) if published else None,
        published=published or None,
    )


def _row(case: Case, names: Sequence[str], ends: Ends) -> EnergyRow:
    name, task = collective_of(case)
    base = with_tasks(case.workload, {name: {"backend": "dma"}})
    moved = payload_bytes(case.node, task)
    assert moved is not None  # a collective moves bytes
    rccl = _spent(case.node, on_compute_units(base, case.node), name)
    runs = {variant: _spent(case.node, variant_of(base, name, variant), name) for variant in names}
    pcpy = runs["pcpy"]
    return EnergyRow(
        collective=task.op,
        size_bytes=int(task.size),
        payload_bytes=moved,
        rccl=_consumption(case.node, rccl, moved),
        variants={
            variant: VariantConsumption(
                whole=_consumption(case.node, run, moved),
                over_rccl=_savings(run, rccl, ends),
                over_pcpy=_savings(run, pcpy, ends),
                moving=(pcpy.moving - run.moving) / pcpy.total(),
            )
            for variant, run in runs.items()
        },
    )


def _spent(node: Node, workload: Workload, name: str) -> Spent:
    run = run_once(node, alone(workload, name))
    return Spent(run.account, run.end)


def _consumption(node: Node, run: Spent, moved: float) -> Consumption:
    energy = run.total()
    return Consumption(
        energy_j=energy,
        power_w_per_gpu=energy / run.time / node.ranks,
        energy_per_byte=energy / moved,
        energy=by_component(node, run.account),
    )


def _savings(run: Spent, other: Spent, ends: Ends) -> Savings:
    low, high = band(run, other, ends)
    ratio = run.total() / other.total()

    def saving(scale: float) -> Saving:
        return Saving(
            saving=1 - scale * ratio,
            low=1 - scale * high if ends else None,
            high=1 - scale * low if ends else None,
        )

    return Savings(power=saving(other.time / run.time), energy=saving(1.0))


def _large(rows: Sequence[EnergyRow], smallest: float) -> list[LargeSavings]:
    """Mean savings from *smallest* bytes on, of each collective and variant."""
    found = []
    for operation in dict.fromkeys(row.collective for row in rows):
        large = [row for row in rows if row.collective == operation and row.size_bytes >= smallest]
        for name in large[0].variants if large else ():
            runs = [row.variants[name] for row in large]
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
    return Savings(
        power=_mean([each.power for each in savings]),
        energy=_mean([each.energy for each in savings]),
    )


def _mean(savings: Sequence[Saving]) -> Saving:
    lows = [each.low for each in savings if each.low is not None]
    highs = [each.high for each in savings if each.high is not None]
    return Saving(
        saving=mean(each.saving for each in savings),
        low=mean(lows) if lows else None,
        high=mean(highs) if highs else None,
    )

"""Energy and power of collectives on DMA engines by variant, against each other and against compute
units.

A run spends sum_i e_i a_i: the energies e_i of the node file times what was done, a_i. Savings are ratios of two such sums,
so with every e_i in its interval the smallest and the largest lie at ends of intervals, and :func:`band` finds them exactly.
Both runs share one set of energies, and times and clocks stay as simulated (no run here meets the power limit).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from c3sim.evaluation.payload import payload_bytes
from c3sim.input.conform import Leaf
from c3sim.machine.energy import IDLE, Account, by_component
from c3sim.simulation.runs import alone, run_once
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.strategies.rewrites import on_compute_units, with_tasks
from c3sim.studies.cases import Case, gather_of

Ends = Mapping[str, tuple[float, float]]  # name of an energy -> ends of its interval over its value
ROUNDS = 50  # of band; it ends after three or four


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
        if (
            (section == "gpu.energy" or path == f"gpu.clock.{IDLE}")
            and leaf.interval
            and leaf.value
        ):
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
    timed: Sequence[Mapping[str, Any]],
    ends: Ends,
    published: Mapping[str, Any],
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:
    """``rows`` (a case each, with the variants of its row in *timed*, see ``studies/variants.py``),
    ``large`` (mean savings at the published sizes) and ``published``; plain data.

    Savings are 1 - this / other, each with ``low`` and ``high`` (None where no energy has an
    interval): ``power`` of the mean power over the collective's time, ``energy`` of the joules.
    ``moving``: of the power, if the variant took as long as pcpy, that is by what it does per byte
    and not by being slower. *ends*: of :func:`intervals_of`.
    """
    rows = []
    for case, row in zip(cases, timed, strict=True):
        rows.append(_row(case, tuple(row["variants"]), ends))
        if progress is not None:
            progress("energies", len(rows), len(cases))
    measured = cases[0].node.gpu.energy.measured if cases else ""
    found: dict[str, Any] = {"validated": bool(measured), "measured": measured, "rows": rows}
    if published:
        found |= {"large": _large(rows, published["large_bytes"]), "published": dict(published)}
    return found


def _row(case: Case, names: Sequence[str], ends: Ends) -> dict[str, Any]:
    name, task = gather_of(case)
    base = with_tasks(case.workload, {name: {"backend": "dma"}})
    moved = payload_bytes(case.node, task)
    assert moved is not None  # a collective moves bytes
    rccl = _spent(case.node, on_compute_units(base, case.node), name)
    runs = {variant: _spent(case.node, _workload(base, name, variant), name) for variant in names}
    variants = {
        variant: _entry(case.node, run, moved)
        | {"over_rccl": _savings(run, rccl, ends), "over_pcpy": _savings(run, runs["pcpy"], ends)}
        | {"moving": (runs["pcpy"].moving - run.moving) / runs["pcpy"].total()}
        for variant, run in runs.items()
    }
    return {
        "collective": task.op,
        "size_bytes": int(task.size),
        "payload_bytes": moved,
        "rccl": _entry(case.node, rccl, moved),
        "variants": variants,
    }


def _workload(base: Workload, name: str, variant: str) -> Workload:
    host = base.host.model_copy(update={"prelaunched": variant.endswith("_pl")})
    changed = with_tasks(base, {name: {"variant": variant.removesuffix("_pl")}})
    return changed.model_copy(update={"host": host})


def _spent(node: Node, workload: Workload, name: str) -> Spent:
    run = run_once(node, alone(workload, name))
    return Spent(run.account, run.end)


def _entry(node: Node, run: Spent, moved: float) -> dict[str, Any]:
    """Energies of all GPUs; power is per GPU."""
    energy = run.total()
    return {
        "energy_j": energy,
        "power_w_per_gpu": energy / run.time / node.ranks,
        "energy_per_byte": energy / moved,
        "energy": by_component(node, run.account),
    }


def _savings(run: Spent, other: Spent, ends: Ends) -> dict[str, dict[str, float | None]]:
    low, high = band(run, other, ends)
    faster = other.time / run.time
    ratio = run.total() / other.total()
    return {
        what: {
            "saving": 1 - scale * ratio,
            "low": 1 - scale * high if ends else None,
            "high": 1 - scale * low if ends else None,
        }
        for what, scale in (("power", faster), ("energy", 1.0))
    }


def _large(rows: Sequence[Mapping[str, Any]], smallest: float) -> list[dict[str, Any]]:
    """Mean savings from *smallest* bytes on, an entry per collective and variant; band ends are
    means of the ends.
    """
    found = []
    for operation in dict.fromkeys(row["collective"] for row in rows):
        large = [
            row for row in rows if row["collective"] == operation and row["size_bytes"] >= smallest
        ]
        for variant in large[0]["variants"] if large else ():
            entry: dict[str, Any] = {"collective": operation, "variant": variant}
            for over in ("over_rccl", "over_pcpy"):
                entry[over] = {
                    what: _mean([row["variants"][variant][over][what] for row in large])
                    for what in ("power", "energy")
                }
            entry["moving"] = mean(row["variants"][variant]["moving"] for row in large)
            found.append(entry)
    return found


def _mean(entries: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    return {
        key: None if entries[0][key] is None else mean(entry[key] or 0.0 for entry in entries)
        for key in ("saving", "low", "high")
    }

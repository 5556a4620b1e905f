"""Energy that one run saves over another, with every energy of the node anywhere in its interval.

A run spends sum_i e_i a_i: the energies e_i of the node file times what was done, a_i; its
*account* has these products. A saving is 1 less a ratio of two such sums. The smallest and the
largest ratio lie at ends of intervals, and :func:`band` finds them exactly. Both runs share one set
of energies; times and clocks stay as simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from c3sim.machine.energy import IDLE
from c3sim.spec.sourced import Leaf

Account = Mapping[str, float]  # name of an energy -> J
Ends = Mapping[str, tuple[float, float]]  # name of an energy -> ends of its interval over its value
Saving = dict[str, float | None]
ROUNDS = 50  # of band; it ends after three or four


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


def savings(run: Mapping[str, Any], other: Mapping[str, Any], ends: Ends) -> dict[str, Saving]:
    """The savings of mean ``power`` over the run, and of ``energy``, over those of *other*. Both
    have their ``account`` and ``end`` [s].
    """
    low, high = band(run["account"], other["account"], ends)
    ratio = total(run["account"]) / total(other["account"])

    def saving(scale: float) -> Saving:
        least, most = (1 - scale * high, 1 - scale * low) if ends else (None, None)
        return {"saving": 1 - scale * ratio, "low": least, "high": most}

    return {"power": saving(other["end"] / run["end"]), "energy": saving(1.0)}


def mean_savings(several: Sequence[Mapping[str, Saving]]) -> dict[str, Saving]:
    """Means of savings, and of the ends of their bands."""

    def over(name: str) -> Saving:
        known = {
            end: [value for each in several if (value := each[name][end]) is not None]
            for end in ("saving", "low", "high")
        }
        return {end: mean(values) if values else None for end, values in known.items()}

    return {name: over(name) for name in ("power", "energy")}

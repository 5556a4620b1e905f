"""Published figures of an iteration beside the same figures here.

A claim is *of* one of these, in one *configuration*, or between it and the one *beside* it:

    share      of *classes* in the time of kernels
    longer     time of kernels over that of *beside*, less 1
    shorter    1 less the same
    speedup    time of *classes* beside, over that here
    change     share of *classes* less that in *beside*: more than 0 where it grows
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.studies.operator_shares.row import Row
from c3sim.studies.plain import IF_KNOWN

#: (row, row beside it, classes) -> figure
FIGURES: Mapping[str, Callable[[Row, Row, str], float]] = {
    "share": lambda row, _, classes: row.share(classes),
    "longer": lambda row, other, _: row.kernels_s / other.kernels_s - 1.0,
    "shorter": lambda row, other, _: 1.0 - row.kernels_s / other.kernels_s,
    "speedup": lambda row, other, classes: (
        other.share(classes) * other.kernels_s / (row.share(classes) * row.kernels_s)
    ),
    "change": lambda row, other, classes: row.share(classes) - other.share(classes),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """*text* and *standing* as the study has them; published from *low* to *high*; *simulated* by
    node, where the node has the configurations.
    """

    text: str
    of: str
    configuration: str
    beside: str | None = field(metadata=IF_KNOWN)
    standing: str
    low: float | None
    high: float | None
    simulated: Mapping[str, float]


def claims(rows: Sequence[Row], published: Sequence[Mapping[str, Any]]) -> list[Claim]:
    """Each of *published* that *rows* can answer. Raises InputError for one of no known figure."""
    known = {(row.node, row.configuration): row for row in rows}
    found = []
    for entry in published:
        if entry["of"] not in FIGURES:
            raise InputError(unknown("figure", entry["of"], FIGURES), "published.claims")
        name, other = entry["configuration"], entry.get("beside")
        simulated = {
            node: FIGURES[entry["of"]](row, known[node, other or name], entry.get("classes", ""))
            for (node, configuration), row in known.items()
            if configuration == name and (node, other or name) in known
        }
        if simulated:
            found.append(
                Claim(
                    text=entry["text"],
                    of=entry["of"],
                    configuration=name,
                    beside=other,
                    standing=entry["standing"],
                    low=entry.get("low"),
                    high=entry.get("high"),
                    simulated=simulated,
                )
            )
    return found

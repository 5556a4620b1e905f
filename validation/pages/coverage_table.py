"""Coverage on a terminal: a row per number, and how many are seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack

from ..compare.coverage import Sight

if TYPE_CHECKING:
    from rich.console import Group


def coverage_table(sights: Sequence[Sight]) -> Group:
    """Every number with the suites that notice when it is scaled."""
    table = make_table(["node", "number", "value", "noticed by"], [])
    for sight in sights:
        number = sight.number
        add_row(table, number.nodes[0], number.path, number.leaf.text, words(sight))
    counts = Counter(sight.state for sight in sights)
    total = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    return stack(f"{len(sights)} numbers, each scaled by 0.7 and 1.4: {total}", table)


def words(sight: Sight) -> str:
    """Which suites notice, those that miss a bound first."""
    if not sight.seen:
        return sight.state
    parts = [("misses a bound: ", sight.bound), ("moves: ", sight.moves)]
    return "; ".join(lead + ", ".join(suites) for lead, suites in parts if suites)

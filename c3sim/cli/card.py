"""The card of a node: totals of a GPU, what binds copies alone, what was taken over. Pure."""

from __future__ import annotations

from typing import Any

from c3sim.kit.layout import add_row, make_table
from c3sim.models.totals import Bound, bounds_of, totals_of
from c3sim.spec.reading.checks.plausible import contradictions, implausible
from c3sim.spec.reading.hardware import LoadedNode, load_hardware
from c3sim.spec.reading.inherited import left_behind
from c3sim.spec.reading.paths import canonical
from c3sim.spec.reading.settings import Settings
from c3sim.spec.units import format_si

#: Plain data for ``--json``, and the parts that are printed.
Card = tuple[dict[str, Any], list[Any]]


def card_of(loaded: LoadedNode, name: str, changes: Settings) -> Card:
    """Plain data and printed parts on *loaded*, the node of that *name* with *changes*."""
    node = loaded.node
    inherited = list(loaded.inherited)
    if changes:
        plain = load_hardware(name)
        inherited += left_behind(plain.provenance, plain.node, node, map(canonical, changes))
    totals, bounds = list(totals_of(node)), list(bounds_of(node))
    warnings = [f"contradiction: {path} {why}" for path, why, _ in contradictions(node)]
    warnings += implausible(node)
    data = {
        "totals": [each._asdict() for each in totals],
        "binding": [{**each._asdict(), "binds": each.path} for each in bounds],
        "inherited": [each.to_dict() for each in inherited],
        "warnings": warnings,
    }
    table = make_table(["total of a GPU", "value", "how"], [])
    for each in totals:
        add_row(table, each.name, format_si(each.value, each.unit), each.how)
    said = [_bound(each, loaded) for each in bounds]
    parts = [table, *said, *map(str, inherited), *warnings]
    return data, parts


def _bound(bound: Bound, loaded: LoadedNode) -> str:
    """A sentence on what binds, whether it was taken over, and what would bind next."""
    ranked = sorted(bound.limits, key=lambda path: bound.limits[path])
    first, *others = (f"{path} ({format_si(bound.limits[path], 'B/s')})" for path in ranked)
    origin = loaded.origin(ranked[0])
    taken = f", taken over from {origin}," if origin else ""
    return f"{bound.what}: bound by {first}{taken} before {', '.join(others)}"

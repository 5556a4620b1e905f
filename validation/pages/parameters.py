"""A table of every parameter of a node: value, unit, interval, suites it is fitted to, source."""

from __future__ import annotations

from collections.abc import Mapping

from c3sim.input.leaves import Leaf, provenance
from c3sim.input.units import format_si

from .kit.markup import cell, link, table, text

HEADERS = ["parameter", "#value", "unit", "allowed interval", "fitted to", "source"]


def parameters_table(parameters: Mapping[str, Leaf]) -> str:
    """A row for each parameter, in the order of the files."""
    return table(
        HEADERS, [_row(path, leaf) for path, leaf in parameters.items()], identity="parameters"
    )


def _row(path: str, leaf: Leaf) -> list[str]:
    value, _, unit = leaf.text.partition(" ") if leaf.unit else (leaf.text, "", "")
    interval = (
        f"{format_si(leaf.interval[0], leaf.unit)} to {format_si(leaf.interval[1], leaf.unit)}"
        if leaf.interval
        else ""
    )
    source = link(provenance(leaf) + (f" ({leaf.note})" if leaf.note else ""))
    kind = (
        '<span class="gap">estimate</span> '
        if leaf.estimate and not leaf.source.startswith("estimate")
        else ""
    )
    fitted = text(leaf.fitted.replace("+", ", "))
    return [
        cell(f"<code>{text(path)}</code>"),
        cell(text(value), "number"),
        cell(text(unit)),
        cell(text(interval)),
        cell(fitted),
        cell(kind + source, "source"),
    ]

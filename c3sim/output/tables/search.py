"""What a search prints: the front, best first objective first, each design with its knobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from c3sim.input.units import format_si
from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.tables.sweep import shown

if TYPE_CHECKING:
    from c3sim.sweeps.search import SearchResult


def to_dict(found: SearchResult) -> dict[str, Any]:
    """Plain data for ``--json``: the front, and how much was tried."""
    return {
        "study": found.loaded.study.name,
        "node": found.setup.node.name,
        "tried": len(found.rows),
        "broken": found.broken,
        "failed": len(found.failures),
        "objectives": found.directions,
        "front": [
            {"design": number, "knobs": dict(found.settings[number]), **found.rows[number]}
            for number in found.front
        ],
    }


def search_table(found: SearchResult) -> Any:
    """The front."""
    objectives = [
        f"{name}\n({'more' if more else 'less'} is better)"
        for name, more in found.objectives.items()
    ]
    knobs = [knob for knob in found.knobs if len(knob.choices) != 1]
    table = make_table(["design"], [*objectives, *(_words(knob.path) for knob in knobs)])
    for number in found.front:
        row, settings = found.rows[number], dict(found.settings[number])
        values = (
            row["strategy"] if knob.path == "strategy" else settings[knob.path] for knob in knobs
        )
        cells = [shown(name, row[name]) for name in found.objectives]
        cells += [_written(value, knob.unit) for knob, value in zip(knobs, values, strict=True)]
        add_row(table, str(number), *cells)
    lines = [
        f"{len(found.rows)} designs tried, {len(found.front)} on the front: no other beats one of them in all objectives"
    ]
    if found.broken:
        lines.append(f"{found.broken} broke a constraint")
    if found.failures:
        lines.append(f"{len(found.failures)} could not be run; the first: {found.failures[0]}")
    return stack(f"{found.loaded.study.name} on {found.setup.node.name}", table, *lines)


def _words(path: str) -> str:
    return "\n".join(path.replace("_", " ").split(".")[-2:])


def _written(value: Any, unit: str) -> str:
    return (
        format_si(value, unit)
        if isinstance(value, float) and unit
        else f"{value:.6g}"
        if isinstance(value, float)
        else str(value)
    )

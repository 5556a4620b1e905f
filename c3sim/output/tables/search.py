"""The table of ``optimise``: the front, each design with its knobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from c3sim.kit.layout import add_row, make_table, stack
from c3sim.output.tables.sweep import shown
from c3sim.spec.units import format_si

if TYPE_CHECKING:
    from c3sim.experiments.gain import Gain
    from c3sim.experiments.search import SearchResult


def to_dict(result: SearchResult) -> dict[str, Any]:
    """Plain data for ``--json``: the front, and how much was tried."""
    return {
        "study": result.loaded.study.name,
        "node": result.setup.node.name,
        "tried": len(result.rows),
        "broken": result.broken,
        "failed": len(result.failures),
        "objectives": result.directions,
        "gains": {name: gain.to_dict() for name, gain in result.gains.items()},
        "front": [
            {"design": number, "knobs": dict(result.settings[number]), **result.rows[number]}
            for number in result.front
        ],
    }


def search_table(result: SearchResult) -> Any:
    objectives = [
        f"{name}\n({'more' if more else 'less'} is better)"
        for name, more in result.objectives.items()
    ]
    knobs = [knob for knob in result.knobs if len(knob.choices) != 1]
    table = make_table(["design"], [*objectives, *(_words(knob.path) for knob in knobs)])
    for number in result.front:
        row, settings = result.rows[number], dict(result.settings[number])
        values = (
            row["strategy"] if knob.path == "strategy" else settings[knob.path] for knob in knobs
        )
        cells = [shown(name, row[name]) for name in result.objectives]
        cells += [_written(value, knob.unit) for knob, value in zip(knobs, values, strict=True)]
        add_row(table, str(number), *cells)
    lines = [
        f"{len(result.rows)} designs tried, {len(result.front)} on the front: "
        "no other beats one of them in all objectives"
    ]
    if result.broken:
        lines.append(f"{result.broken} broke a constraint")
    if result.failures:
        lines.append(f"{len(result.failures)} could not be run; the first: {result.failures[0]}")
    lines += [gain_line(name, gain) for name, gain in result.gains.items()]
    return stack(f"{result.loaded.study.name} on {result.setup.node.name}", table, *lines)


def gain_line(name: str, gain: Gain) -> str:
    """A line: the value that is there, that of the best design, and how sure the difference is."""
    best = f"{name}: {shown(name, gain.best)} with design {gain.design}"
    if gain.there is None:
        return f"{best}; what is there cannot be run"
    there = f"{shown(name, gain.there)} as it is ({gain.strategy})"
    if gain.verdict == "nothing":
        return f"{name}: nothing to gain: {there}, {shown(name, gain.best)} at best"
    line = f"{best}, {there}"
    if not gain.band:
        return f"{line}; how sure is not known: the node says no intervals"
    low, high = (_signed(name, gain.band[end]) for end in ("p5", "p95"))
    sure = "sure" if gain.verdict == "gained" else "not sure"
    return f"{line}: {sure}, {low} to {high} in 90 % of {gain.draws} draws"


def _signed(name: str, value: float) -> str:
    return f"{'+' if value >= 0 else '-'}{shown(name, abs(value))}"


def _words(path: str) -> str:
    return "\n".join(path.replace("_", " ").split(".")[-2:])


def _written(value: Any, unit: str) -> str:
    if not isinstance(value, float):
        return str(value)
    return format_si(value, unit) if unit else f"{value:.6g}"

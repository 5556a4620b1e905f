"""The right side as data for the page's script: figures, pictures, warnings, what was pinned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from c3sim.experiments.outputs import read_output
from c3sim.iterations.glance import Glance
from c3sim.kit.text import FRACTION_EXPLAINED, MISSING, figures, percent, size, time_unit, times
from c3sim.lab.knobs import OWN
from c3sim.lab.runs import Accounts, Outcome, classes_of
from c3sim.output.page.data import CAUSES
from c3sim.output.tables.run import EXPLAINED, parts_rows
from c3sim.output.tables.sensitivity import outside_band
from c3sim.result import Result

if TYPE_CHECKING:
    from c3sim.experiments.bands import Band

BAND_EXPLAINED = "band: every parameter of the machine drawn over its interval"
TIMES = {
    "wall_s": "wall time",
    "serial_s": "one task after the other",
    "exposed_s": "exposed communication",
    "stretched_s": "compute stretched by",
    "compute_s": "computation alone",
    "communication_s": "communication alone",
}
SHARES = {"fraction_of_ideal": "fraction of ideal", "own_fraction": "own fraction", "mfu": "MFU"}
RATIOS = {"speedup": "speedup", "ideal_speedup": "ideal speedup"}
AMOUNTS = {"energy_j": ("energy", "J"), "tokens_per_s": ("tokens", "a second")}
COMING = "\u2026"  # a figure that is being computed
BYTES = {"memory_bytes": "memory of a GPU"}
ORDER = (
    *("wall_s", "fraction_of_ideal", "speedup", "ideal_speedup", "serial_s", "exposed_s"),
    *("stretched_s", "own_fraction", "energy_j"),
)
OF_ITERATION = ("compute_s", "communication_s", "tokens_per_s", "mfu", "memory_bytes")


def table(now: Result, pinned: Result | None, band: Band | None) -> list[dict[str, str]]:
    """Rows of the figures: label, value now, band, value pinned, difference; all texts."""
    longest = max(now.wall_s, pinned.wall_s if pinned else 0.0)
    rows = []
    more = [name for name in OF_ITERATION if read_output(now, name) is not None]
    for name in (*ORDER, *more, *_slowdowns(now)):
        label, value = label_of(name), read_output(now, name)
        row = {"name": name, "label": label, "now": text_of(name, value, longest)}
        if band is not None and name in band.outputs:
            ends = (text_of(name, band.outputs[name][end], longest) for end in ("p5", "p95"))
            row["band"] = " to ".join(ends)
        if pinned is not None:
            before = read_output(pinned, name)
            row["pinned"] = text_of(name, before, longest)
            row["difference"] = difference(name, before, value)
        rows.append(row)
    return rows


def table_of_look(now: Outcome, pinned: Result | None) -> list[dict[str, str]]:
    """The same of a first look: the wall time, about where it is an estimate; the rest comes."""
    assert now.look is not None
    wall, about = now.look.wall_s, "about " if now.look.layers else ""
    longest, rows = max(wall, pinned.wall_s if pinned else 0.0), []
    for name in ORDER:
        row = {"name": name, "label": label_of(name), "now": COMING}
        if name == "wall_s":
            row["now"] = look_text(now.look, longest)
        if pinned is not None:
            before = read_output(pinned, name)
            row["pinned"], row["difference"] = text_of(name, before, longest), COMING
            if name == "wall_s":
                row["difference"] = about + difference(name, before, wall)
        rows.append(row)
    return rows


def look_text(look: Glance, longest: float) -> str:
    """The wall time of a first look, of an estimate three figures, in the unit of *longest* [s]."""
    if not look.layers:
        return text_of("wall_s", look.wall_s, longest)
    unit, length = time_unit(longest)
    return f"about {figures(look.wall_s / length, 3)} {unit}"


def _slowdowns(result: Result) -> Iterator[str]:
    if len(result.tasks) <= OWN:
        yield from (f"tasks.{name}.slowdown" for name in result.tasks)


def label_of(name: str) -> str:
    amounts = {key: text for key, (text, _) in AMOUNTS.items()}
    known = {**TIMES, **SHARES, **RATIOS, **BYTES, **amounts}
    return known.get(name) or f"slowdown of {name.removeprefix('tasks.').removesuffix('.slowdown')}"


def text_of(name: str, value: float | None, longest: float) -> str:
    """*value* with its unit; times in the unit of the *longest* [s] shown."""
    if value is None:
        return MISSING
    if name in TIMES:
        unit, length = time_unit(longest)
        return f"{value / length:z.3f} {unit}"
    if name in SHARES:
        return f"{percent(value)} %"
    if name in BYTES:
        return size(value)
    if name in AMOUNTS:
        return f"{figures(value)} {AMOUNTS[name][1]}"
    return times(value)


def difference(name: str, before: float | None, value: float | None) -> str:
    """From *before* to *value*: per cent, of shares points."""
    if before is None or value is None:
        return MISSING
    if name in SHARES:
        return f"{100 * (value - before):+z.1f} points"
    return f"{100 * (value / before - 1):+z.1f} %" if before else MISSING


def data_of(
    now: Outcome,
    pinned: Outcome | None,
    band: Band | None,
    accounts: Accounts | None,
    pinned_accounts: Accounts | None,
) -> dict[str, Any]:
    """Data that the page's script draws."""
    data: dict[str, Any] = {"problem": now.problem, "command": now.choice.command()}
    if now.run is None:
        return data
    before = None if pinned is None else pinned.result
    shown = [
        (outcome, given or Accounts())
        for outcome, given in ((now, accounts), (pinned, pinned_accounts))
        if outcome is not None and outcome.run
    ]
    data |= {
        "said": said(now),
        "look": now.result is None,
        "rows": table_of_look(now, before) if now.look else [],
        "warnings": now.warnings,
        "remarks": [],
        "keys": [FRACTION_EXPLAINED, *([BAND_EXPLAINED, *_outside(now, band)] if band else [])],
        "runs": _runs(shown),
        "titles": [title(outcome) for outcome, _ in shown],
        "means": CAUSES,
        "classes": [],
    }
    if now.result is not None:
        data |= {
            "rows": table(now.result, before, band),
            "remarks": [text for text in (*now.remarks, now.result.trust, *now.elsewhere) if text],
            "classes": _classes(now.result),
        }
    return data


def _outside(now: Outcome, band: Band) -> list[str]:
    """Why figures lie outside their band; nothing of those inside."""
    if now.result is None:
        return []
    return [
        label_of(name) + line.removeprefix(name)
        for name in band.outputs
        for line in outside_band(name, read_output(now.result, name), band)
    ]


def _runs(shown: Sequence[tuple[Outcome, Accounts]]) -> list[dict[str, Any]]:
    """Runs as they are drawn; on one axis where as many layers are drawn of each."""
    longest = max(outcome.run["end"] for outcome, _ in shown if outcome.run)
    alike = len({outcome.drawn for outcome, _ in shown}) == 1
    return [
        {
            **(outcome.run or {}),
            **({"axis": longest} if alike else {}),
            "explained": given.tasks,
            **_parts(given),
        }
        for outcome, given in shown
    ]


def _parts(accounts: Accounts) -> dict[str, Any]:
    """Texts on where the time of an iteration or of many tasks went."""
    if not accounts.parts:
        return {}
    heads, rows = parts_rows(accounts.parts)
    return {"parts": {"heads": heads, "rows": rows, "explained": EXPLAINED}}


def title(outcome: Outcome) -> str:
    """Title of a run: one line, and how much of it is drawn."""
    choice = outcome.choice
    changed = "".join(f", {path} = {text}" for path, text in choice.settings.items())
    drawn = outcome.drawn
    part = f"; drawn: {drawn[0]} of {drawn[1]} layers" if drawn and drawn[0] < drawn[1] else ""
    return f"{outcome.name} on {outcome.node}, strategy {choice.strategy}{changed}{part}"


def said(outcome: Outcome) -> str:
    """The answer in one line, which is read aloud as it changes."""
    look, result = outcome.look, outcome.result
    if look is not None:
        wall = look_text(look, look.wall_s)
        return f"wall time {wall}, a first look" if look.layers else f"wall time {wall}"
    assert result is not None  # only of what ran
    text = f"wall time {text_of('wall_s', result.wall_s, result.wall_s)}"
    if result.fraction_of_ideal is not None:
        text += f", fraction of ideal {percent(result.fraction_of_ideal)} %"
    return f"{text}, speedup {times(result.speedup)}"


def _classes(result: Result) -> list[list[str]]:
    """Time of an iteration, or a trace, by class: each class of operators, busy and alone."""
    longest = result.wall_s
    return [
        [name, *(text_of("wall_s", seconds, longest) for seconds in (busy, exposed))]
        for name, busy, exposed in classes_of(result)
    ]

"""The table of what changed from one run to another, by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.evaluation.differences import WALL, Difference, Differences
from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, percent, time_unit

if TYPE_CHECKING:
    from rich.console import Group

LEAST = 5e-4  # of the longer time: causes that change it by less have no row


def differences_table(found: Differences) -> Group:
    """Before, after and change of each time, its causes below it; what each changed number adds;
    the band of the change of the wall time.
    """
    longest = max(
        (time or 0.0 for each in found.times.values() for time in (each.before, each.after)),
        default=0.0,
    )
    unit, length = time_unit(longest)
    heads = [f"{head}\n({unit})" for head in ("before", "after", "change")]
    table = make_table(["time", "by cause"], [*heads, "change\n(%)"])
    for name, each in found.times.items():
        shares = percent(each.change / each.before) if each.change and each.before else MISSING
        times = (_time(time, length) for time in (each.before, each.after))
        add_row(table, name, "", *times, _change(each.change, length), shares)
        for cause, change in _causes(each):
            add_row(table, "", cause.replace("_", " "), "", "", _change(change, length), "")
    lines = [f"{path}: {_change(change, length)} {unit}" for path, change in found.numbers.items()]
    if lines:
        lines = ["of the change of the wall time, by number:", *lines]
    return stack(f"against: {found.about}", table, *lines, *band_line(found))


def band_line(found: Differences) -> list[str]:
    """The band of the change of the wall time, in a line."""
    band = found.band
    if not band:
        return []
    unit, length = time_unit(max(map(abs, band.values())))
    low, middle, high = (_change(band[end], length) for end in ("p5", "median", "p95"))
    said = (
        f"change of the wall time: {low} to {high} {unit} in 90 % of {found.draws} draws, median"
        f" {middle}; what both runs do not know is drawn alike"
    )
    change = found.times[WALL].change if WALL in found.times else None
    if change is not None and not band["p5"] <= change <= band["p95"]:
        said += ". The values of the files lie to one side of their intervals: theirs is outside"
    return [said]


def _causes(each: Difference) -> list[tuple[str, float]]:
    least = LEAST * max(each.before or 0.0, each.after or 0.0)
    return [(cause, change) for cause, change in each.parts.items() if abs(change) > least]


def _time(time: float | None, length: float) -> str:
    return MISSING if time is None else f"{time / length:.3f}"


def _change(change: float | None, length: float) -> str:
    return MISSING if change is None else f"{change / length:+z.3f}"

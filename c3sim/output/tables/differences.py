"""The table of what changed from one run to another, by cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from c3sim.evaluation.differences import (
    ALONE,
    CONTENTION,
    KERNEL,
    NUMBER,
    WALL,
    Difference,
    Differences,
)
from c3sim.kit.layout import add_row, make_table, stack
from c3sim.kit.text import MISSING, percent, time_unit
from c3sim.spec.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

NAME = 28  # characters of a kernel's
SHOWN = 24  # times
WAITED = "waited for tasks"
SAME = 1e-9  # relative: no change
LEAST = 5e-4  # of the longer time: causes that change it by less have no row


def traces_table(found: Differences) -> Group:
    """The wall time of two traces in a line; a row for each class and for the kernels that changed
    most, with the causes side by side.
    """
    wall = found.times[WALL]
    assert wall.before is not None and wall.after is not None
    unit, length = time_unit(max(wall.before, wall.after))
    parts = ", ".join(f"{cause} {_change(change, length)}" for cause, change in wall.parts.items())
    lines = [
        f"traces: {found.about}",
        f"wall {_time(wall.before, length)} -> {_time(wall.after, length)} {unit}: {parts}",
    ]
    heads = ("before", "after", "change", "by\nnumber", "alone", "con-\ntention")
    tables = []
    for title, kernels in (("class", False), ("kernel", True)):
        table = make_table([title], [*heads])
        for name, each in found.times.items():
            if name != WALL and name.startswith(KERNEL) == kernels:
                causes = (each.parts[cause] for cause in (NUMBER, ALONE, CONTENTION))
                times = (_time(time, length) for time in (each.before, each.after))
                moved = (_change(change, length) for change in (each.change, *causes))
                add_row(table, _middle(name.removeprefix(KERNEL)), *times, *moved)
        tables.append(table)
    return stack(*lines, tables[0], tables[1], f"times in {unit}, added up over kernels")


def _middle(name: str) -> str:
    """*name* without its middle where it is long: names of kernels differ at their end."""
    return name if len(name) <= NAME else f"{name[: NAME // 3]}..{name[-(NAME - NAME // 3 - 2) :]}"


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
    rows = _most(found.times)
    for name, each in rows.items():
        shares = percent(each.change / each.before) if each.change and each.before else MISSING
        times = (_time(time, length) for time in (each.before, each.after))
        add_row(table, name, "", *times, _change(each.change, length), shares)
        for cause, change in _causes(each):
            add_row(table, "", cause.replace("_", " "), "", "", _change(change, length), "")
    lines = [f"{path}: {_change(change, length)} {unit}" for path, change in found.numbers.items()]
    if lines:
        lines = ["of the change of the wall time, by number:", *lines]
    if len(rows) < len(found.times):
        said = "changed most, waiting for others left out; --json has all"
        lines = [f"the {len(rows) - 1} of {len(found.times) - 1} times that {said}", *lines]
    return stack(f"against: {found.about}", table, *lines, *band_line(found))


def _most(times: Mapping[str, Difference]) -> Mapping[str, Difference]:
    """*times*, in order; of many the wall time and those that changed most by themselves."""
    if len(times) <= SHOWN:
        return times

    def own(name: str) -> float:
        return sum(abs(part) for cause, part in times[name].parts.items() if cause != WAITED)

    kept = {WALL, *sorted(times, key=own, reverse=True)[:SHOWN]}
    return {name: each for name, each in times.items() if name in kept}


def rows_table(rows: pd.DataFrame, most: int) -> Group:
    """Rows of two result files (``of_results``), before and after, *most* of those that changed
    most.
    """
    *keys, shown = rows.attrs["columns"].values()
    table = make_table([key.label for key in keys], ["before", "after", "change\n(%)"])
    for _, row in rows.head(most).iterrows():
        texts = [key.text(row[key.name]) for key in keys]
        times = (shown.text(row[end]) for end in ("before", "after"))
        add_row(table, *texts, *times, percent(row["change"]))
    change, lines = rows["change"], []
    if len(rows):
        changed = int((change.abs() > SAME).sum())
        low, middle, high = map(percent, (change.min(), change.median(), change.max()))
        by = f": by {low} to {high} %, {middle} % in the median" if changed else ""
        lines.append(f"{counted(len(rows), 'row')} in both files, {changed} changed{by}")
    lines += [
        f"{counted(count, 'row')} only {end}: not compared"
        for count, end in zip(rows.attrs["alone"], ("before", "after"), strict=True)
        if count
    ]
    if left_out := rows.attrs["left_out"]:
        lines.append(f"{left_out} more without a number in one of them, or with 0 before")
    if len(rows) > most:
        lines.append(f"the {most} that changed most; --json has all")
    better = f" ({shown.better} is better)" if shown.better else ""
    return stack(f"{shown.label}{better}", table, *lines)


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

"""Phases of collectives across nodes as a table: begin, end, and time of sending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table
from c3sim.output.kit.text import percent, time_unit
from c3sim.result import Result

if TYPE_CHECKING:
    from rich.table import Table


def phase_tables(result: Result) -> list[Table]:
    """A table for all tasks of *result* that ran in phases; empty where there is none."""
    phased = {name: task for name, task in result.tasks.items() if task.detail.get("phases")}
    if not phased:
        return []
    unit, length = time_unit(result.wall_s)
    clocks = [f"{name}\n({unit})" for name in ("start", "end", "sending")]
    table = make_table(["task", "phase"], ["parts", *clocks, "of its time\n(%)"])
    for name, task in phased.items():
        for position, phase in enumerate(task.detail["phases"]):
            start, end, sending = (phase[key] for key in ("start_s", "end_s", "sending_s"))
            spans = (f"{time / length:.3f}" for time in (start, end, sending))
            parts = str(task.detail["parts"]) if position == 0 else ""
            busy = percent(sending / (end - start)) if end > start else percent(None)
            add_row(table, "" if position else name, phase["name"], parts, *spans, busy)
    return [table]

"""Tables of a study of kind ``training_overlap``: the variants of each step, and what they lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import figures, percent
from c3sim.studies.show import grouped, remarks
from c3sim.studies.training_overlap.study import OverlapResult, Row

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

WORDS = {
    "exposed": "exposed communication",
    "compute_units": "compute units",
    "hbm": "memory bandwidth",
    "clock": "clock",
}


def tables(study: OverlapResult) -> list[RenderableType]:
    from rich.text import Text

    steps = grouped(study.rows, lambda row: (row.model, row.node))
    parts: list[RenderableType] = [
        step_table(f"{study.about.name}: {rows[0].layers} layers of {model} on {node}", rows)
        for (model, node), rows in steps.items()
    ]
    lines = remarks(study.published)
    return [*parts, Text("\n".join(lines))] if lines else parts


def step_table(title: str, rows: Sequence[Row]) -> Group:
    """A row per variant: times, how much it hides, what it loses and why."""
    headers = ["wall\n(ms)", "compute\n(ms)", "communi-\ncation (ms)", "exposed\n(ms)"]
    headers += ["stretched\n(ms)", "hidden\n(%)", "MFU\n(%)"]
    table = make_table(["variant"], [*headers, *(_header(kind) for kind in rows[0].removal)])
    for row in rows:
        times = (row.wall_s, row.compute_s, row.communication_s, row.exposed_s, row.stretched_s)
        add_row(
            table,
            row.variant + ("" if row.fits else " (too large)"),
            *(figures(1e3 * time, 4) for time in times),
            percent(row.hidden, 0),
            percent(row.mfu),
            *(percent(share) for share in row.removal.values()),
        )
    limits = "; ".join(f"{row.variant}: {WORDS[row.limited_by]}" for row in rows)
    return stack(
        title,
        table,
        "hidden: of the communication of the first variant; without ...: part of the wall time that"
        " goes if computing and communication do not share it",
        f"limited by: {limits}",
    )


def _header(kind: str) -> str:
    return f"without\n{WORDS[kind].split()[0]} (%)"

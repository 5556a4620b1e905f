"""The energy of one run: a row for each component, a column for each task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table
from c3sim.output.kit.text import MISSING, figures, percent
from c3sim.result import Result

if TYPE_CHECKING:
    from rich.table import Table

UNVALIDATED = (
    "energies are not validated: no power was measured, most energies per action are estimates"
)
WIDTH = 52  # characters for the columns of tasks; where they need more, only the total is shown
LEAST = 8  # of a column


def standing(measured: str) -> str:
    """A sentence on the trust in a node's energies; *measured* is what its file says of it."""
    return f"energies were compared with measured power: {measured}" if measured else UNVALIDATED


def _shown(result: Result) -> list[str]:
    """The tasks that have a column: all or none."""
    return list(result.tasks) if sum(max(LEAST, len(n)) + 2 for n in result.tasks) <= WIDTH else []


def energy_table(result: Result) -> Table:
    """Energy [J] of all GPUs by component: total, share, mean power, and each task's part.

    Components without energy are left out; idle power belongs to no task.
    """
    names = _shown(result)
    columns = ["energy\n(J)", "share\n(%)", "mean power\n(W)", *(f"{name}\n(J)" for name in names)]
    table = make_table(["component"], columns)
    for component, joules in result.power.energy.items():
        if joules:
            parts = [result.tasks[name].energy.get(component) for name in names]
            cells = (MISSING if part is None else figures(part) for part in parts)
            share, power = percent(joules / result.energy_j), figures(joules / result.wall_s)
            shown = result.power.component_names.get(component, component)
            add_row(table, shown, figures(joules), share, power, *cells)
    table.add_section()
    total = [figures(result.energy_j), percent(1.0), figures(result.power.average_w)]
    add_row(table, "in all", *total, *(figures(result.tasks[name].energy_j) for name in names))
    per_byte = [result.tasks[name].energy_per_byte for name in names]
    if any(per_byte):
        cells = (
            MISSING if value is None else f"{figures(1e12 * value)} pJ/B" for value in per_byte
        )
        add_row(table, "per byte moved", *[""] * 3, *cells)
    return table

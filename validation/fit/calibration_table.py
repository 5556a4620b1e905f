"""A calibration on a terminal: a table per group, and what the data could not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.input.leaves import in_file_units
from c3sim.output.kit.layout import WIDE, add_row, make_table, show, stack
from c3sim.output.kit.text import percent

from .calibrate import Calibration, GroupFit
from .calibration_text import value_in_file_units

if TYPE_CHECKING:
    from rich.console import Group


def calibration_table(calibration: Calibration) -> Group:
    """Every group in the order of fitting."""
    parts = [part for group in calibration.groups for part in _group(group)]
    missing = [
        f"no data for {'+'.join(group.suites)}: {', '.join(group.leaves)}"
        for group in calibration.without_data
    ]
    left = f"{calibration.held_out} validation records of this node were left out"
    return stack(f"calibration of {calibration.node.name}", *parts, *missing, left)


def _group(group: GroupFit) -> list[object]:
    table = make_table(["parameter"], ["was", "value", "95 % interval"])
    notes = []
    for fitted in group.fit.parameters:
        leaf = group.group.leaves[fitted.path]
        value = value_in_file_units(leaf, fitted) if fitted.identified else "kept"
        ends = f"{in_file_units(leaf, fitted.low)} to {in_file_units(leaf, fitted.high)}"
        add_row(
            table, fitted.path, leaf.text, value, ends if fitted.identified else f"allowed: {ends}"
        )
        if not fitted.identified:
            notes.append(f"{fitted.path}: the data do not tell it; value and interval stay")
        if fitted.entangled_with:
            notes.append(f"{fitted.path}: not told apart from {', '.join(fitted.entangled_with)}")
    residual = f"median residual {percent(group.median_residual)} %"
    return [
        f"\n{' + '.join(group.group.suites)}: {len(group.records)} records, {residual}",
        table,
        *notes,
    ]


def print_calibration(calibration: Calibration) -> None:
    """Print :func:`calibration_table` on standard error, so that standard output is YAML alone."""
    from rich.console import Console

    console = Console(stderr=True)
    show(
        calibration_table(calibration),
        console if console.is_terminal else Console(stderr=True, width=WIDE),
    )

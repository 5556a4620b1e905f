"""A step held against the one that was measured: what differs, by class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from c3sim.iterations.calibrated import Calibrated
from c3sim.kit.layout import add_row, make_table, stack
from c3sim.kit.text import MISSING, time_unit

if TYPE_CHECKING:
    from rich.console import Group

EXPLAINED = (
    "takes: how many times as long its operators take on that machine as the node's file says;\n"
    "calibrated: the step with that"
)


FAR = "is less than 2/3 or more than 3/2 of what was measured; is it that step?"


def _apart(ratio: float) -> bool:
    return not 2 / 3 <= ratio <= 3 / 2


def measured_table(
    found: Calibrated, what_if_s: float | None, band: tuple[Mapping[str, float], int]
) -> Group:
    """Classes, the host, exposed communication and wall time: measured, predicted, calibrated; and
    the wall time of a what-if, with its *band* (s by percentile, draws).
    """
    measured = found.measured
    unit, length = time_unit(measured.wall_s)
    columns = [f"{name}\n({unit})" for name in ("measured", "predicted")]
    table = make_table(
        [measured.name], [*columns, "off\n(%)", "takes\n(x)", f"calibrated\n({unit})"]
    )
    for name, was, before, after, takes in found.rows():
        cells = [MISSING if was is None else f"{was / length:.3f}", f"{before / length:.3f}"]
        cells.append(MISSING if not was else f"{100 * (before / was - 1):+.1f}")
        cells += [MISSING if takes is None else f"{takes:.2f}", f"{after / length:.3f}"]
        add_row(table, name, *cells)
    far = [name for name, was, before, *_ in found.rows()[:-2] if was and _apart(before / was)]
    lines = [f"look at the file: {', '.join(far)} {FAR}"] if far else []
    lines += [f"left over: {100 * (found.left_over - 1):+.1f} % of wall that neither explains"]
    if what_if_s is not None:
        wall = what_if_s * found.left_over
        change = wall / measured.wall_s - 1
        line = f"what if: wall {wall / length:.3f} {unit}, {100 * change:+.1f} % of the measured"
        values, draws = band
        if values:
            low, high = (values[name] / length for name in ("p5", "p95"))
            line += f"; 90 % of {draws} draws within {low:.3f} to {high:.3f} {unit}"
        lines.append(line)
    title = f"{found.before.workload} on {found.before.node}, held against {measured.name}"
    return stack(title, table, EXPLAINED, *lines)

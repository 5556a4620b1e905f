"""The table of an iteration: where its time went, by operator class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.iterations.result import IterationResult
from c3sim.iterations.shares import FURTHER
from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, figures, percent, size, time_unit

if TYPE_CHECKING:
    from rich.console import Group


def iteration_table(result: IterationResult) -> Group:
    """Its times in a header, a row per operator class, notes."""
    unit, length = time_unit(result.wall_s)

    def time(seconds: float) -> str:
        return f"{seconds / length:.3f} {unit}"

    head = (
        f"wall {time(result.wall_s)}: computation alone {time(result.compute_s)},"
        f" communication alone {time(result.communication_s)}\n"
        f"exposed communication {time(result.overlap.exposed_s)}, operators stretched by"
        f" {time(result.overlap.stretched_s or 0.0)}\n"
        f"{figures(result.tokens_per_s)} tokens/s, MFU {percent(result.mfu)} %, energy"
        f" {figures(result.energy_j)} J, mean power {figures(result.power.average_w)} W\n"
        f"memory {size(result.memory_bytes)} per GPU, launches {time(result.host_s)} of the host"
    )
    columns = [f"busy\n({unit})", f"alone\n({unit})", "share of\nwall (%)"]
    table = make_table(["operator class"], columns)
    for name in (*result.overlap.classes, *FURTHER):
        times, part = result.overlap.classes.get(name), result.parts.get(name, 0.0)
        if part or (times and times.busy_s):
            own = (times.busy_s, times.exposed_s) if times else ()
            cells = [f"{each / length:.3f}" for each in own] or [MISSING, MISSING]
            add_row(table, name, *cells, percent(part / result.wall_s))
    add_row(table, "wall", MISSING, MISSING, percent(sum(result.parts.values()) / result.wall_s))
    title = f"{result.workload} on {result.node}, strategy {result.strategy}"
    return stack(
        title,
        head,
        table,
        "alone: time in which only that class runs",
        "share: time in which operators run is theirs, in equal parts; launches, waiting: nothing"
        "\nruns until an operator, or a collective, does",
        *(f"note: {note}" for note in result.notes),
    )

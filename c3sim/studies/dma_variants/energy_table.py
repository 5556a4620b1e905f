"""Power and energy per byte of DMA variants by size, and savings beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import figures, percent, size
from c3sim.output.tables.energy import standing
from c3sim.studies.dma_variants.energy import Energy, EnergyRow, Saving
from c3sim.studies.dma_variants.row import PRELAUNCHED
from c3sim.studies.show import grouped

if TYPE_CHECKING:
    from rich.console import Group, RenderableType


def energy_parts(energy: Energy, node: str) -> list[RenderableType]:
    """A table per collective, then what the means at large sizes come to."""
    from rich.text import Text

    by_operation = grouped(energy.rows, lambda row: row.collective)
    tables = [_table(f"{name} on {node}", rows) for name, rows in by_operation.items()]
    return [*tables, Text("\n".join([*_savings(energy), standing(energy.measured)]))]


def _table(title: str, rows: Sequence[EnergyRow]) -> Group:
    """A row per size. Prelaunch changes power little, so only its energies are shown."""
    names = list(rows[0].variants)
    powers = [name for name in names if not name.endswith(PRELAUNCHED)]
    energies = ["pcpy", *(name for name in names if name.endswith(PRELAUNCHED))]
    columns = [
        *(f"{name}\n(W)" for name in ("rccl", *powers)),
        "pcpy under\nrccl (%)",
        *(f"{name}\n(nJ/B)" for name in ("rccl", *energies)),
    ]
    table = make_table(["size"], columns)
    for row in rows:
        runs = {"rccl": row.rccl, **{name: run.whole for name, run in row.variants.items()}}
        add_row(
            table,
            size(row.size_bytes),
            *(f"{runs[name].power_w_per_gpu:.0f}" for name in ("rccl", *powers)),
            _saving(row.variants["pcpy"].over_rccl.power),
            *(figures(1e9 * runs[name].energy_per_byte) for name in ("rccl", *energies)),
        )
    has_band = rows[0].variants["pcpy"].over_rccl.power.low is not None
    brackets = "in brackets: with every energy anywhere in its interval; " if has_band else ""
    return stack(
        f"{title}: mean power per GPU (W), and energy per byte moved (nJ/B); idle power included",
        table,
        f"{brackets}rccl: on compute units",
    )


def _saving(saving: Saving) -> str:
    """In per cent, the band in brackets: 25.6 (4 to 45)."""
    if saving.low is None:
        return percent(saving.saving)
    return f"{percent(saving.saving)} ({percent(saving.low, 0)} to {percent(saving.high, 0)})"


def _savings(energy: Energy) -> list[str]:
    """Mean savings at large sizes beside the published ones, a line per collective and variant."""
    if energy.large is None or energy.published is None:
        return []
    published = energy.published
    low, high = published["saving_of_variants"]
    lines = [
        f"mean power from {size(published['large_bytes'])} on; published: pcpy"
        f" {percent(published['saving_over_rccl'], 0)} % less than rccl, variants"
        f" {percent(low, 0)} to {percent(high, 0)} % less than pcpy"
        " (at which sizes is not said)"
    ]
    for large in energy.large:
        of = f"{large.collective}, {large.variant}"
        if large.variant == "pcpy":
            lines.append(f"{of}: {_saving(large.over_rccl.power)} % less than rccl")
        elif not large.variant.endswith(PRELAUNCHED):
            saving = f"{_saving(large.over_pcpy.power)} % less than pcpy, being slower"
            lines.append(f"{of}: {saving}; {percent(large.moving)} % less at pcpy's rate")
    return lines

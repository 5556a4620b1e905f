"""Tables of a study of kind ``dma_variants``: phases, speedups by size, claims, energies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, figures, percent, size
from c3sim.studies.dma_variants.energy_table import energy_parts
from c3sim.studies.dma_variants.row import Row
from c3sim.studies.dma_variants.study import DmaVariantsResult
from c3sim.studies.show import grouped, remarks

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

PHASES = ("control", "schedule", "copy", "sync")


def tables(study: DmaVariantsResult) -> list[RenderableType]:
    from rich.text import Text

    by_operation = grouped(study.rows, lambda row: row.collective)
    return [
        phase_table(study),
        *(
            speedup_table(f"{name} on {study.about.node}", rows)
            for name, rows in by_operation.items()
        ),
        *([claim_table(study)] if study.claims else []),
        *energy_parts(study.energy, study.about.node),
        Text("\n".join([*_errors(study), *remarks(study.published)]) or MISSING),
    ]


def speedup_table(where: str, rows: Sequence[Row]) -> Group:
    """A row per size: the time of pcpy, speedups over it, simulated and published, the best one."""
    names = [name for name in rows[0].variants if name != "pcpy"]
    headers = ["pcpy\n(us)", *(f"{name}\n(x)" for name in names), "rccl\n(x)"]
    table = make_table(["size", "best"], headers)
    for row in rows:
        pcpy = row.variants["pcpy"].time_us
        speedups = (_beside(row.speedups[name], row.published.get(name)) for name in names)
        against = f"{pcpy / row.rccl.time_us:.2f}"
        add_row(table, size(row.size_bytes), row.best, figures(pcpy, 4), *speedups, against)
    title = f"{where}: speedup over pcpy (x)"
    return stack(title, table, "simulated / published; rccl: on compute units")


def _beside(ours: float, theirs: float | None) -> str:
    return f"{ours:.2f}" + (f" / {theirs:.2f}" if theirs is not None else "")


def phase_table(study: DmaVariantsResult) -> Group:
    """A row per size: what share of one copy each phase takes, simulated and published."""
    table = make_table(["size"], [f"{name}\n(%)" for name in PHASES])
    published = study.published.get("phases") or {}
    for row in study.phases:
        theirs = published.get(str(row.size_bytes), [None] * len(PHASES))
        cells = (
            percent(row.shares[name], 0) + (f" / {known}" if known is not None else "")
            for name, known in zip(PHASES, theirs, strict=True)
        )
        add_row(table, size(row.size_bytes), *cells)
    return stack("phases of one copy to a peer", table, "simulated / published (calibration)")


def claim_table(study: DmaVariantsResult) -> Group:
    """A row per published claim: ratios of times, simulated and published."""
    table = make_table(["ratio of times"], ["simulated\n(x)", "published\n(x)"])
    for claim in study.claims:
        add_row(table, claim.what, f"{claim.simulated:.2f}", f"{claim.published:.2f}")
    note = "small: below 32 MiB; geometric means; compute units: the library's kernels"
    return stack("published claims", table, note)


def _errors(study: DmaVariantsResult) -> list[str]:
    errors = study.errors
    if errors is None:
        return []
    return [
        f"speedups against {errors.of} published ones, calibration sizes left out:"
        f" off by {percent(errors.median)} % in the median,"
        f" {percent(errors.p90)} % at the 90th percentile, {percent(errors.max)} % at most"
    ]

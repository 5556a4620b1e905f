"""Table of a study of DMA variants: power and energy per byte by size, and savings beside the
published ones.

``study["energy"]`` is the result of ``studies/variant_energy.py``; what has none gets no table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from c3sim.output.energy_table import standing
from c3sim.output.layout import add_row, make_table, stack
from c3sim.output.text import figures, percent, size

if TYPE_CHECKING:
    from rich.console import Group


def energy_parts(study: Mapping[str, Any]) -> list[Any]:
    """A table per collective, then what the means at large sizes come to."""
    energy = study.get("energy")
    if not energy:
        return []
    operations = dict.fromkeys(row["collective"] for row in energy["rows"])
    tables = [_table(energy, operation, study.get("node")) for operation in operations]
    return [*tables, _remarks(energy)]


def _table(energy: Mapping[str, Any], operation: str, node: str | None) -> Group:
    """A row per size. Prelaunch changes power little, so only its energies are shown."""
    rows = [row for row in energy["rows"] if row["collective"] == operation]
    names = list(rows[0]["variants"])
    powers = [name for name in names if not name.endswith("_pl")]
    bytes_of = ["pcpy", *(name for name in names if name.endswith("_pl"))]
    columns = [
        *(f"{name}\n(W)" for name in ("rccl", *powers)),
        "pcpy under\nrccl (%)",
        *(f"{name}\n(nJ/B)" for name in ("rccl", *bytes_of)),
    ]
    table = make_table(["size"], columns)
    for row in rows:
        runs = row["variants"]
        watts = [run["power_w_per_gpu"] for run in (row["rccl"], *(runs[name] for name in powers))]
        joules = [
            run["energy_per_byte"] for run in (row["rccl"], *(runs[name] for name in bytes_of))
        ]
        add_row(
            table,
            size(row["size_bytes"]),
            *(f"{value:.0f}" for value in watts),
            _saving(runs["pcpy"]["over_rccl"]["power"]),
            *(figures(1e9 * value) for value in joules),
        )
    where = f" on {node}" if node else ""
    title = f"{operation}{where}: mean power per GPU (W), and energy per byte moved (nJ/B); idle power included"
    banded = rows[0]["variants"]["pcpy"]["over_rccl"]["power"]["low"] is not None
    brackets = "in brackets: with every energy anywhere in its interval; " if banded else ""
    return stack(title, table, f"{brackets}rccl: on compute units")


def _saving(entry: Mapping[str, float | None]) -> str:
    """In per cent, the band in brackets: 25.6 (4 to 45)."""
    if entry["low"] is None:
        return percent(entry["saving"])
    return f"{percent(entry['saving'])} ({percent(entry['low'], 0)} to {percent(entry['high'], 0)})"


def _remarks(energy: Mapping[str, Any]) -> Any:
    from rich.text import Text

    lines = []
    if "large" in energy:
        published = energy["published"]
        low, high = published["saving_of_variants"]
        lines.append(
            f"mean power from {size(published['large_bytes'])} on; published: pcpy {percent(published['saving_over_rccl'], 0)} % less"
            f" than rccl, variants {percent(low, 0)} to {percent(high, 0)} % less than pcpy (at which sizes is not said)"
        )
        for entry in energy["large"]:
            name, operation = entry["variant"], entry["collective"]
            if name == "pcpy":
                lines.append(
                    f"{operation}, pcpy: {_saving(entry['over_rccl']['power'])} % less than rccl"
                )
            elif not name.endswith("_pl"):
                lines.append(
                    f"{operation}, {name}: {_saving(entry['over_pcpy']['power'])} % less than pcpy, being slower;"
                    f" {percent(entry['moving'])} % less at pcpy's rate"
                )
    return Text("\n".join([*lines, standing(energy.get("measured", ""))]))

"""Sensitivity as files that ``c3sim plot`` draws: a tornado, and the samples behind the band."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from c3sim.sweeps.outputs import describe
from c3sim.sweeps.plan import FORMAT
from c3sim.sweeps.sensitivity import Sensitivity
from c3sim.sweeps.store import results_schema, write_table
from c3sim.sweeps.uncertainty import Band


def write_tornado(found: Sensitivity, study: str, node: str, path: Path) -> None:
    """A row for each parameter and output, the output that was asked for first.

    Columns: ``parameter, low, high`` (SI), ``output, at_low, at_high, base``, ``s1, s1_within, st,
    st_within`` (Sobol, of the output asked for; half widths of 95 % confidence), ``fitted``
    (whether the interval is that of a fit).
    """
    import pyarrow as pa

    names = [found.output, *(name for name in found.base if name not in (found.output, "error"))]
    rows = [
        {
            "parameter": effect.parameter.path,
            "low": effect.parameter.low,
            "high": effect.parameter.high,
            "output": name,
            "at_low": effect.low.get(name),
            "at_high": effect.high.get(name),
            "base": found.base[name],
            **_indices(effect.index if name == found.output else None),
            "fitted": str(effect.parameter.fitted).lower(),
        }
        for name in names
        for effect in found.effects
    ]
    words = ("parameter", "output", "fitted")
    columns = (
        "parameter",
        "low",
        "high",
        "output",
        "at_low",
        "at_high",
        "base",
        "s1",
        "s1_within",
        "st",
        "st_within",
        "fitted",
    )
    fields = [pa.field(name, pa.string() if name in words else pa.float64()) for name in columns]
    parameters = [effect.parameter for effect in found.effects]
    about = _about(study, node, {each.path: each.unit for each in parameters}, names) | {
        "strategy": found.strategy
    }
    schema = pa.schema(fields, metadata={b"c3sim": json.dumps(about).encode()})
    write_table(pa.Table.from_pylist(rows, schema=schema), path)


def _indices(index: Any) -> dict[str, float | None]:
    if index is None:
        return dict.fromkeys(("s1", "s1_within", "st", "st_within"))
    return {
        "s1": index.first,
        "s1_within": index.first_within,
        "st": index.total,
        "st_within": index.total_within,
    }


def write_samples(band: Band, strategy: str, study: str, node: str, path: Path) -> None:
    """The samples as a file of results: a point each, a column for each parameter and output."""
    import pyarrow as pa

    paths = [each.path for each in band.parameters]
    outputs = [name for name in band.rows[0] if name != "error"]
    rows = [
        {"point": number, **dict(settings), "scenario": study, "strategy": strategy, **row}
        for number, (settings, row) in enumerate(zip(band.settings, band.rows, strict=True))
    ]
    about = _about(study, node, {each.path: each.unit for each in band.parameters}, outputs)
    schema = results_schema(dict.fromkeys(paths, True), outputs, about)
    write_table(pa.Table.from_pylist(rows, schema=schema), path)


def _about(study: str, node: str, units: dict[str, str], outputs: list[str]) -> dict[str, Any]:
    return {
        "version": FORMAT,
        "study": {"name": study},
        "node": node,
        "axes": {
            path: {"unit": unit, "label": " ".join(path.replace("_", " ").split(".")[-2:])}
            for path, unit in units.items()
        },
        "outputs": {name: describe(name) for name in outputs},
    }

"""Parquet files of results, which ``c3sim plot`` draws: of a sweep, a search, a sensitivity study.

The metadata key ``c3sim`` holds JSON: version, study, node, and unit and label of every column.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from c3sim.experiments.axes import path_label
from c3sim.experiments.outputs import describe
from c3sim.experiments.plan import FORMAT, column_value
from c3sim.kit.files import write_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from c3sim.experiments.bands import Band
    from c3sim.experiments.search import SearchResult
    from c3sim.experiments.sensitivity import Index, Sensitivity

_TORNADO_TEXTS = ("parameter", "output", "fitted")


def results_schema(
    numeric: Mapping[str, bool], outputs: Sequence[str], metadata: Mapping[str, Any]
) -> pa.Schema:
    """Columns of a file with a row for each point. *numeric*: path -> whether it holds numbers."""
    import pyarrow as pa

    fields = [
        pa.field("point", pa.int64(), nullable=False),
        *(
            pa.field(path, pa.float64() if numbers else pa.string())
            for path, numbers in numeric.items()
        ),
        pa.field("scenario", pa.string(), nullable=False),
        pa.field("strategy", pa.string(), nullable=False),
        *(pa.field(name, pa.float64()) for name in outputs),
        pa.field("error", pa.string()),
    ]
    return pa.schema(fields, metadata={b"c3sim": json.dumps(metadata).encode()})


def write_table(table: pa.Table, path: Path) -> None:
    """Write *table* whole or not at all. Raises InputError when it cannot be written."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    write_bytes(path, buffer.getvalue())


def write_designs(search: SearchResult, path: Path) -> None:
    """A row for each design in the order tried: knobs, outputs, ``error``, ``on_front`` (1 or 0).

    ``scenario`` is the only one, or ``mean of N``: outputs are means over the scenarios.
    """
    import pyarrow as pa

    setup = search.setup
    knobs = [knob for knob in search.knobs if knob.path != "strategy"]
    scenarios = list(setup.workloads)
    scenario = scenarios[0] if len(scenarios) == 1 else f"mean of {len(scenarios)}"
    rows = [
        {
            "point": number,
            **{
                knob.path: column_value(value, knob.numeric)
                for knob, (_, value) in zip(knobs, settings, strict=True)
            },
            "scenario": scenario,
            **row,
            "on_front": float(number in search.front),
        }
        for number, (settings, row) in enumerate(zip(search.settings, search.rows, strict=True))
    ]
    study = {
        **search.loaded.study.model_dump(mode="json", by_alias=True, exclude={"published"}),
        "paths": [knob.path for knob in knobs],
        "outputs": list(setup.outputs),
        "models": setup.models(),
    }
    outputs = (*setup.outputs, "on_front")
    metadata = _metadata(study, setup.node.name, {k.path: k.unit for k in knobs}, outputs)
    metadata["objectives"] = search.directions
    for name, more in search.objectives.items():
        metadata["outputs"][name]["better"] = "higher" if more else "lower"
    schema = results_schema({knob.path: knob.numeric for knob in knobs}, outputs, metadata)
    write_table(pa.Table.from_pylist(rows, schema=schema), path)


def write_tornado(sensitivity: Sensitivity, study: str, node: str, path: Path) -> None:
    """A row for each parameter and output, the output that was asked for first.

    - ``parameter, low, high``: in SI units
    - ``output, at_low, at_high, base``
    - ``s1, s1_within, st, st_within``: Sobol indices of the output asked for, and half the widths
      of their 95 % confidence intervals
    - ``fitted``: whether the interval is that of a fit
    """
    import pyarrow as pa

    asked = sensitivity.output
    outputs = [asked, *(name for name in sensitivity.base if name not in (asked, "error"))]
    rows = [
        {
            "parameter": effect.parameter.path,
            "low": effect.parameter.low,
            "high": effect.parameter.high,
            "output": name,
            "at_low": effect.low.get(name),
            "at_high": effect.high.get(name),
            "base": sensitivity.base[name],
            **_index_columns(effect.index if name == asked else None),
            "fitted": str(effect.parameter.fitted).lower(),
        }
        for name in outputs
        for effect in sensitivity.effects
    ]
    units = {effect.parameter.path: effect.parameter.unit for effect in sensitivity.effects}
    metadata = _metadata({"name": study}, node, units, outputs) | {"strategy": sensitivity.strategy}
    columns = ["parameter", "low", "high", "output", "at_low", "at_high", "base"]
    columns += [*_index_columns(None), "fitted"]
    fields = [
        pa.field(name, pa.string() if name in _TORNADO_TEXTS else pa.float64()) for name in columns
    ]
    schema = pa.schema(fields, metadata={b"c3sim": json.dumps(metadata).encode()})
    write_table(pa.Table.from_pylist(rows, schema=schema), path)


def _index_columns(index: Index | None) -> dict[str, float | None]:
    names = ("s1", "s1_within", "st", "st_within")
    if index is None:
        return dict.fromkeys(names)
    values = (index.first, index.first_within, index.total, index.total_within)
    return dict(zip(names, values, strict=True))


def write_samples(band: Band, strategy: str, study: str, node: str, path: Path) -> None:
    """The samples behind a band: a row each, a column for each parameter and output."""
    import pyarrow as pa

    units = {parameter.path: parameter.unit for parameter in band.parameters}
    outputs = [name for name in band.rows[0] if name != "error"]
    rows = [
        {"point": number, **dict(settings), "scenario": study, "strategy": strategy, **row}
        for number, (settings, row) in enumerate(zip(band.settings, band.rows, strict=True))
    ]
    metadata = _metadata({"name": study}, node, units, outputs)
    schema = results_schema(dict.fromkeys(units, True), outputs, metadata)
    write_table(pa.Table.from_pylist(rows, schema=schema), path)


def _metadata(
    study: Mapping[str, Any], node: str, units: Mapping[str, str], outputs: Iterable[str]
) -> dict[str, Any]:
    """The metadata of a file; *units* of the paths that vary."""
    return {
        "version": FORMAT,
        "study": study,
        "node": node,
        "axes": {path: {"unit": unit, "label": path_label(path)} for path, unit in units.items()},
        "outputs": {name: describe(name) for name in outputs},
    }

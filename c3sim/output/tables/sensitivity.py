"""What a sensitivity study and a band print: the answer in a sentence, then a row per parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from c3sim.input.units import format_si
from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING
from c3sim.output.tables.sweep import shown

if TYPE_CHECKING:
    from c3sim.sweeps.sensitivity import Effect, Sensitivity
    from c3sim.sweeps.uncertainty import Band

SHOWN = 16  # parameters
CLOSE = 1e-3  # relative: less than is shown


def to_dict(found: Sensitivity) -> dict[str, Any]:
    """Plain data for ``--json``."""
    return {
        "output": found.output,
        "strategy": found.strategy,
        "base": {name: value for name, value in found.base.items() if name != "error"},
        "band": found.band.to_dict(),
        "samples": found.samples,
        "dropped": found.dropped,
        "idle": found.idle,
        "parameters": [
            {
                "path": e.parameter.path,
                "value": e.parameter.value,
                "low": e.parameter.low,
                "high": e.parameter.high,
                "unit": e.parameter.unit,
                "fitted": e.parameter.fitted,
                "logarithmic": e.parameter.log,
                "at_low": e.low.get(found.output),
                "at_high": e.high.get(found.output),
                "swing": e.swing(found.output),
                "sobol": None if e.index is None else asdict(e.index),
            }
            for e in found.effects
        ],
    }


def sensitivity_table(found: Sensitivity, what: str) -> Any:
    """The answer, and the parameters that move the output most."""
    name = found.output
    table = make_table(
        ["parameter", "interval", "of"],
        [f"{name}\nat low end", "at high\nend", "moved by", "Sobol\nfirst", "Sobol\ntotal"],
    )
    for effect in found.effects[:SHOWN]:
        add_row(table, *_row(effect, name))
    rest = len(found.effects) - SHOWN
    lines = [_answer(found)]
    if rest > 0:
        lines.append(
            f"{rest} more move it less than {shown(name, found.effects[SHOWN - 1].swing(name))} each"
        )
    lines.append(f"{found.idle} of {len(found.effects) + found.idle} parameters do not move it")
    lines += _outside(name, found.base[name], found.band)
    if found.band.failed or found.dropped:
        lines.append(
            f"{found.band.failed} samples of the band and {found.dropped} of Sobol's scheme could not be run"
        )
    lines.append(
        "of: fit, the 95 % interval that a fit left open; file, the interval of the node file. Sobol: share of variance,"
    )
    lines.append("+- half of its 95 % confidence interval; more --samples make it narrower")
    return stack(f"{what}, strategy {found.strategy}", table, *lines)


def _row(effect: Effect, name: str) -> tuple[str, ...]:
    parameter, index = effect.parameter, effect.index
    interval = (
        f"{format_si(parameter.low, parameter.unit)} to {format_si(parameter.high, parameter.unit)}"
    )
    low, high = (
        MISSING if end is None else shown(name, end)
        for end in (effect.low[name], effect.high[name])
    )
    shares = (
        (MISSING, MISSING)
        if index is None
        else (
            f"{index.first:.2f} +- {index.first_within:.2f}",
            f"{index.total:.2f} +- {index.total_within:.2f}",
        )
    )
    return (
        parameter.path,
        interval + (", log" if parameter.log else ""),
        "fit" if parameter.fitted else "file",
        low,
        high,
        shown(name, effect.swing(name)),
        *shares,
    )


def _answer(found: Sensitivity) -> str:
    """Which parameter moves it most, and over what range it is uncertain."""
    name, base = found.output, found.base[found.output]
    assert base is not None  # checked before the work
    words = f"{name} is {shown(name, base)}"
    ends = found.band.outputs.get(name)
    if ends:
        words += f"; {_from_to(name, ends)} given the intervals of {len(found.band.parameters)} parameters"
    if found.effects:
        most = found.effects[0]
        words += f"; {most.parameter.path} moves it most, by {shown(name, most.swing(name))} alone"
    return words


def _from_to(name: str, ends: Mapping[str, float]) -> str:
    return f"{shown(name, ends['p5'])} to {shown(name, ends['p95'])} (5 % to 95 %, median {shown(name, ends['median'])})"


def band_table(band: Band, predicted: Mapping[str, float | None]) -> Any:
    """A row for each output: what is predicted with every parameter at its value, and the band
    around it.
    """
    table = make_table(["uncertainty"], ["predicted", "5 %", "median", "95 %"])
    for name, ends in band.outputs.items():
        value = predicted.get(name)
        cells = (
            MISSING if value is None else shown(name, value),
            *(shown(name, ends[key]) for key in ("p5", "median", "p95")),
        )
        add_row(table, name, *cells)
    logarithmic = sum(1 for each in band.parameters if each.log)
    about = (
        f"{band.samples} samples of {len(band.parameters)} parameters within their intervals (Latin hypercube, seed {band.seed}; "
        f"{logarithmic} log-uniform, more than a decade wide)"
    )
    failed = f"{band.failed} samples could not be run" if band.failed else ""
    outside = [line for name in band.outputs for line in _outside(name, predicted.get(name), band)]
    return stack("", table, about, *outside, *([failed] if failed else []))


def _outside(name: str, value: float | None, band: Band) -> list[str]:
    """A line where the prediction itself lies outside the band, and why that can be."""
    ends = band.outputs.get(name)
    if (
        value is None
        or ends is None
        or ends["p5"] - CLOSE * abs(value) <= value <= ends["p95"] + CLOSE * abs(value)
    ):
        return []
    return [
        f"{name}: the prediction, {shown(name, value)}, lies outside 5 % to 95 % of the samples: intervals reach further to one"
        f" side than to the other, or {band.samples} samples are few"
    ]

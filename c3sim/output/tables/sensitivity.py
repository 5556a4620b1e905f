"""Tables of ``sensitivity`` and ``run --uncertainty``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from c3sim.kit.layout import add_row, make_table, stack
from c3sim.kit.text import MISSING
from c3sim.output.tables.sweep import shown
from c3sim.spec.units import format_si

if TYPE_CHECKING:
    from c3sim.experiments.bands import Band
    from c3sim.experiments.sensitivity import Effect, Sensitivity

SHOWN = 16  # parameters
CLOSE = 1e-3  # relative; a smaller difference is not shown


def to_dict(result: Sensitivity) -> dict[str, Any]:
    """Plain data for ``--json``."""
    return {
        "output": result.output,
        "strategy": result.strategy,
        "base": {name: value for name, value in result.base.items() if name != "error"},
        "band": result.band.to_dict(),
        "samples": result.samples,
        "dropped": result.dropped,
        "idle": result.idle,
        "parameters": [
            {
                "path": e.parameter.path,
                "value": e.parameter.value,
                "low": e.parameter.low,
                "high": e.parameter.high,
                "unit": e.parameter.unit,
                "fitted": e.parameter.fitted,
                "logarithmic": e.parameter.log,
                "at_low": e.low.get(result.output),
                "at_high": e.high.get(result.output),
                "swing": e.swing(result.output),
                "sobol": None if e.index is None else asdict(e.index),
            }
            for e in result.effects
        ],
    }


def sensitivity_table(result: Sensitivity) -> Any:
    """The answer in a sentence, and the parameters that move the output most."""
    name = result.output
    table = make_table(
        ["parameter", "interval", "of"],
        ["moved by", "Sobol\ntotal", "Sobol\nfirst", f"{name}\nat low end", "at high\nend"],
    )
    for effect in result.effects[:SHOWN]:
        add_row(table, *_row(effect, name))
    rest = len(result.effects) - SHOWN
    lines = [_answer(result)]
    if rest > 0:
        swing = shown(name, result.effects[SHOWN - 1].swing(name))
        lines.append(f"{rest} more move it less than {swing} each")
    lines.append(f"{result.idle} of {len(result.effects) + result.idle} parameters do not move it")
    lines += outside_band(name, result.base[name], result.band)
    if result.band.failed or result.dropped:
        lines.append(
            f"{result.band.failed} samples of the band and {result.dropped} of Sobol's scheme "
            "could not be run"
        )
    lines.append(
        "of: fit, the 95 % interval that a fit left open; file, the interval of the node file. "
        "Sobol: share of variance,\n"
        "+- half of its 95 % confidence interval; more --samples make it narrower"
    )
    return stack(f"{result.about}, strategy {result.strategy}", table, *lines)


def _row(effect: Effect, name: str) -> tuple[str, ...]:
    parameter, index = effect.parameter, effect.index
    interval = (
        f"{format_si(parameter.low, parameter.unit)} to {format_si(parameter.high, parameter.unit)}"
    )
    low, high = shown(name, effect.low[name]), shown(name, effect.high[name])
    shares = [MISSING, MISSING]
    if index is not None:
        shares = [
            f"{index.total:.2f} +- {index.total_within:.2f}",
            f"{index.first:.2f} +- {index.first_within:.2f}",
        ]
    return (
        parameter.path,
        interval + (", log" if parameter.log else ""),
        "fit" if parameter.fitted else "file",
        shown(name, effect.swing(name)),
        *shares,
        low,
        high,
    )


def _answer(result: Sensitivity) -> str:
    """The parameter that moves the output most, and the output's uncertain range, in words."""
    name, base = result.output, result.base[result.output]
    assert base is not None  # checked before the work
    answer = f"{name} is {shown(name, base)}"
    ends = result.band.outputs.get(name)
    if ends:
        count = len(result.band.parameters)
        answer += f"; {_from_to(name, ends)} given the intervals of {count} parameters"
    if result.effects:
        most = result.effects[0]
        answer += f"; {most.parameter.path} moves it most, by {shown(name, most.swing(name))} alone"
    return answer


def _from_to(name: str, ends: Mapping[str, float]) -> str:
    low, middle, high = (shown(name, ends[key]) for key in ("p5", "median", "p95"))
    return f"{low} to {high} (5 % to 95 %, median {middle})"


def band_table(band: Band, predicted: Mapping[str, float | None]) -> Any:
    """A row for each output: predicted with all parameters at their values, and its band."""
    table = make_table(["uncertainty"], ["predicted", "5 %", "median", "95 %"])
    for name, ends in band.outputs.items():
        value = predicted.get(name)
        cells = (shown(name, value), *(shown(name, ends[key]) for key in ("p5", "median", "p95")))
        add_row(table, name, *cells)
    logarithmic = sum(1 for each in band.parameters if each.log)
    about = (
        f"{band.samples} samples of {len(band.parameters)} parameters within their intervals "
        f"(Latin hypercube, seed {band.seed}; {logarithmic} log-uniform, more than a decade wide)"
    )
    lines = [about]
    for name in band.outputs:
        lines += outside_band(name, predicted.get(name), band)
    if band.failed:
        lines.append(f"{band.failed} samples could not be run")
    return stack("", table, *lines)


def outside_band(name: str, value: float | None, band: Band) -> list[str]:
    """A line that explains a prediction outside its own band; no line for one inside."""
    ends = band.outputs.get(name)
    if value is None or ends is None:
        return []
    close = CLOSE * abs(value)
    if ends["p5"] - close <= value <= ends["p95"] + close:
        return []
    because = (
        f"intervals reach further to one side than to the other, or {band.samples} samples are few"
    )
    if (most := band.apart(name, value)) is not None:
        low, own, high = (format_si(n, most.unit) for n in (most.low, most.value, most.high))
        because = f"mostly for {most.path}, {own} here, drawn from {low} to {high}"
    return [
        f"{name}: the prediction, {shown(name, value)}, lies outside 5 % to 95 % of the samples: "
        + because
    ]

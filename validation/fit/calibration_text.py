"""A calibration as text: plain data for ``--json``, YAML with provenance, and the values as a
hardware file writes them.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import yaml

from c3sim.input.conform import Leaf
from c3sim.input.units import parse_quantity
from c3sim.output.kit.text import figures

from .calibrate import Calibration, GroupFit
from .parameters import Fitted

_BEFORE = re.compile(r"^calibrated .*?; start: ", re.DOTALL)


def in_file_units(leaf: Leaf, value: float) -> str:
    """SI *value* with three digits, in the unit in which the file gives the parameter."""
    if leaf.unit == "B":
        return f"{float(f'{value:.3g}'):.0f} B"
    number, _, unit = leaf.text.strip().partition(" ")
    if not leaf.unit:
        return _plain(value)
    unit = unit or re.sub(r"^[-+.\d]+(e[-+]?\d+)?", "", number)
    return f"{_plain(value / parse_quantity(f'1 {unit}', leaf.unit))} {unit}"


def _plain(value: float) -> str:
    """Three digits, no exponent, no idle zeros."""
    rounded = float(f"{value:.3g}")
    text = figures(rounded) if rounded else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text


def source_text(group: GroupFit, fitted: Fitted, date: str) -> str:
    """What ``source:`` says of a fitted value; the source of the very first starting value is kept
    at the end.
    """
    leaf = group.group.leaves[fitted.path]
    span = f"[{in_file_units(leaf, fitted.low)}, {in_file_units(leaf, fitted.high)}]"
    fit = f"{len(group.records)} records (data {group.hash}), median residual {100 * group.median_residual:.1f} %"
    return (
        f"calibrated {date} on {fit}, 95 % interval {span}; start: {_BEFORE.sub('', leaf.source)}"
    )


def to_dict(calibration: Calibration, date: str) -> dict[str, Any]:
    """Plain data; values as text in the units of the files."""
    return {
        "node": calibration.node.name,
        "date": date,
        "groups": [_group(group) for group in calibration.groups],
        "without_data": ["+".join(group.suites) for group in calibration.without_data],
        "validation_records_left_out": calibration.held_out,
    }


def _group(group: GroupFit) -> dict[str, Any]:
    residuals = np.abs(group.fit.residuals)
    return {
        "fitted": "+".join(group.group.suites),
        "records": len(group.records),
        "data": group.hash,
        "residual_median": round(float(np.median(residuals)), 4),
        "residual_p90": round(float(np.quantile(residuals, 0.9)), 4),
        "parameters": {each.path: _parameter(group, each) for each in group.fit.parameters},
    }


def _parameter(group: GroupFit, fitted: Fitted) -> dict[str, Any]:
    leaf = group.group.leaves[fitted.path]
    ends = [in_file_units(leaf, fitted.low), in_file_units(leaf, fitted.high)]
    if not fitted.identified:
        said = {"value": leaf.text, "interval": ends, "identified": False}
        return {
            **said,
            "note": "the data do not tell it; it keeps its value and its allowed interval",
            **_near(fitted),
        }
    return {
        "value": in_file_units(leaf, fitted.value),
        "was": leaf.text,
        "interval_95": ends,
        "identified": True,
        **_near(fitted),
    }


def _near(fitted: Fitted) -> dict[str, Any]:
    return {"entangled_with": list(fitted.entangled_with)} if fitted.entangled_with else {}


def to_yaml(calibration: Calibration, date: str) -> str:
    """:func:`to_dict` as YAML."""
    return str(
        yaml.safe_dump(to_dict(calibration, date), sort_keys=False, width=110, allow_unicode=True)
    )

"""A calibration as text: plain data for ``--json``, YAML with provenance, and the values as a
hardware file writes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml

from c3sim.input.leaves import Leaf, in_file_units
from c3sim.input.yaml_edit import word

from .calibrate import Calibration, GroupFit
from .parameters import Fitted


def value_in_file_units(leaf: Leaf, fitted: Fitted) -> str:
    """The fitted value, as :func:`in_file_units`; zero where it is next to nothing beside its own
    uncertainty: a search that ends at a limit of 0 stops a little above it.
    """
    is_zero = abs(fitted.value) < 1e-3 * (fitted.high - fitted.low)
    return in_file_units(leaf, 0.0 if is_zero else fitted.value)


def calibrated_entry(group: GroupFit, fitted: Fitted, date: str) -> dict[str, str]:
    """What a hardware file says of a fitted value under ``calibrated``."""
    leaf = group.group.leaves[fitted.path]
    low, high = in_file_units(leaf, fitted.low), in_file_units(leaf, fitted.high)
    return {
        "suite": "+".join(group.group.suites),
        "date": date,
        "records": str(len(group.records)),
        "data": word(group.hash),
        "residual": f"{group.median_residual:.2g}",
        "interval": f"[{low}, {high}]",
    }


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
        "value": value_in_file_units(leaf, fitted),
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

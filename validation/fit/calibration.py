"""A calibration as text: plain data for ``--json``, YAML with provenance, and the values as a
hardware file writes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from c3sim.errors import InputError
from c3sim.kit.files import check_writable, write_text
from c3sim.kit.layout import WIDE, add_row, make_table, show, stack
from c3sim.kit.text import percent
from c3sim.spec.reading.documents import read_yaml
from c3sim.spec.reading.files import read_text
from c3sim.spec.reading.library import find
from c3sim.spec.reading.mistakes import raise_all
from c3sim.spec.reading.yaml_edit import Edit, Entry, Keys, apply, entries_of, flow, word
from c3sim.spec.sourced import Leaf, in_file_units

from .calibrate import Calibration, GroupFit
from .fit import Fitted

if TYPE_CHECKING:
    from rich.console import Group


def value_in_file_units(leaf: Leaf, fitted: Fitted) -> str:
    """The fitted value, as :func:`in_file_units`; zero where it is next to nothing beside its own
    uncertainty: a search that ends at a limit of 0 stops a little above it.
    """
    is_zero = abs(fitted.value) < 1e-3 * (fitted.high - fitted.low)
    return in_file_units(leaf, 0.0 if is_zero else fitted.value)


def calibrated_entry(group: GroupFit, fitted: Fitted, date: str) -> dict[str, str]:
    """Entry ``calibrated`` of a fitted value in a hardware file."""
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
        "groups": [_entry_of(group) for group in calibration.groups],
        "without_data": ["+".join(group.suites) for group in calibration.without_data],
        "validation_records_left_out": calibration.held_out,
    }


def _entry_of(group: GroupFit) -> dict[str, Any]:
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


# A calibration on a terminal: a table per group, and what the data could not tell.


def calibration_table(calibration: Calibration) -> Group:
    """Every group in the order of fitting."""
    parts = [part for group in calibration.groups for part in _rows_of(group)]
    missing = [
        f"no data for {'+'.join(group.suites)}: {', '.join(group.leaves)}"
        for group in calibration.without_data
    ]
    left = f"{calibration.held_out} validation records of this node were left out"
    return stack(f"calibration of {calibration.node.name}", *parts, *missing, left)


def _rows_of(group: GroupFit) -> list[object]:
    table = make_table(["parameter"], ["was", "value", "95 % interval"])
    notes = []
    for fitted in group.fit.parameters:
        leaf = group.group.leaves[fitted.path]
        value = value_in_file_units(leaf, fitted) if fitted.identified else "kept"
        ends = f"{in_file_units(leaf, fitted.low)} to {in_file_units(leaf, fitted.high)}"
        add_row(
            table, fitted.path, leaf.text, value, ends if fitted.identified else f"allowed: {ends}"
        )
        if not fitted.identified:
            notes.append(f"{fitted.path}: the data do not tell it; value and interval stay")
        if fitted.entangled_with:
            notes.append(f"{fitted.path}: not told apart from {', '.join(fitted.entangled_with)}")
    residual = f"median residual {percent(group.median_residual)} %"
    return [
        f"\n{' + '.join(group.group.suites)}: {len(group.records)} records, {residual}",
        table,
        *notes,
    ]


def print_calibration(calibration: Calibration) -> None:
    """Print :func:`calibration_table` on standard error, so that standard output is YAML alone."""
    from rich.console import Console

    console = Console(stderr=True)
    show(
        calibration_table(calibration),
        console if console.is_terminal else Console(stderr=True, width=WIDE),
    )


# Puts calibrated values into the files they come from: all files or none.
#
# A value that the fit has determined gets ``value`` and ``calibrated``. One that the fit left open
# keeps its value, and gets ``fitted`` instead of ``calibrated``. Everything else stays as it was.


def write_calibration(calibration: Calibration, name_or_path: str | Path, date: str) -> list[str]:
    """Write what was fitted into the node file and the files it names; the files changed. Raises
    InputErrors: a file that cannot be written, or one of c3sim that the node is only like.
    """
    leaves = [leaf for group in calibration.groups for leaf in group.group.leaves.values()]
    _check_own(leaves, find("node", name_or_path))
    files = {leaf.file: read_text(Path(leaf.file)) for leaf in leaves}
    entries = {file: entries_of(text) for file, text in files.items()}
    edits: dict[str, list[Edit]] = {file: [] for file in files}
    for group in calibration.groups:
        for fitted in group.fit.parameters:
            leaf = group.group.leaves[fitted.path]
            edits[leaf.file] += _edits(group, fitted, date, entries[leaf.file])
    texts = {file: apply(text, edits[file]) for file, text in files.items() if edits[file]}
    errors: list[InputError] = []
    for file, text in texts.items():
        read_yaml(text, file, errors)
        check_writable(file)
    raise_all(errors)
    for file, text in texts.items():
        write_text(file, text)
    return list(texts)


def _check_own(leaves: Iterable[Leaf], node_file: Path) -> None:
    """Raises InputError where values of a node of the user's own lie in the files of c3sim."""
    packaged = find("gpu", "mi300x").resolve().parent
    if packaged in node_file.resolve().parents:
        return
    for leaf in leaves:
        if packaged in Path(leaf.file).resolve().parents:
            message = (
                "is a file of c3sim that your node is like; write a node with all values in it:"
                f" c3sim show {node_file} --resolved > my-node.yaml"
            )
            raise InputError(message, "", leaf.file, leaf.line)


def _edits(group: GroupFit, fitted: Fitted, date: str, entries: dict[Keys, Entry]) -> list[Edit]:
    leaf = group.group.leaves[fitted.path]
    keys = tuple(leaf.at.split("."))
    mark = entries[(*keys, "calibrated" if leaf.calibrated else "fitted")]
    if not fitted.identified:
        return [mark.replace(f"fitted: {leaf.fitted}")] if leaf.calibrated else []
    words = flow(calibrated_entry(group, fitted, date), 2 * len(keys) + 2)
    return [
        entries[(*keys, "value")].replace_value(value_in_file_units(leaf, fitted)),
        mark.replace(f"calibrated: {words}"),
    ]

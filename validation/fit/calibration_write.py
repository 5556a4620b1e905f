"""Puts calibrated values into the files they come from: all files or none.

A value that the fit has determined gets ``value`` and ``calibrated``. One that the fit left open
keeps its value, and gets ``fitted`` instead of ``calibrated``. Everything else stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from c3sim.errors import InputError
from c3sim.input.constraints import raise_all
from c3sim.input.leaves import Leaf
from c3sim.input.library import find
from c3sim.input.reading import read_text
from c3sim.input.yaml_edit import Edit, Entry, Keys, apply, entries_of, flow
from c3sim.input.yaml_nodes import read_yaml
from c3sim.output.kit.files import check_writable, write_text

from .calibrate import Calibration, GroupFit
from .calibration_text import calibrated_entry, value_in_file_units
from .parameters import Fitted


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

"""Puts calibrated values into the files they come from: value and source, nothing else, all files
or none.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from c3sim.errors import InputError
from c3sim.input.conform import Leaf
from c3sim.input.constraints import raise_all
from c3sim.input.loading import load_hardware, read_text
from c3sim.input.yaml_nodes import read_yaml
from c3sim.output.kit.files import check_writable, write_text

from .calibrate import Calibration
from .calibration_text import in_file_units, source_text
from .yaml_edit import replace_values

WIDTH = 110


def write_calibration(calibration: Calibration, name_or_path: str | Path, date: str) -> list[str]:
    """Write identified values into the node file and the GPU file it names; the files changed.
    Raises InputError.
    """
    node_file = load_hardware(name_or_path).provenance["gpus"].file
    changes: dict[str, dict[tuple[str, ...], str]] = {}
    for group in calibration.groups:
        for fitted in group.fit.parameters:
            if fitted.identified:
                leaf = group.group.leaves[fitted.path]
                keys = _keys(leaf, fitted.path, node_file)
                inside = changes.setdefault(leaf.file, {})
                inside[(*keys, "value")] = in_file_units(leaf, fitted.value)
                inside[(*keys, "source")] = _quoted(
                    source_text(group, fitted, date), 2 * len(keys) + 2
                )
    texts = {
        file: replace_values(read_text(Path(file)), inside, file)
        for file, inside in changes.items()
    }
    for file, text in texts.items():
        errors: list[InputError] = []
        read_yaml(text, file, errors)
        raise_all(errors)
        check_writable(file)
    for file, text in texts.items():
        write_text(file, text)
    return list(texts)


def _keys(leaf: Leaf, path: str, node_file: str) -> tuple[str, ...]:
    keys = tuple(path.split("."))
    return keys if leaf.file == node_file else keys[1:]  # a GPU file begins below ``gpu``


def _quoted(text: str, indent: int) -> str:
    """*text* in double quotes, folded; a line break within them is a blank to YAML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    lines = textwrap.wrap(escaped, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    return '"' + ("\n" + " " * indent).join(lines) + '"'

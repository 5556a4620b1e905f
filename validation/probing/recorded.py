"""Records of an earlier run of a plan, in a folder or in the file that a run leaves to send."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from c3sim.errors import InputError

MACHINE = "machine.json"


def recall(where: Path, name: str) -> bytes | None:
    """Content of file *name*, in a folder or a zip file; None: there is none. Raises InputError."""
    try:
        if where.is_dir():
            file = where / name
            return file.read_bytes() if file.is_file() else None
        with zipfile.ZipFile(where) as held:
            return held.read(name) if name in held.namelist() else None
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot be read: {str(error).lower()}; must be a folder or a .zip of an earlier run",
            "--recorded",
            str(where),
        ) from None


def recalled_machine(where: Path) -> dict[str, Any] | None:
    """The machine's description of itself then; None: not kept."""
    data = recall(where, MACHINE)
    try:
        found = None if data is None else json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def bundle_path(plan: str, out: Path) -> Path:
    """The file that a run of *plan* into *out* leaves to send."""
    return out / f"{plan}.zip"


def bundle(name: str, files: Iterable[str], machine: dict[str, Any], out: Path) -> Path:
    """Write the file to send, with *files* and what the *machine* says of itself; returns it."""
    path = bundle_path(name, out)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as held:
        held.writestr(MACHINE, json.dumps(machine, indent=1))
        for file in files:
            held.write(file, Path(file).name)
    return path


def ratios(lines: Sequence[bytes], node_name: str) -> dict[str, list[float]]:
    """Metric -> measured over predicted, of records in *lines*, on the node of that name; empty
    where there is no model of it. Records that it cannot run are left out.
    """
    from c3sim.spec.reading.loading import load_node
    from c3sim.spec.reading.records import parse_record
    from c3sim.validation.compare.measurements import measured_figures, merge
    from c3sim.validation.compare.predict import predict_record

    try:
        node = load_node(node_name)
    except InputError:
        return {}
    found: dict[str, list[float]] = {}
    for each in merge([parse_record(line.decode()) for line in lines]):
        try:
            predicted = predict_record(node, each.record).own
        except InputError:
            continue
        for key, value in measured_figures(each.record).items():
            if predicted.get(key):
                found.setdefault(key[0], []).append(value / predicted[key])
    return found

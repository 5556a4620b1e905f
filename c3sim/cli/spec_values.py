"""Every value of a node or workload as a row: path, value, where it comes from. Pure."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from pydantic import BaseModel

from c3sim.kit.text import size, time_unit
from c3sim.spec.hardware import Node
from c3sim.spec.reading.documents import join
from c3sim.spec.reading.loading import LoadedNode, LoadedWorkload
from c3sim.spec.reading.paths import get_value, paths_of, unit_of
from c3sim.spec.sourced import Calibrated, Leaf, provenance
from c3sim.spec.workload import Workload

#: Paths into a node are resolved against it where there is no other.
ANY_WORKLOAD = Workload.model_validate(
    {"schema": 1, "name": "any", "tasks": {"any": {"kind": "host", "time": 0.0}}}
)
_IN_FILE = {"task": "tasks", "stream": "streams", "buffer": "buffers"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """*value* is in SI *unit*; *text* is how it reads."""

    path: str
    value: Any
    text: str
    unit: str = ""
    source: str = ""
    interval: tuple[float, float] | None = None
    interval_text: str = ""
    fitted: str = ""
    calibrated: Calibrated | None = None
    words: str = ""
    estimate: bool = False
    note: str = ""
    unseen: bool = False  # no suite notices when it is scaled
    like: str = ""  # the file that it is taken over from

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        data = asdict(self)
        data["calibrated"] = self.calibrated and self.calibrated.model_dump()
        del data["words"]
        return data


def node_rows(loaded: LoadedNode, unseen: Container[str] = ()) -> list[Row]:
    """All values of a node, its GPU's included, in the order of the files; *unseen*: paths of
    numbers that no suite of measurements notices.
    """
    node, sources = loaded.node, loaded.provenance
    rows = [
        _node_row(path, get_value(node, ANY_WORKLOAD, path), sources.get(path), path in unseen)
        for path in paths_of(node, ANY_WORKLOAD)
        if path.split(".")[0] not in (*_IN_FILE, "workload")
    ]
    return [replace(row, like=loaded.origin(row.path)) for row in rows]


def _node_row(path: str, value: Any, leaf: Leaf | None, unseen: bool) -> Row:
    if leaf is None:
        # names and null need no source; a number that the file leaves out is the default
        source = "default" if isinstance(value, float) else ""
        text = _written(value, "")
        return Row(path=path, value=_plain(value), text=text, source=source, words=source)
    same = {
        field.name: getattr(leaf, field.name) for field in fields(Row) if hasattr(leaf, field.name)
    }
    ends = " to ".join(_like(end, leaf) for end in leaf.interval or ())
    own = {"path": path, "value": _plain(value), "interval_text": ends, "unseen": unseen}
    own["words"] = ("unseen by measurements; " if unseen else "") + _words(leaf)
    return Row(**same | own)


def workload_rows(loaded: LoadedWorkload, node: Node) -> list[Row]:
    """All values of a workload, defaults included; the source is a line, or ``default``."""
    rows = []
    for path in paths_of(node, loaded.workload):
        first, *rest = path.split(".")
        if first not in (*_IN_FILE, "workload"):
            continue
        unit, value = unit_of(node, loaded.workload, path), get_value(node, loaded.workload, path)
        where = ""
        for step in rest if first == "workload" else [_IN_FILE[first], *rest]:
            where = join(where, step)
        line = loaded.places.get(where)
        source, text = f"line {line}" if line else "default", _written(value, unit)
        rows.append(Row(path=path, value=_plain(value), text=text, unit=unit, source=source))
    return rows


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def _written(value: Any, unit: str) -> str:
    """*value* as a person writes it."""
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return "[" + ", ".join(_written(entry, unit) for entry in value) + "]"
    if unit == "B":
        return size(value)
    if unit == "s":
        shown, length = time_unit(value)
        return f"{value / length:g} {shown}"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g} {unit}".strip() if isinstance(value, float) else str(value)


def _words(leaf: Leaf) -> str:
    """Everything that the file says of the value, in one line."""
    kind = "estimate: " if leaf.estimate and not leaf.source.startswith("estimate") else ""
    fitted = f"fitted on {leaf.fitted}" if leaf.fitted else ""
    return kind + "; ".join(part for part in (provenance(leaf), fitted, leaf.note) if part)


def _like(end: float, leaf: Leaf) -> str:
    """An end of an interval in the unit its value is written in."""
    number, _, unit = leaf.text.partition(" ")
    try:
        scale = float(leaf.value) / float(number)
    except (TypeError, ValueError, ZeroDivisionError):
        return f"{end:g} {leaf.unit}".strip()
    return f"{end / scale:.6g} {unit}".strip()

"""A node as the text of one file that has every value itself: nothing is like another file.

Numbers keep their text, source, interval and fit. Reading the file back gives the same node.
"""

from __future__ import annotations

from typing import Any

import yaml
from pydantic import BaseModel

from c3sim.errors import InputError
from c3sim.input.hardware import LoadedNode
from c3sim.input.leaves import Leaf
from c3sim.input.shapes import fields_of
from c3sim.input.units import parse_quantity
from c3sim.input.yaml_nodes import join, scalar

WIDTH = 110


def node_text(loaded: LoadedNode, head: str) -> str:
    """The node as YAML, behind the comment *head*."""
    plain = {"schema": 2, **_plain(loaded.node, "", loaded)}
    body = yaml.safe_dump(plain, sort_keys=False, width=WIDTH, allow_unicode=True)
    return f"# {head}\n{body}"


def _plain(value: Any, path: str, loaded: LoadedNode) -> Any:
    leaf = loaded.provenance.get(path)
    if leaf is not None:
        return _entry(leaf)
    if isinstance(value, BaseModel):
        return {
            key: _plain(getattr(value, wanted.name), join(path, key), loaded)
            for key, wanted in fields_of(type(value)).items()
            if wanted.name in value.model_fields_set
        }
    if isinstance(value, dict):
        return {key: _plain(entry, join(path, key), loaded) for key, entry in value.items()}
    return _listed(value)


def _listed(value: Any) -> Any:
    return [_listed(each) for each in value] if isinstance(value, tuple) else value


def _entry(leaf: Leaf) -> dict[str, Any]:
    entry: dict[str, Any] = {"value": _written(leaf, leaf.value), "source": leaf.source}
    if leaf.calibrated is not None:
        fit = leaf.calibrated
        entry["calibrated"] = {
            **{key: getattr(fit, key) for key in ("suite", "date", "records", "data", "residual")},
            "interval": [_written(leaf, end) for end in fit.interval],
        }
    elif leaf.fitted:
        entry["fitted"] = leaf.fitted
    if leaf.interval is not None:
        entry["interval"] = [_written(leaf, end) for end in leaf.interval]
    return (
        entry
        | ({"estimate": True} if leaf.estimate else {})
        | ({"note": leaf.note} if leaf.note else {})
    )


def _written(leaf: Leaf, value: Any) -> Any:
    """*value* as the file writes it: in the unit of the leaf's text where that is exact."""
    if isinstance(value, tuple):
        return [_written(leaf, each) for each in value]
    if not leaf.unit or isinstance(value, str):
        return value
    _, _, unit = leaf.text.strip().partition(" ")
    for text in (leaf.text, _scaled(value, unit, leaf.unit), f"{value!r} {leaf.unit}"):
        if _is(text, leaf.unit, value):
            return text
    raise AssertionError(f"{value!r} {leaf.unit}")  # the last text is always exact


def _scaled(value: float, unit: str, si: str) -> str:
    try:
        return f"{value / parse_quantity(f'1 {unit}', si):.6g} {unit}"
    except InputError:
        return ""


def _is(text: str, unit: str, value: float) -> bool:
    try:
        return not isinstance(scalar(text), int | float) and parse_quantity(text, unit) == value
    except InputError:
        return False

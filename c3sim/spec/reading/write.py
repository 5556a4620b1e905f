"""Nodes and workloads as YAML text; reading it back gives the same.

A node becomes one file that has every value itself: nothing is like another file. Numbers keep
their text, source, interval and fit. A workload has a line for each task.
"""

from __future__ import annotations

from typing import Any

import yaml
from pydantic import BaseModel

from c3sim.errors import InputError
from c3sim.spec.fields import annotation_of, attributes_of, fields_of, form_of, inside
from c3sim.spec.reading.documents import join, scalar
from c3sim.spec.reading.hardware import LoadedNode
from c3sim.spec.sourced import Leaf
from c3sim.spec.units import parse_quantity
from c3sim.spec.workload import Workload

WIDTH = 110


def node_text(loaded: LoadedNode, head: str) -> str:
    """The node as YAML, behind the comment *head*."""
    plain = {"schema": 2, **_of_node(loaded.node, "", loaded)}
    body = yaml.safe_dump(plain, sort_keys=False, width=WIDTH, allow_unicode=True)
    return f"# {head}\n{body}"


def _of_node(value: Any, path: str, loaded: LoadedNode) -> Any:
    leaf = loaded.provenance.get(path)
    if leaf is not None:
        return _entry(leaf)
    if isinstance(value, BaseModel):
        return {
            key: _of_node(getattr(value, name), join(path, key), loaded)
            for key, name in attributes_of(type(value)).items()
            if name in value.model_fields_set
        }
    if isinstance(value, dict):
        return {key: _of_node(entry, join(path, key), loaded) for key, entry in value.items()}
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
        | {
            key: getattr(leaf, key)
            for key in ("scales_with", "depends_on", "note")
            if getattr(leaf, key)
        }
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


def workload_text(workload: Workload, head: str) -> str:
    """*workload* as YAML, what is left at its default left out, behind the comment *head*."""
    plain = _fields(workload)
    tasks = plain.pop("tasks")
    body = yaml.safe_dump(plain, sort_keys=False, width=WIDTH, allow_unicode=True)
    lines = [f"  {name}: {_flow(task)}\n" for name, task in tasks.items()]
    return "".join([f"# {head}\n", body, "tasks:\n", *lines])


def _flow(task: dict[str, Any]) -> str:
    text = yaml.safe_dump(task, sort_keys=False, default_flow_style=True, width=10**9)
    return text.strip()


def _fields(model: BaseModel) -> dict[str, Any]:
    """Fields of *model* by their names in files, but those that are left at their defaults."""
    values = {key: getattr(model, name) for key, name in attributes_of(type(model)).items()}
    fields = fields_of(type(model))
    return {
        key: _of_workload(value, annotation_of(type(model), key))
        for key, value in values.items()
        if fields[key].is_required()
        or value != fields[key].get_default(call_default_factory=True, validated_data={})
    }


def _of_workload(value: Any, annotation: Any) -> Any:
    if isinstance(value, BaseModel):
        return _fields(value)
    if isinstance(value, dict):
        return {key: _of_workload(each, inside(annotation, key)) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_of_workload(each, inside(annotation, 0)) for each in value]
    unit = form_of(annotation).unit
    return f"{value!r} {unit.si}" if unit is not None and value is not None else value

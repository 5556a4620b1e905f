"""A workload as YAML text, a line for each task; reading it back gives the same workload."""

from __future__ import annotations

from typing import Any

import yaml
from pydantic import BaseModel

from c3sim.input.shapes import Shape, fields_of
from c3sim.specs.workload import Workload

WIDTH = 110


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
    return {
        key: _plain(getattr(model, field.name), field.shape)
        for key, field in fields_of(type(model)).items()
        if field.required or getattr(model, field.name) != field.default
    }


def _plain(value: Any, shape: Shape) -> Any:
    if isinstance(value, BaseModel):
        return _fields(value)
    if isinstance(value, dict):
        return {key: _plain(each, shape.items[0]) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each, shape.items[0]) for each in value]
    return f"{value!r} {shape.unit.si}" if shape.unit is not None and value is not None else value

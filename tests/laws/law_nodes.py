"""Nodes changed for a law: fewer of them, every number scaled, no power limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from c3sim.specs.hardware import Node
from c3sim.specs.quantities import Unit

__all__ = ["at_most", "scaled", "without_power_limit"]


def at_most(nodes: int, node: Node) -> Node:
    """*node* with no more than *nodes* like it, which an unfolded run can do without."""
    if node.nodes <= nodes:
        return node
    return node.model_copy(update={"scale_out": node.scale_out.model_copy(update={"nodes": nodes})})


def scaled(model: Any, factor: Callable[[str, str], float], path: str = "") -> Any:
    """*model* with every dimensional number multiplied by *factor(path, SI unit)*, wherever the schema has
    one."""
    update = {}
    for name, info in type(model).model_fields.items():
        value, here = getattr(model, name), f"{path}.{name}".strip(".")
        unit = next((mark.si for mark in info.metadata if isinstance(mark, Unit)), None)
        if isinstance(value, float) and unit:
            update[name] = value * factor(here, unit)
        elif isinstance(value, BaseModel):
            update[name] = scaled(value, factor, here)
        elif isinstance(value, dict):
            update[name] = {
                key: scaled(entry, factor, f"{here}.{key}") if isinstance(entry, BaseModel) else entry
                for key, entry in value.items()
            }
    return model.model_copy(update=update)


def without_power_limit(node: Node) -> Node:
    return scaled(node, lambda path, unit: 1e9 if path == "gpu.clock.power_limit" else 1.0)

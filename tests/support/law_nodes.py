"""Nodes changed for a law: fewer of them, every number scaled, no power limit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain
from typing import Any, get_args

from pydantic import BaseModel

from c3sim.spec.hardware import Node
from c3sim.spec.quantities import Unit
from c3sim.validation.compare.reads import reading


def at_most(nodes: int, gpus: int, node: Node) -> Node:
    """At most that many of several *nodes*, of at most *gpus* GPUs each with as many NICs for each
    as before: what an unfolded run can do without, and one node stays as it is.
    """
    if node.nodes == 1:
        return node
    count = min(gpus, node.gpus)
    nics = node.scale_out.nics * count // node.gpus
    return node.changed(gpus=count, scale_out__nodes=min(nodes, node.nodes), scale_out__nics=nics)


def scaled(model: Any, factor: Callable[[str, str], float], path: str = "") -> Any:
    """*model* with every dimensional number multiplied by *factor(path, SI unit)*, wherever the
    schema has one.
    """
    update = {}
    for name, unit in _units(type(model)).items():
        value, here = getattr(model, name), f"{path}.{name}".strip(".")
        if isinstance(value, float) and unit:
            update[name] = value * factor(here, unit)
        elif isinstance(value, BaseModel):
            update[name] = scaled(value, factor, here)
        elif isinstance(value, dict):
            update[name] = {
                key: scaled(entry, factor, f"{here}.{key}")
                if isinstance(entry, BaseModel)
                else entry
                for key, entry in value.items()
            }
    return model.changed(**update)


def numbers_read(node: Node, run: Callable[[Node], Any]) -> tuple[Any, set[str]]:
    """The result of *run* on *node*, and the paths of the dimensional numbers that it read."""
    paths: set[str] = set()
    scaled(node, lambda path, _unit: paths.add(path) or 1.0)
    copy, read = reading(node, frozenset(paths))
    return run(copy), read


@cache
def _units(kind: type[BaseModel]) -> dict[str, str | None]:
    """Field -> its SI unit, also of ``Bandwidth | None``; None: it has none."""
    units = {}
    for name, info in kind.model_fields.items():
        parts = [getattr(part, "__metadata__", ()) for part in get_args(info.annotation)]
        marks = [*info.metadata, *chain(*parts)]
        units[name] = next((mark.si for mark in marks if isinstance(mark, Unit)), None)
    return units


def value_of(node: Node, path: str) -> Any:
    """The number of *node* at *path*."""
    at: Any = node
    for name in path.split("."):
        at = at[name] if isinstance(at, dict) else getattr(at, name)
    return at


def without_power_limit(node: Node) -> Node:
    limits = ("gpu.clock.power_limit", "gpu.clock.peak_power")
    return scaled(node, lambda path, unit: 1e9 if path in limits else 1.0)


def limited(node: Node, watts: float) -> Node:
    """*node* whose power limit is *watts* and acts at once."""
    changed = {"power_window": 0.0, "power_limit": watts}
    clock = node.gpu.clock.changed(**changed)
    return node.changed(gpu__clock=clock)

"""The numbers of a node that a run looks at: a number that it never reads cannot change it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import BaseModel

from c3sim.spec.hardware import Node

__all__ = ["numbers_read"]

_MARK = "_watched"


def numbers_read(node: Node, run: Callable[[Node], Any]) -> tuple[Any, set[str]]:
    """The result of *run* on *node*, and the paths of all fields of the node that it read.

    It gets a copy that equals no other node, so that no result kept from another run hides a read.
    """
    read: set[str] = set()
    return run(_watched(node, "", read)), read


def _watched(model: Any, path: str, read: set[str]) -> Any:
    """*model* and the models in it as copies that note in *read* which fields are read."""

    def inner(value: Any, here: str) -> Any:
        if isinstance(value, BaseModel):
            return _watched(value, here, read)
        if isinstance(value, dict):
            return {key: inner(entry, f"{here}.{key}") for key, entry in value.items()}
        return value

    fields = {
        name: inner(getattr(model, name), f"{path}.{name}".strip("."))
        for name in type(model).model_fields
    }
    copy = model.model_copy()
    object.__setattr__(copy, "__dict__", {**fields, _MARK: (path, read)})
    object.__setattr__(copy, "__class__", _watching(type(model)))
    return copy


@cache
def _watching(model: type[BaseModel]) -> type[BaseModel]:
    """*model* whose fields are noted when they are read, and which is equal to itself alone."""
    names = frozenset(model.model_fields)

    def get(self: Any, name: str) -> Any:
        if name in names:
            path, read = object.__getattribute__(self, "__dict__")[_MARK]
            read.add(f"{path}.{name}" if path else name)
        return model.__getattribute__(self, name)

    own = {
        "__module__": model.__module__,
        "__getattribute__": get,
        "__eq__": object.__eq__,
        "__hash__": object.__hash__,
    }
    return type(model.__name__, (model,), own)

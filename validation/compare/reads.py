"""The numbers of a node that a run reads.

A run with a number changed differs from the run before only if it reads the number. A copy of the
node notes every number that is taken from it, by path; what is copied from that copy notes too.
Whoever looks at a model through the text that it writes of itself is not noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node

Note = Callable[[str], None]
_PARTS = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")


def reading(node: Node, paths: frozenset[str]) -> tuple[Node, set[str]]:
    """A copy of *node*, and the set of those of *paths* that have been read from it so far."""
    found: set[str] = set()
    copy = _copied(node, "", paths, found.add)
    assert isinstance(copy, Node)
    return copy, found


def _copied(value: Any, path: str, paths: frozenset[str], note: Note) -> Any:
    """*value*, which is at *path*, as a copy that tells *note*; a single value is as it is."""
    if isinstance(value, Spec):
        return _copied_spec(value, path, paths, note)
    if isinstance(value, Mapping):
        inside = {key: _copied(each, _join(path, key), paths, note) for key, each in value.items()}
        return _Entries(inside, path, paths, note)
    return value


def _copied_spec(value: Spec, path: str, paths: frozenset[str], note: Note) -> Spec:
    kind = _kind(type(value), path, paths)
    copy: Spec = object.__new__(kind)
    for part in _PARTS[1:]:
        object.__setattr__(copy, part, getattr(value, part))
    inside = {
        name: _copied(each, _join(path, name), paths, note) for name, each in vars(value).items()
    }
    object.__setattr__(copy, "__dict__", {**inside, _NOTE: note})
    return copy


_NOTE = "_note_of_reads"


@lru_cache(maxsize=4096)
def _kind(kind: type[Spec], path: str, paths: frozenset[str]) -> type[Spec]:
    """A kind of *kind* at *path* that notes what of *paths* is read; equal to itself alone, so that
    what a run remembers of one copy is not taken for another's.
    """
    noted = {name: p for name in kind.model_fields if (p := _join(path, name)) in paths}

    def read(self: Spec, name: str) -> Any:
        if name in noted:
            object.__getattribute__(self, "__dict__")[_NOTE](noted[name])
        return object.__getattribute__(self, name)

    body = {
        "__getattribute__": read,
        "__eq__": object.__eq__,
        "__hash__": object.__hash__,
        "__module__": kind.__module__,
    }
    make: Any = type(kind)
    made: type[Spec] = make(kind.__name__, (kind,), body)
    return made


class _Entries(dict[str, Any]):
    """A mapping that notes which of its numbers are read."""

    def __init__(self, inside: dict[str, Any], path: str, paths: frozenset[str], note: Note):
        super().__init__(inside)
        self._noted = {key: p for key in inside if (p := _join(path, key)) in paths}
        self._note = note

    def __getitem__(self, key: str) -> Any:
        if key in self._noted:
            self._note(self._noted[key])
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        if key in self._noted:
            self._note(self._noted[key])
        return super().get(key, default)

    def values(self) -> Any:
        return [self[key] for key in self]

    def items(self) -> Any:
        return [(key, self[key]) for key in self]


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key

"""Fits a tree of values, as written, to the shape of a spec: converts units, keeps sources, notes
every mistake.

Numbers are written in one of four styles:

- ``text``, studies: a unit on every value that has a dimension;
- ``bytes``, workloads: the same, but that a plain number from 1024 on may be bytes, as in records;
- ``si``, JSON records and workloads: a plain number is in SI units already;
- ``leaf``, hardware files: each number is an entry ``{value, source, ...}``, a leaf
  (:class:`c3sim.input.leaves.ConformLeaves`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.input.scalars import convert
from c3sim.input.shapes import Shape, fields_of, is_numeric
from c3sim.input.yaml_nodes import Item, join

Style = Literal["leaf", "text", "bytes", "si"]


#: The least plain number that is taken for bytes: one below it is most likely of MiB.
LEAST_BYTES = 1024


def is_plain(style: Style, shape: Shape) -> bool:
    """Whether a number of that *shape* may be written without its unit."""
    si = shape.unit.si if shape.unit else ""
    return style == "si" or (style == "bytes" and si == "B")


class _Bad:
    def __repr__(self) -> str:
        return "BAD"


#: Stands for a value whose mistake has been noted.
BAD: Any = _Bad()


@dataclass
class Conform:
    """One pass over one document: *errors* has its mistakes, *places* the line of each path,
    *written* what stands there.
    """

    style: Style = "text"
    file: str = ""
    errors: list[InputError] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    written: dict[str, Item] = field(default_factory=dict)
    bad: set[str] = field(default_factory=set)

    def note(self, message: str, path: str, line: int) -> None:
        """A mistake that leaves the value at *path* usable."""
        self.errors.append(InputError(message, path, self.file, line))

    def fail(self, message: str, path: str, line: int) -> Any:
        """A mistake after which nothing more is to be said of *path*."""
        self.note(message, path, line)
        self.bad.add(path)
        return BAD

    def model(
        self,
        item: Item,
        model: type[BaseModel],
        path: str = "",
        elsewhere: frozenset[str] = frozenset(),
    ) -> Any:
        """Fields of *model* from a mapping, by their names in files, but those from *elsewhere*."""
        self.places[path] = item.line
        fields = fields_of(model)
        if elsewhere:
            fields = {key: wanted for key, wanted in fields.items() if key not in elsewhere}
        if not isinstance(item.value, dict):
            what = f"{item.text()} is not a mapping; needs the fields {', '.join(fields)}"
            return self.fail(what, path, item.line)
        data: dict[str, Any] = {}
        for key, entry in item.value.items():
            if key in fields:
                data[key] = self.value(entry, fields[key].shape, join(path, key))
            elif key not in elsewhere:
                known = [*fields, *sorted(elsewhere)]
                self.note(self.unknown_field(key, path, known), path, entry.line)
        for key, wanted in fields.items():
            if wanted.required and key not in data:
                about = f" ({wanted.description})" if wanted.description else ""
                self.note(f"missing field {key!r}{about}; it has no default", path, item.line)
                self.bad.add(join(path, key))
                self.places[join(path, key)] = item.line
                data[key] = BAD
        return data

    def unknown_field(self, key: str, path: str, known: list[str]) -> str:
        """What is said of the field *key* of *path*, which has the *known* ones."""
        return unknown("field", key, known)

    def value(self, item: Item, shape: Shape, path: str) -> Any:
        """*item* as *shape* wants it, or BAD."""
        return self.plain(item, shape, path)

    def plain(self, item: Item, shape: Shape, path: str) -> Any:
        self.places[path], self.written[path] = item.line, item
        if item.refused:
            self.bad.add(path)
            return BAD
        if item.value is None and shape.optional:
            return None
        collect = getattr(self, "_" + shape.kind, None)
        if collect is not None:
            return collect(item, shape, path)
        try:
            plain = is_plain(self.style, shape)
            if plain and self.style == "bytes" and isinstance(item.value, int | float):
                plain = item.value >= LEAST_BYTES
            return convert(item, shape, plain_si=plain)
        except InputError as error:
            return self.fail(error.message, path, item.line)

    def _list(self, item: Item, shape: Shape, path: str) -> Any:
        if not isinstance(item.value, tuple):
            return self.fail(f"{item.text()} is not a list; write [a, b, ...]", path, item.line)
        return self._entries(item.value, shape.items * len(item.value), path, shape)

    def _fixed(self, item: Item, shape: Shape, path: str) -> Any:
        if not isinstance(item.value, tuple) or len(item.value) != len(shape.items):
            message = f"{item.text()} does not fit; must be a list of {len(shape.items)} values"
            return self.fail(message, path, item.line)
        return self._entries(item.value, shape.items, path, shape)

    def _entries(
        self, items: tuple[Item, ...], shapes: tuple[Shape, ...], path: str, whole: Shape
    ) -> Any:
        one = self.plain if is_numeric(whole) else self.value  # a list of numbers is one leaf
        pairs = zip(items, shapes, strict=True)
        return tuple(one(entry, shape, join(path, i)) for i, (entry, shape) in enumerate(pairs))

    def _map(self, item: Item, shape: Shape, path: str) -> Any:
        if not isinstance(item.value, dict):
            message = f"{item.text()} is not a mapping; write names and values"
            return self.fail(message, path, item.line)
        keys, values = shape.items
        result: dict[str, Any] = {}
        for key, entry in item.value.items():
            if keys.kind == "choice" and key not in keys.choices:
                self.note(unknown("field", key, keys.choices), path, entry.line)
            else:
                result[key] = self.value(entry, values, join(path, key))
        return result

    def _model(self, item: Item, shape: Shape, path: str) -> Any:
        assert shape.model is not None  # input/shapes.py sets it for this kind
        return self.model(item, shape.model, path)

    def _tagged(self, item: Item, shape: Shape, path: str) -> Any:
        """A model chosen by one of its fields, such as a task by its kind."""
        entries = item.value
        if not isinstance(entries, dict):
            message = f"{item.text()} is not a mapping; needs a {shape.tag!r}"
            return self.fail(message, path, item.line)
        if shape.tag not in entries:
            message = f"missing field {shape.tag!r}; allowed: {', '.join(shape.tagged)}"
            return self.fail(message, path, item.line)
        tag = entries[shape.tag]
        if not isinstance(tag.value, str) or tag.value not in shape.tagged:
            self.bad.add(path)
            message = unknown("value", tag.bare(), shape.tagged)
            return self.fail(message, join(path, shape.tag), tag.line)
        return self.model(item, shape.tagged[tag.value], path)

    def _union(self, item: Item, shape: Shape, path: str) -> Any:
        """The alternative of the kind of what is written: text, list, mapping, or a plain value."""
        kind = _written_as(item.value)
        fitting = [option for option in shape.items if _WRITTEN.get(option.kind, "") == kind]
        if isinstance(item.value, dict) and len(fitting) > 1:
            entries = item.value  # of several models, that of most fields
            fitting.sort(key=lambda option: -_fields_in(entries, option))
        others = [option for option in shape.items if _WRITTEN.get(option.kind) != "text"]
        return self.plain(item, (fitting or others or shape.items)[0], path)


def _fields_in(entries: Mapping[str, Item], shape: Shape) -> int:
    """How many of *entries* are fields of the model of *shape*."""
    return 0 if shape.model is None else len(entries.keys() & fields_of(shape.model).keys())


def _written_as(value: Any) -> str:
    if isinstance(value, dict):
        return "mapping"
    return "text" if isinstance(value, str) else "list" if isinstance(value, tuple) else ""


#: How a kind is written, where that tells it from the other alternatives of a union.
_WRITTEN = {
    "text": "text",
    "choice": "text",
    "list": "list",
    "fixed": "list",
    "map": "mapping",
    "model": "mapping",
    "tagged": "mapping",
}

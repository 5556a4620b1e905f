"""JSON Schema (draft 2020-12) of every kind of file *as it is written*, for editors that complete
and check.

Numbers are written in the styles of :mod:`c3sim.input.conform`. The loader checks what a schema
cannot say: names that exist, cycles, limits of a quantity. An unusual spelling of a unit, such as
``J/kB``, loads although an editor marks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from c3sim.errors import InputError
from c3sim.input.conform import LEAST_BYTES, Style, is_plain
from c3sim.input.hints import unknown
from c3sim.input.leaves import CALIBRATED_FIELDS
from c3sim.input.shapes import FieldShape, Shape, fields_of, is_numeric
from c3sim.specs.dlrm import Dlrm
from c3sim.specs.hardware import Gpu, Node
from c3sim.specs.iteration import Iteration
from c3sim.specs.quantities import Unit
from c3sim.specs.record import Record
from c3sim.specs.study import Study
from c3sim.specs.transformer import Transformer
from c3sim.specs.workload import Workload

Schema = dict[str, Any]

#: Kind of file -> its model and the way it writes numbers.
KINDS: dict[str, tuple[type[BaseModel], Style]] = {
    "node": (Node, "leaf"),
    "gpu": (Gpu, "leaf"),
    "workload": (Workload, "bytes"),
    "iteration": (Iteration, "text"),
    "study": (Study, "text"),
    "model": (Transformer, "text"),
    "record": (Record, "si"),
}
_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?"
_PREFIX = "(f|p|n|u|µ|m|k|M|G|T|P)?"
_BYTES = "((k|M|G|T|P|Ki|Mi|Gi|Ti)?B|(kilo|mega|giga|tera|kibi|mebi|gibi|tebi)?bytes?)"
_LIMITS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


def json_schema(kind: str) -> Schema:
    """The schema of a *kind* of file, one of KINDS. Raises InputError for another."""
    if kind not in KINDS:
        raise InputError(unknown("kind of file", kind, KINDS))
    model, style = KINDS[kind]
    writer = _Writer(style, {})
    root = writer.model(model)
    if kind == "node":
        reference = _text("name of a GPU file, or its path beside this file")
        root["properties"]["gpu"] = {"anyOf": [reference, root["properties"]["gpu"]]}
        writer.definitions["Gpu"]["properties"] |= {"like": _like("gpu")}
    if kind in ("node", "gpu"):
        root["properties"] = {"like": _like(kind), **root["properties"]}
        root["anyOf"] = [{"required": ["like"]}, {"required": root.pop("required")}]
    if kind == "model":
        root = {"anyOf": [root, writer.model(Dlrm)]}
    if style == "leaf":
        root["properties"] = {"schema": {"const": 2}, **root["properties"]}
        root["required"] = ["schema", *root.get("required", [])]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"c3sim {kind}"}
    return {**head, **root, "$defs": dict(sorted(writer.definitions.items()))}


@dataclass(frozen=True)
class _Writer:
    """Writes shapes as schemas; models below the root become named definitions."""

    style: Style
    definitions: dict[str, Schema]

    def model(self, model: type[BaseModel]) -> Schema:
        fields = fields_of(model)
        return {
            "type": "object",
            "description": " ".join((model.__doc__ or "").split()),
            "properties": {name: self._field(field) for name, field in fields.items()},
            "required": [name for name, field in fields.items() if field.required],
            "additionalProperties": False,
        }

    def _field(self, field: FieldShape) -> Schema:
        schema = self.value(field.shape)
        return {**schema, "description": field.description} if field.description else schema

    def value(self, shape: Shape) -> Schema:
        schema = (
            self._leaf(shape) if self.style == "leaf" and is_numeric(shape) else self._plain(shape)
        )
        if self.style == "leaf" and shape.kind in ("text", "choice", "boolean"):
            schema = {"anyOf": [schema, self._leaf(shape)]}
        return {"anyOf": [schema, {"type": "null"}]} if shape.optional else schema

    def _plain(self, shape: Shape) -> Schema:
        match shape.kind:
            case "any":
                return {}
            case "text" | "boolean":
                return {"type": "string" if shape.kind == "text" else "boolean"}
            case "choice":
                return {"enum": list(shape.choices)}
            case "tagged":
                return {"oneOf": [self._reference(model) for model in shape.tagged.values()]}
            case "union":
                return {"anyOf": [self._plain(option) for option in shape.items]}
            case "number" | "integer":
                return self._number(shape)
            case "list":
                return self._list(shape)
            case "fixed":
                return self._fixed(shape)
            case "map":
                return self._map(shape)
            case "model":
                assert shape.model is not None  # input/shapes.py sets it for this kind
                return self._reference(shape.model)

    def _leaf(self, shape: Shape) -> Schema:
        name = "source, interval, fitted and note of a value"
        self.definitions.setdefault(
            "words", {"type": "string", "minLength": 1, "description": name}
        )
        words = {"$ref": "#/$defs/words"}
        properties = {"value": self._plain(shape), "source": words, "fitted": words, "note": words}
        if is_numeric(shape) and shape.kind not in ("list", "fixed"):
            end = self._plain(Shape(kind="number", unit=shape.unit))
            ends = {"type": "array", "prefixItems": [end, end], "minItems": 2, "maxItems": 2}
            properties |= {"interval": ends, "calibrated": self._calibrated(ends)}
        properties["estimate"] = {"type": "boolean"}
        return {
            "type": "object",
            "properties": properties,
            "required": ["value", "source"],
            "additionalProperties": False,
            "if": {"properties": {"estimate": {"const": True}}, "required": ["estimate"]},
            "then": {"required": ["interval"]},
        }

    def _calibrated(self, interval: Schema) -> Schema:
        properties = {
            name: {**self._plain(shape), "description": description}
            for name, (shape, description) in CALIBRATED_FIELDS.items()
        }
        properties["interval"] = {**interval, "description": "95 % confidence interval"}
        return {
            "type": "object",
            "description": "what a fit says of the value",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def _number(self, shape: Shape) -> Schema:
        limits = {_LIMITS[name]: limit for name, limit in shape.limits.items() if name in _LIMITS}
        number = {"type": "integer" if shape.kind == "integer" else "number", **limits}
        if shape.unit is None:
            return number
        text = _quantity(shape.unit)
        if self.style == "bytes":
            number["minimum"] = LEAST_BYTES
        return {"anyOf": [text, number]} if is_plain(self.style, shape) else text

    def _list(self, shape: Shape) -> Schema:
        counts = _counted("Items", shape)
        return {"type": "array", "items": self._entry(shape, 0), **counts}

    def _fixed(self, shape: Shape) -> Schema:
        count = len(shape.items)
        entries = [self._entry(shape, i) for i in range(count)]
        return {"type": "array", "prefixItems": entries, "minItems": count, "maxItems": count}

    def _entry(self, shape: Shape, index: int) -> Schema:
        one = self._plain if is_numeric(shape) else self.value  # a list of numbers is one leaf
        return one(shape.items[index])

    def _map(self, shape: Shape) -> Schema:
        keys, values = shape.items
        counts = _counted("Properties", shape)
        names = {"propertyNames": {"enum": list(keys.choices)}} if keys.kind == "choice" else {}
        value = self.value(values)
        if self.style == "leaf":  # an entry that a file drops from what it is like
            value = {"anyOf": [value, {"type": "null"}]}
        return {"type": "object", "additionalProperties": value, **names, **counts}

    def _reference(self, model: type[BaseModel]) -> Schema:
        name = model.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # taken, so that a model inside itself ends
            self.definitions[name] = self.model(model)
            if self.style == "leaf":  # a file that is like another leaves out what it likes
                del self.definitions[name]["required"]
        return {"$ref": f"#/$defs/{name}"}


def _like(kind: str) -> Schema:
    return _text(f"name or path of a {kind} that has what is left out here")


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _counted(what: str, shape: Shape) -> Schema:
    """How many entries there may be."""
    ends = {"min": "min_length", "max": "max_length"}
    return {
        end + what: int(shape.limits[name]) for end, name in ends.items() if name in shape.limits
    }


def _quantity(unit: Unit) -> Schema:
    """A number and a unit in a usual spelling."""
    spellings = {
        "B": _BYTES,
        "B/s": f"{_BYTES}/s",
        "B/cycle": f"{_BYTES}/cycle",
        "Hz": f"{_PREFIX}Hz",
        "W": f"{_PREFIX}W",
        "J": f"{_PREFIX}J",
        "J/B": f"{_PREFIX}J/{_BYTES}",
        "J/flop": f"{_PREFIX}J/flop",
        "s": f"({_PREFIX}s|min)",
    }
    end = rf"\s*{spellings[unit.si]}" if unit.si in spellings else r"\s*[A-Za-zµ].*"
    what = f"a number and a unit that converts to {unit.si}, as in '{unit.example}'"
    return {
        "type": "string",
        "pattern": rf"^\s*{_NUMBER}{end}\s*$",
        "description": what,
        "examples": [unit.example],
    }

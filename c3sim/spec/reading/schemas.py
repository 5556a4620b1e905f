"""JSON Schema (draft 2020-12) of every kind of file *as it is written*, for editors that complete
and check.

Pydantic writes it from the models; numbers become what a file has in their place, in one of the
styles of :mod:`c3sim.spec.base`. The loader checks what a schema cannot say: names that exist,
cycles, limits of a quantity. An unusual spelling of a unit, such as ``J/kB``, loads although an
editor marks it.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from c3sim.errors import InputError
from c3sim.spec.base import LEAST_BYTES, Style
from c3sim.spec.fields import descriptions
from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.iteration import Iteration
from c3sim.spec.models import Dlrm, Transformer
from c3sim.spec.quantities import Unit
from c3sim.spec.reading.huggingface import FAMILIES
from c3sim.spec.record import Record
from c3sim.spec.sourced import Calibrated
from c3sim.spec.study import Study
from c3sim.spec.words import unknown
from c3sim.spec.workload import Workload

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
_SPELLINGS = {
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
_WORDS = {"$ref": "#/$defs/words"}


class _Generator(GenerateJsonSchema):
    """Pydantic's own, with descriptions of fields and without titles."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        found = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        for name, text in descriptions(model).items():
            if written := found["properties"].get(model.model_fields[name].alias or name):
                written["description"] = text
        return found


def json_schema(kind: str) -> Schema:
    """The schema of a *kind* of file, one of KINDS. Raises InputError for another."""
    if kind not in KINDS:
        raise InputError(unknown("kind of file", kind, KINDS))
    model, style = KINDS[kind]
    root = _written(model.model_json_schema(schema_generator=_Generator), style)
    definitions = root.pop("$defs", {})
    if kind == "model":
        tables = _written(Dlrm.model_json_schema(schema_generator=_Generator), style)
        definitions |= tables.pop("$defs", {})
        root = {"anyOf": [root, tables, _config()]}
    if style == "leaf":
        for part in (root, *definitions.values()):
            _with_sources(part)
        for part in definitions.values():  # a file that is like another leaves out what it likes
            part.pop("required", None)
        definitions["words"] = {
            "type": "string",
            "minLength": 1,
            "description": "source, interval, fitted and note of a value",
        }
        root = _like(root, kind)
    if kind == "node":
        reference = _text("name of a GPU file, or its path beside this file")
        root["properties"]["gpu"] = {"anyOf": [reference, root["properties"]["gpu"]]}
        definitions["Gpu"]["properties"]["like"] = _like_text("gpu")
    for name in ("TransformerInPlace", "DlrmInPlace") if kind == "iteration" else ():
        place = definitions[name]
        place["properties"]["like"] = _like_text("model")
        place["anyOf"] = [{"required": ["like"]}, {"required": place.pop("required")}]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"c3sim {kind}"}
    return {**root, **head, "$defs": dict(sorted(definitions.items()))}


def _config() -> Schema:
    """The schema of a Hugging Face config: whatever it says of a family that is known."""
    known = {"type": "string", "enum": sorted(FAMILIES)}
    inside = {"properties": {"text_config": {"type": "object"}}, "required": ["text_config"]}
    plain = {"properties": {"model_type": known}, "required": ["model_type"]}
    return {"type": "object", "title": "Hugging Face config", "anyOf": [plain, inside]}


def _written(schema: Any, style: Style) -> Any:
    """*schema* with each quantity as a file in *style* writes it."""
    if isinstance(schema, list):
        return [_written(each, style) for each in schema]
    if not isinstance(schema, dict):
        return schema
    unit = schema.get("unit")
    if not isinstance(unit, Unit):
        return {key: _written(each, style) for key, each in schema.items()}
    about = {key: schema[key] for key in ("description",) if key in schema}
    text = _quantity(unit)
    if style != "si" and (style != "bytes" or unit.si != "B"):
        return {**text, **about}
    number = {key: each for key, each in schema.items() if key not in ("unit", "default", *about)}
    least = {"minimum": LEAST_BYTES} if style == "bytes" else {}
    return {"anyOf": [text, {**number, **least}], **about}


def _quantity(unit: Unit) -> Schema:
    """A number and a unit in a usual spelling."""
    return {
        "type": "string",
        "pattern": rf"^\s*{_NUMBER}\s*{_SPELLINGS.get(unit.si, '[A-Za-zµ].*')}\s*$",
        "description": f"a number and a unit that converts to {unit.si}, as in '{unit.example}'",
        "examples": [unit.example],
        "quantity": True,
    }


def _with_sources(model: Schema) -> None:
    """Write each field of *model*, or each entry of a field of names, with its source."""
    for name, field in model.get("properties", {}).items():
        inner = field.get("additionalProperties")
        if isinstance(inner, dict):  # null: an entry that a file drops from what it is like
            either = {"anyOf": [_sourced(inner), {"type": "null"}]}
            field["additionalProperties"] = either
        else:
            model["properties"][name] = _sourced(field)


def _sourced(schema: Schema) -> Schema:
    """The schema of a file's entry for a value of *schema*: an entry, where it is a number; words
    with or without a source.
    """
    if "anyOf" in schema:
        return {**schema, "anyOf": [_sourced(each) for each in schema["anyOf"]]}
    if (
        schema.get("type") in ("string", "boolean") and "quantity" not in schema
    ) or "enum" in schema:
        return {"anyOf": [schema, _entry(schema, {})]}
    if not _is_numeric(schema):
        return schema
    if schema["type"] == "array":
        return _entry(schema, {})
    end = schema if "quantity" in schema else {"type": "number"}
    ends = {"type": "array", "prefixItems": [end, end], "minItems": 2, "maxItems": 2}
    fit = Calibrated.model_json_schema(schema_generator=_Generator)
    fit["properties"]["interval"] = {**ends, "description": "95 % confidence interval"}
    return _entry(schema, {"interval": ends, "calibrated": fit})


def _is_numeric(schema: Schema) -> bool:
    if schema.get("type") == "array":
        items = schema.get("prefixItems", [schema.get("items", {})])
        return all(map(_is_numeric, items))
    return "quantity" in schema or schema.get("type") in ("number", "integer")


def _entry(schema: Schema, more: Schema) -> Schema:
    words = dict.fromkeys(("source", "fitted", "scales_with", "depends_on", "note"), _WORDS)
    properties = {"value": schema, **words, **more}
    about = {key: schema[key] for key in ("description",) if key in schema}
    return {
        "type": "object",
        "properties": {**properties, "estimate": {"type": "boolean"}},
        "required": ["value", "source"],
        "additionalProperties": False,
        "if": {"properties": {"estimate": {"const": True}}, "required": ["estimate"]},
        "then": {"required": ["interval"]},
        **about,
    }


def _like(root: Schema, kind: str) -> Schema:
    """*root* of a hardware file, which has a schema, and may be like another."""
    properties = {"schema": {"const": 2}, "like": _like_text(kind), **root["properties"]}
    either = [{"required": ["like"]}, {"required": root["required"]}]
    return {**root, "properties": properties, "required": ["schema"], "anyOf": either}


def _like_text(kind: str) -> Schema:
    return _text(f"name or path of a {kind} that has what is left out here")


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}

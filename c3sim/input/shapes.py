"""What a field of a spec may hold. No other module looks at type annotations.

The loader, the paths and the JSON Schema work on :class:`Shape`, so a field added to a model under
``specs/`` needs a line in the YAML files and nothing else.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from c3sim.specs.quantities import Unit

Single = Literal["any", "boolean", "choice", "integer", "number", "text"]
Kind = Single | Literal["fixed", "list", "map", "model", "tagged", "union"]
_PLAIN: dict[object, Kind] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
    Any: "any",
}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One annotation. *items*: of a list or map, of a fixed list, or alternatives of a union."""

    kind: Kind
    optional: bool = False
    unit: Unit | None = None
    limits: Mapping[str, float] = field(default_factory=dict)  # gt, ge, lt, le, ..._length
    choices: tuple[Any, ...] = ()
    items: tuple[Shape, ...] = ()
    model: type[BaseModel] | None = None
    tag: str = ""
    tagged: Mapping[str, type[BaseModel]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FieldShape:
    """A field of a model under the name it has in files."""

    name: str
    shape: Shape
    required: bool
    default: Any
    description: str


@cache
def fields_of(model: type[BaseModel]) -> dict[str, FieldShape]:
    """Name in files -> field, in declaration order."""
    return {
        info.alias or name: FieldShape(
            name=name,
            shape=_shape(info.annotation, (info,)),
            required=info.is_required(),
            default=None
            if info.is_required()
            else info.get_default(call_default_factory=True, validated_data={}),
            description=" ".join((info.description or "").split()),
        )
        for name, info in model.model_fields.items()
    }


def is_numeric(shape: Shape) -> bool:
    """Whether it is a number or a list of numbers: what a hardware file writes with its source."""
    if shape.kind in ("list", "fixed"):
        return all(is_numeric(item) for item in shape.items)
    return shape.kind in ("number", "integer")


def _shape(annotation: Any, metadata: tuple[Any, ...] = ()) -> Shape:
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return _shape(inner, (*metadata, *more))
    flat = _flatten(metadata)
    limits = {
        name: getattr(entry, name)
        for entry in flat
        for name in ("gt", "ge", "lt", "le", "min_length", "max_length")
        if getattr(entry, name, None) is not None and not isinstance(entry, FieldInfo)
    }
    unit = next((entry for entry in flat if isinstance(entry, Unit)), None)
    if annotation in _PLAIN:
        return Shape(kind=_PLAIN[annotation], unit=unit, limits=limits)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape(kind="model", model=annotation)
    return _generic(annotation, flat, limits)


def _flatten(metadata: tuple[Any, ...]) -> tuple[Any, ...]:
    flat: list[Any] = []
    for entry in metadata:
        flat += [entry, *entry.metadata] if isinstance(entry, FieldInfo) else [entry]
    return tuple(flat)


def _generic(annotation: Any, metadata: tuple[Any, ...], limits: dict[str, float]) -> Shape:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return Shape(kind="choice", choices=arguments)
    if origin is dict:
        return Shape(kind="map", items=(_shape(arguments[0]), _shape(arguments[1])), limits=limits)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return Shape(kind="list", items=(_shape(arguments[0]),), limits=limits)
    if origin is tuple:
        return Shape(kind="fixed", items=tuple(_shape(argument) for argument in arguments))
    if origin in (Union, types.UnionType):
        return _union(arguments, metadata, limits)
    raise TypeError(
        f"spec files cannot hold a value of type {annotation}; teach input/shapes.py about it first"
    )


def _union(
    arguments: tuple[Any, ...], metadata: tuple[Any, ...], limits: dict[str, float]
) -> Shape:
    optional = type(None) in arguments
    rest = tuple(argument for argument in arguments if argument is not type(None))
    tag = next(
        (entry.discriminator for entry in metadata if getattr(entry, "discriminator", None)), ""
    )
    if tag:
        tagged = {
            value: model for model in rest for value in get_args(model.model_fields[tag].annotation)
        }
        return Shape(kind="tagged", optional=optional, tag=tag, tagged=tagged)
    if len(rest) == 1:
        inner = _shape(rest[0], metadata)
        return replace(inner, optional=optional, limits={**limits, **inner.limits})
    items = tuple(_shape(argument) for argument in rest)
    return Shape(kind="union", optional=optional, items=items)

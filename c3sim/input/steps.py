"""Steps of a path through models, mappings and lists of kinds."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from c3sim.errors import InputError
from c3sim.input.conform import Conform
from c3sim.input.constraints import validate
from c3sim.input.shapes import Shape, fields_of
from c3sim.input.yaml_nodes import Item
from c3sim.specs.workload import Stream, Workload


def inner_fields(value: Any) -> dict[str, Any]:
    """What a path can go on to: name in files -> inner value; nothing from a single value."""
    if isinstance(value, BaseModel):
        return {key: getattr(value, wanted.name) for key, wanted in fields_of(type(value)).items()}
    if _has_kinds(value):
        return {each.kind: each for each in value}
    return value if isinstance(value, dict) else {}


def _has_kinds(value: Any) -> bool:
    """Whether *value* is a list of models, each named by its kind: a path may go through it."""
    return isinstance(value, tuple) and bool(value) and all(hasattr(each, "kind") for each in value)


def leaves(value: Any, path: str) -> list[str]:
    """The paths of all single values in *value*, which is at *path*."""
    if not inner_fields(value) and not isinstance(value, dict):
        return [path]
    return [
        leaf
        for key, inner in inner_fields(value).items()
        for leaf in leaves(inner, f"{path}.{key}" if path else key)
    ]


def step_into(
    value: Any, shape: Shape, step: str, workload: Workload | None = None
) -> tuple[Any, Shape] | None:
    """What *step* of a path leads to from *value* of *shape*; None: nothing."""
    if isinstance(value, BaseModel):
        wanted = fields_of(type(value)).get(step)
        return None if wanted is None else (getattr(value, wanted.name), wanted.shape)
    if isinstance(value, dict):
        if step not in value:
            used = {task.stream for task in workload.tasks.values()} if workload else set()
            is_stream = shape.items[1].model is Stream and step in used
            return (Stream(), shape.items[1]) if is_stream else None
        return value[step], shape.items[1]
    found = inner_fields(value).get(step)
    return None if found is None else (found, Shape(kind="model", model=type(found)))


def rebuilt(value: Any, steps: tuple[str, ...], plain: Any, path: str, written: Item) -> Any:
    """A copy of *value* with *plain* at the end of *steps*; models on the way are validated."""
    if not steps:
        return plain
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        inner = value.get(step, Stream())  # _resolve lets only an undeclared stream be missing
        return {**value, step: rebuilt(inner, rest, plain, path, written)}
    if isinstance(value, tuple):
        return tuple(
            rebuilt(each, rest, plain, path, written) if each.kind == step else each
            for each in value
        )
    model: type[BaseModel] = type(value)
    fields = fields_of(model)
    inner = rebuilt(getattr(value, fields[step].name), rest, plain, path, written)
    given = {
        key: getattr(value, field.name)
        for key, field in fields.items()
        if field.name in value.model_fields_set
    }
    document = Conform(style="text", places={step: 0}, written={step: written})
    result = validate(document, model, {**given, step: inner})
    if result is None:
        raise InputError(document.errors[0].message, path)
    return result

"""The fields of models by their names in files, and what each may hold.

No other module looks at type annotations.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from c3sim.spec.quantities import Unit


class Form(NamedTuple):
    """An annotation without its limits: a *bare* type, the *options* of a union, the field that
    tells them apart (*tag*), the *unit* of a quantity.
    """

    bare: Any
    options: tuple[Any, ...] = ()
    tag: str = ""
    unit: Unit | None = None
    optional: bool = False

    @property
    def origin(self) -> Any:
        """``tuple``, ``dict``, ``Literal``, or None."""
        return get_origin(self.bare)

    @property
    def arguments(self) -> tuple[Any, ...]:
        return get_args(self.bare)

    @property
    def model(self) -> type[BaseModel] | None:
        """The model that it is, if it is one."""
        is_model = isinstance(self.bare, type) and issubclass(self.bare, BaseModel)
        return self.bare if is_model else None

    @property
    def is_single(self) -> bool:
        """True if it is one value: a number, a word, true or false, or one of several of them."""
        return self.model is None and self.origin is not dict and not self.tag


@cache
def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Name in files -> field, in declaration order; those without ``repr`` are in no file."""
    return {info.alias or name: info for name, info in model.model_fields.items() if info.repr}


@cache
def attributes_of(model: type[BaseModel]) -> dict[str, str]:
    """Name in files -> name of the attribute."""
    fields = model.model_fields
    return {info.alias or name: name for name, info in fields.items() if info.repr}


@cache
def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Attribute -> the text below it in its class. Read from the source when somebody asks: to have
    pydantic do so for all models takes a third of a command's start.
    """
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if each is not BaseModel and issubclass(each, BaseModel):
            found |= _written_below(each)
    said = {
        name: field.description or found.get(name) for name, field in model.model_fields.items()
    }
    return {name: text for name, text in said.items() if text}


def _written_below(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Fields and texts of *model* itself; none of one that no file has."""
    with suppress(OSError):
        (written,) = ast.parse(dedent(inspect.getsource(model))).body
        for field, text in pairwise(written.body if isinstance(written, ast.ClassDef) else ()):
            match field, text:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(said))),
                ):
                    yield name, inspect.cleandoc(said)


def description_of(model: type[BaseModel], name: str) -> str:
    """The description of the field *name* (in files) of *model*, on one line."""
    return " ".join(descriptions(model).get(attributes_of(model)[name], "").split())


@cache
def annotation_of(model: type[BaseModel], name: str) -> Any:
    """The annotation of the field *name* (in files) of *model*, with its limits."""
    return fields_of(model)[name].rebuild_annotation()


def form_of(annotation: Any) -> Form:
    """*annotation* taken apart."""
    unit, tag, optional = None, "", False
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation, *metadata = get_args(annotation)
            for entry in metadata:
                unit = entry if isinstance(entry, Unit) else unit
                tag = getattr(entry, "discriminator", None) or tag
        elif origin in (Union, types.UnionType):
            options = tuple(each for each in get_args(annotation) if each is not type(None))
            optional |= len(options) < len(get_args(annotation))
            if len(options) > 1:
                return Form(annotation, options, tag, unit, optional)
            annotation = options[0]
        else:
            return Form(annotation, (), tag, unit, optional)


def is_numeric(annotation: Any) -> bool:
    """True if it is a number or a list of numbers: what a hardware file writes with its source."""
    form = form_of(annotation)
    if form.origin is tuple:
        return all(is_numeric(each) for each in form.arguments if each is not Ellipsis)
    return form.bare in (int, float)


def is_word(annotation: Any) -> bool:
    """True if it is a text, one of several words, or true or false."""
    form = form_of(annotation)
    return form.bare in (str, bool) or form.origin is Literal


def by_tag(form: Form) -> dict[str, type[BaseModel]]:
    """Value of the tag -> the model that it chooses."""
    return {
        value: option
        for option in form.options
        for value in get_args(option.model_fields[form.tag].annotation)
    }


def inside(annotation: Any, step: str | int, value: Any = None) -> Any:
    """The annotation inside *annotation* of its entry *step*, that of a union for the *value*
    there; or None.
    """
    form = form_of(annotation)
    if form.tag:
        tag = value.get(form.tag) if isinstance(value, Mapping) else None
        models = by_tag(form)
        return inside(models[tag], step) if isinstance(tag, str) and tag in models else None
    if form.options:
        return inside(form.options[chosen(form.options, value)], step, value)
    if form.model is not None:
        return inside_model(form.model, step, value)
    if form.origin is dict:
        return form.arguments[1]
    if form.origin is tuple and isinstance(step, int):
        fixed = Ellipsis not in form.arguments
        return form.arguments[step if fixed and step < len(form.arguments) else 0]
    return None


def inside_model(model: type[BaseModel], step: str | int, value: Any = None) -> Any:
    """Field or item as of :func:`inside`, of a *model*."""
    by_others = getattr(model, "inside", None)  # of a model whose fields decide on others
    if by_others is not None and (found := by_others(step, value)) is not None:
        return found
    return annotation_of(model, str(step)) if step in fields_of(model) else None


class ByForm:
    """Marks a union of which the alternative is meant that is written as the value is: text, list,
    mapping, or a plain value; of several models that with most of its fields.
    """

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        union = form_of(source)
        schema = core_schema.tagged_union_schema(
            {str(i): handler.generate_schema(each) for i, each in enumerate(union.options)},
            lambda value: str(chosen(union.options, value)),
        )
        return core_schema.nullable_schema(schema) if union.optional else schema


def chosen(options: tuple[Any, ...], value: object) -> int:
    """The one of *options* that is written as *value* is."""
    written = next((name for name, types in _WRITTEN.items() if isinstance(value, types)), "")
    fitting = [i for i, option in enumerate(options) if _way_of(option) == written]
    if isinstance(value, BaseModel):
        of = type(value)
        fitting = [
            i for i in fitting if of in (options[i], *form_of(options[i]).options)
        ] or fitting
    elif isinstance(value, Mapping):
        fitting.sort(key=lambda i: -_fields_in(value, options[i]))
    others = [i for i, option in enumerate(options) if _way_of(option) != "text"]
    return (fitting or others or [0])[0]


_WRITTEN: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "list": (tuple, list),
    "mapping": (Mapping, BaseModel),
}


def _way_of(annotation: Any) -> str:
    """The way to write a value of that *annotation*, where that tells it from others."""
    form = form_of(annotation)
    if form.bare is str or form.origin is Literal:
        return "text"
    if form.origin is tuple:
        return "list"
    return "" if form.bare in (int, float, bool) else "mapping"


def _fields_in(entries: Mapping[str, Any], annotation: Any) -> int:
    """The number of *entries* that are fields of the model that *annotation* is; of several told
    apart by a tag all, where it is among them.
    """
    form = form_of(annotation)
    if form.tag and form.tag in entries:
        return len(entries) + 1
    model = form.model
    return 0 if model is None else len(entries.keys() & fields_of(model).keys())

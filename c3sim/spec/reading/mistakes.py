"""The one pass over what a file says, and the words for its mistakes: pydantic's errors with the
file, line and path of each.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from c3sim.errors import InputError, InputErrors
from c3sim.spec.base import Reading, Style, shown
from c3sim.spec.fields import (
    annotation_of,
    by_tag,
    chosen,
    description_of,
    fields_of,
    form_of,
    inside,
)
from c3sim.spec.reading.documents import UNREADABLE, Document, Step, join, plain
from c3sim.spec.sourced import DROPPED, Hardware, Sourced
from c3sim.spec.words import new_name, unknown

Model = TypeVar("Model", bound=BaseModel)

#: Pydantic's name of an error, and of the limit in it -> what was asked for.
LIMITS = {
    "greater_than": ("gt", "must be greater than {}"),
    "greater_than_equal": ("ge", "must be at least {}"),
    "less_than": ("lt", "must be less than {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "too_short": ("min_length", "needs at least {} entries"),
    "too_long": ("max_length", "may have at most {} entries"),
}
#: Pydantic's name of an error -> what is said behind the value.
_OF_TYPE = {
    "int_type": "is not a whole number; must be one, written in digits",
    "int_from_float": "is not a whole number; must be one, written in digits",
    "float_type": "is not a number; must be a plain number, without unit",
    "finite_number": "is not finite; must be a finite number",
    "string_type": "is not text; must be a word or a quoted text",
    "bool_type": "is neither true nor false; must be one of them",
    "tuple_type": "is not a list; write [a, b, ...]",
    "dict_type": "is not a mapping; write names and values",
}


def read(model: type[Model], document: Document, reading: Reading) -> Model:
    """*document* as *model*. Raises InputErrors."""
    errors = document.errors
    try:
        found = model.model_validate(document.data, strict=True, context=reading)
    except ValidationError as error:
        raise InputErrors(in_order([*errors, *mistakes(error, model, document)])) from None
    raise_all(errors)
    return found


def checked(model: type[Model], data: Mapping[str, Any]) -> Model:
    """Values that Python has, in SI units, as *model*. Raises InputErrors."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise InputErrors(in_order(mistakes(error, model, Document(plain(data))))) from None


def convert(annotation: Any, value: object, style: Style = "text", path: str = "") -> Any:
    """*value*, written in that *style*, as a field of that *annotation* holds it. Raises
    InputError: the first mistake, as one of *path*, or of a field inside.
    """
    written = plain(value)
    try:
        return _adapter(annotation).validate_python(written, strict=True, context=Reading(style))
    except ValidationError as error:
        first = next(mistakes(error, annotation, Document(written)))
        at = path if not first.path or first.path.startswith("[") else f"{path}."
        raise InputError(first.message, f"{at}{first.path}".removeprefix(".")) from None


@lru_cache(maxsize=512)
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


def mistakes(error: ValidationError, root: Any, document: Document) -> Iterator[InputError]:
    """The mistakes in *document*, which was to be a *root*, in the words of :mod:`c3sim`."""
    for entry in error.errors(include_url=False):
        spot = _Spot(root, document).reach(entry["loc"])
        too_few = entry["type"] == "too_short" and len(spot.bare) < entry["ctx"]["min_length"]
        # pydantic does not count what is wrong in itself
        if entry["input"] is not UNREADABLE and (entry["type"] != "too_short" or too_few):
            yield spot.mistake(entry)


class _Spot:
    """A place in a *document* that pydantic's path leads to: the value, and what it may be."""

    def __init__(self, root: Any, document: Document) -> None:
        self.document, self.annotation = document, root
        self.value, self.place, self.path = document.data, document.place, ""
        self.above = self

    def reach(self, loc: tuple[Step, ...]) -> _Spot:
        """The spot at the end of *loc*, which names branches of unions as well."""
        spot = self
        for step in loc:
            form = form_of(spot.annotation)
            if form.tag:
                spot.annotation = by_tag(form)[str(step)]
            elif form.options:
                told = str(step).isdigit()  # a plain union names the type instead
                index = int(step) if told else chosen(form.options, spot.value)
                spot.annotation = form.options[index]
            elif step != "[key]":
                spot = spot._into(step)
        return spot

    def _into(self, step: Step) -> _Spot:
        value, annotation = self.value, inside(self.annotation, step, self.value)
        if isinstance(step, int):
            value = self.bare
        elif annotation is None and step in Sourced.model_fields:
            annotation = annotation_of(Sourced, step)
        spot = _Spot(annotation, self.document)
        try:
            spot.value = None if value[step] is DROPPED else value[step]
        except (LookupError, TypeError):
            spot.value = None
        spot.place = self.document.place_of(value, step, self.place)
        spot.path, spot.above = join(self.path, step), self
        return spot

    @property
    def bare(self) -> Any:
        """The value, without what a hardware file says beside it."""
        is_entry = isinstance(self.value, Mapping) and "value" in self.value
        form = form_of(self.annotation)
        return self.value["value"] if is_entry and form.is_single else self.value

    def mistake(self, entry: Any) -> InputError:
        """Pydantic's error *entry* about what is here."""
        kind, last, above = entry["type"], entry["loc"][-1:], self.above
        if kind == "missing" and isinstance(last[0], int):
            return above._error(above._not_that_many())
        if kind == "missing":
            return above._error(self._missing(last[0]))
        if kind == "extra_forbidden":
            return self._error(self._extra(last[0]), above.path)
        if last == ("[key]",):
            key = entry["loc"][-2]
            keys = form_of(form_of(above.annotation).arguments[0]).arguments
            return self._error(unknown("field", key, keys), above.path)
        form = form_of(self.annotation)
        if kind == "union_tag_invalid":
            tag = self._into(form.tag)
            written = tag.value if isinstance(tag.value, str) else shown(tag.value)
            return tag._error(unknown("value", written, by_tag(form)))
        if self.bare is not self.value is not entry["input"]:
            self.place = self.document.place_of(self.value, "value", self.place)
        return self._error(self._message(kind, entry))

    def _error(self, message: str, path: str | None = None) -> InputError:
        path, file = self.path if path is None else path, self.place.file
        path = self.document.path_in(file, path)
        return InputError(message.replace("{file}", file or "FILE"), path, file, self.place.line)

    def _missing(self, name: str) -> str:
        model = form_of(self.above.annotation).model
        about = description_of(model, name) if model is not None else ""
        return f"missing field {name!r}{f' ({about})' if about else ''}; it has no default"

    def _extra(self, name: str) -> str:
        model = form_of(self.above.annotation).model
        is_hardware = model is not None and issubclass(model, Hardware)
        if is_hardware and (new := new_name(self.path)) is not None:
            return f"field {name!r} is called {new!r} now; c3sim upgrade {{file}} renames it"
        also = ("like", "schema") if is_hardware and not self.above.path else ()
        return unknown("field", name, (*fields_of(model or Sourced), *also))

    def _not_that_many(self) -> str:
        count = len(form_of(self.annotation).arguments)
        return f"{shown(self.bare)} does not fit; must be a list of {count} values"

    def _message(self, kind: str, entry: Any) -> str:
        form, context = form_of(self.annotation), entry.get("ctx", {})
        written = shown(self.bare)
        if kind == "said":
            return str(context["said"])
        if kind == "value_error":
            return str(context["error"])
        if (
            kind in ("tuple_type", "too_long")
            and form.origin is tuple
            and (Ellipsis not in form.arguments)
        ):
            return self._not_that_many()
        if kind in LIMITS:
            name, asked = LIMITS[kind]
            limit = context[name]
            limit = f"{limit:g}" if isinstance(limit, float) else limit
            return f"got {written}; {asked.format(limit)}"
        if kind in _OF_TYPE:
            return f"{written} {_OF_TYPE[kind]}"
        if kind == "literal_error":
            bare = self.bare if isinstance(self.bare, str) else written
            return unknown("value", bare, form.arguments)
        if kind == "union_tag_not_found":
            return f"missing field {form.tag!r}; allowed: {', '.join(by_tag(form))}"
        if kind in ("model_type", "model_attributes_type"):
            fields = f"the fields {', '.join(fields_of(form.model))}" if form.model else ""
            return f"{written} is not a mapping; needs {fields or f'a {form.tag!r}'}"
        text = str(entry["msg"])
        return f"got {written}; {text[:1].lower()}{text[1:]}"


def nearest_place(path: str, places: Mapping[str, int]) -> int:
    """The line of *path*, or of the closest collection around it that has one; 0 for none."""
    while path and path not in places:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return places.get(path, 0)


def in_order(errors: Iterable[InputError]) -> list[InputError]:
    """*errors* in the order of the file, each once."""
    unique = {str(error): error for error in errors}.values()
    return sorted(unique, key=lambda error: (error.file, error.line))


def raise_all(errors: Iterable[InputError]) -> None:
    """Raise *errors*, in the order of the file; nothing when there are none."""
    if found := in_order(errors):
        raise InputErrors(found)


@contextmanager
def with_places(file: str, places: Mapping[str, int], but: Collection[str] = ()) -> Iterator[None]:
    """Put file and line on the InputErrors raised inside, from the line of each path; *but* on
    those of fields that the file does not say, and those that another file has.
    """

    def placed(each: InputError) -> InputError:
        if each.file or re.split(r"[.\[]", each.path)[0] in but:
            return each
        return InputError(each.message, each.path, file, nearest_place(each.path, places))

    try:
        yield
    except InputErrors as error:
        raise InputErrors(map(placed, error.errors)) from None

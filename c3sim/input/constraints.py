"""The last step of loading: pydantic checks limits and rules; its errors get the file's lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from c3sim.errors import InputError, InputErrors
from c3sim.input.conform import BAD, Conform
from c3sim.input.yaml_nodes import join

Model = TypeVar("Model", bound=BaseModel)

#: Limit of a shape -> what it asks for.
LIMITS = {
    "gt": "must be greater than {}",
    "ge": "must be at least {}",
    "lt": "must be less than {}",
    "le": "must be at most {}",
    "min_length": "needs at least {} entries",
    "max_length": "may have at most {} entries",
}
#: Pydantic's name of an error -> the limit that was broken.
_BROKEN = {
    "greater_than": "gt",
    "greater_than_equal": "ge",
    "less_than": "lt",
    "less_than_equal": "le",
    "too_short": "min_length",
    "too_long": "max_length",
}


def validate(document: Conform, model: type[Model], data: Any) -> Model | None:
    """Conformed *data* as *model*; None, with notes in ``document.errors``, where it cannot be."""
    if data is BAD:
        return None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        above_bad = {above for path in document.bad for above in _above(path)}
        for path, entry in _one_each(error, document.places):
            follows = entry["type"] == "too_short" and path in above_bad
            noted = path in document.bad or not document.bad.isdisjoint(_above(path))
            if not follows and not noted:
                item = document.written.get(path)
                message = _message(entry, None if item is None else item.text())
                line = nearest_place(path, document.places)
                document.errors.append(InputError(message, path, document.file, line))
        return None


def _one_each(error: ValidationError, places: Mapping[str, int]) -> Iterator[tuple[str, Any]]:
    """Pydantic's errors with their paths; of a union, those of the branch of the right type."""
    found: dict[str, list[Any]] = {}
    for entry in error.errors(include_url=False):
        found.setdefault(_path(entry["loc"], places), []).append(entry)
    inner = {above for path in found for above in _above(path)}
    for path, entries in found.items():
        if path in inner and all(
            entry["type"].endswith("_type") or entry["type"] == "too_short" for entry in entries
        ):
            # another branch: what is inside fits this one; or entries are missing that are told of
            # as wrong
            continue
        limits = [entry for entry in entries if entry["type"] in _BROKEN]
        yield from ((path, entry) for entry in limits or entries)


def _path(loc: tuple[int | str, ...], places: Mapping[str, int]) -> str:
    """The path in the file: pydantic's *loc* without the names of union branches.

    A branch may be called as one of its fields (a task of kind ``stream`` has a ``stream``). The
    path that leads to the last step is meant, and of several the longest.
    """
    paths = {"": False}  # each way to read *loc* so far -> whether it takes the last step
    for step in loc:
        longer = {join(path, step): True for path in paths if join(path, step) in places}
        paths = dict.fromkeys(paths, False) | longer
    return max(paths, key=lambda path: (paths[path], len(path)))


def _above(path: str) -> Iterator[str]:
    """The collections around *path*; the last of ``tasks.a.after[0]`` is ``tasks.a.after``."""
    return (path[:end] for end, sign in enumerate(path) if sign in ".[" and end)


def _message(entry: Any, written: str | None) -> str:
    kind, context = entry["type"], entry.get("ctx", {})
    if kind in _BROKEN:
        name = _BROKEN[kind]
        got = written if written is not None else repr(entry["input"])
        limit = f"{context[name]:g}" if isinstance(context[name], float) else context[name]
        return f"got {got}; {LIMITS[name].format(limit)}"
    if kind == "value_error":
        return str(context["error"])
    text = str(entry["msg"])
    return f"got {written}; {text[:1].lower()}{text[1:]}" if written is not None else text


def nearest_place(path: str, places: Mapping[str, int]) -> int:
    """The line of *path*, or of the closest collection around it that has one; 0 for none."""
    while path and path not in places:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return places.get(path, 0)


def raise_all(errors: list[InputError]) -> None:
    """Raises the errors noted, in file order; nothing when there are none."""
    if errors:
        unique = {str(error): error for error in errors}.values()
        raise InputErrors(sorted(unique, key=lambda error: (error.file, error.line)))


@contextmanager
def with_places(file: str, places: Mapping[str, int]) -> Iterator[None]:
    """Puts file and line on the InputErrors raised inside, from the line of each path."""
    try:
        yield
    except InputErrors as error:
        raise InputErrors(
            InputError(each.message, each.path, file, nearest_place(each.path, places))
            for each in error.errors
        ) from None

"""From text to plain data, and the line that each value stands on; strict, and without YAML's
surprises.

PyYAML only splits the text into events. What a scalar means is decided here: whole numbers, decimal
numbers (``5.3e12`` is one), ``true``, ``false``, ``null``; everything else is text. So ``on``,
``12:30`` and ``010`` stay what they look like. Repeated keys, aliases, merge keys and tags are
errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, NamedTuple

import yaml

from c3sim.errors import InputError

Scalar = int | float | str | bool | None
Step = str | int

_INTEGER = re.compile(r"[-+]?(0|[1-9]\d{0,99})")
_DECIMAL = re.compile(r"[-+]?((0|[1-9]\d{0,99})(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?")
_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "true": True, "false": False}
_DEEPEST = 40
_Loader: type = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_ONE_STEP = re.compile(r"\[(\d+)\]|'([^']*)'|\"([^\"]*)\"|([\w-]+)")


class Place(NamedTuple):
    """The place of a value; *like*: the name of the file it was taken over from, if it was."""

    file: str = ""
    line: int = 0
    like: str = ""


NOWHERE = Place()
#: Stands for what a document names and could not be read; that is among its errors.
UNREADABLE: Any = type("Unreadable", (), {})()


@dataclass(frozen=True)
class Document:
    """*data* as written, mappings as dict and lists as tuple, and the *places* of its entries, by
    the ``id`` of the mapping or list that they are in.

    *roots*: file -> path at which its data lies; *errors*: mistakes that are known already;
    *bases*: machines that it is like, the first of all first, each with the files it is from.
    """

    data: Any
    place: Place = NOWHERE
    places: dict[int, tuple[Any, dict[Step, Place]]] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    errors: list[InputError] = field(default_factory=list)
    bases: list[tuple[frozenset[str], Mapping[str, Any]]] = field(default_factory=list)

    def take_in(self, other: Document, path: str = "") -> None:
        """Know the places of *other*, whose data is to be a part of this, at *path*."""
        self.places.update(other.places)
        for file, root in {**other.roots, other.place.file: ""}.items():
            self.roots.setdefault(file, join(path, root) if path and root else path or root)
        self.errors.extend(other.errors)
        self.bases.extend((of, {path: data} if path else data) for of, data in other.bases)

    def leave_out(self, key: str) -> None:
        """Forget the entry *key*, and the files that lie there."""
        self.data.pop(key, None)
        for file in [file for file, root in self.roots.items() if root == key]:
            del self.roots[file]

    def path_in(self, file: str, path: str) -> str:
        """*path* of the document as one of *file*."""
        root = self.roots.get(file, "")
        return "" if path == root else path.removeprefix(f"{root}.")

    def place_of(self, container: object, step: Step, else_: Place) -> Place:
        """The place of the entry *step* of *container*; *else_*: of data that is in no file."""
        known = self.places.get(id(container))
        return known[1].get(step, else_) if known is not None else else_

    def note(self, container: Any, places: dict[Step, Place]) -> None:
        """Know the *places* of the entries of *container*, which lives as long as this does."""
        self.places[id(container)] = (container, places)

    def lines(self) -> dict[str, int]:
        """Path of every value -> its line."""
        found = {"": self.place.line}
        for path, _, place in self.walk():
            found[path] = place.line
        return found

    def walk(self) -> Iterator[tuple[str, Any, Place]]:
        """Path, value and place of everything in it, what is outside first."""
        yield from self._inside(self.data, "", self.place)

    def _inside(self, value: Any, path: str, place: Place) -> Iterator[tuple[str, Any, Place]]:
        entries = value.items() if isinstance(value, dict) else ()
        for step, each in enumerate(value) if isinstance(value, tuple) else entries:
            inner, where = join(path, step), self.place_of(value, step, place)
            yield inner, each, where
            if isinstance(each, dict | tuple):
                yield from self._inside(each, inner, where)


def join(path: str, *keys: Step) -> str:
    """The path of an entry: ``hbm.bandwidth``, ``reads[0]``."""
    for key in keys:
        if isinstance(key, int):
            path = f"{path}[{key}]"
        else:
            path = f"{path}.{_as_step(key)}" if path else _as_step(key)
    return path


@lru_cache(maxsize=4096)
def _as_step(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key) else repr(key)


def scalar(text: str) -> Scalar:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def plain(data: object) -> Any:
    """Python or JSON *data* as a file's would be; what has another type becomes its text."""
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, Sequence):
        return tuple([plain(value) for value in data])
    if isinstance(data, Real):  # NumPy's numbers, from sweeps
        return int(data) if isinstance(data, Integral) else float(data)
    return str(data)


def read_yaml(text: str, file: str, errors: list[InputError]) -> Document | None:
    """The mapping in *text*, its one document, or None; every mistake goes to *errors*.

    Of a text that is something else no word is in them: it may be a file that is nobody's business.
    """
    before = len(errors)
    try:
        try:
            root = _Tree(text, _Loader, file, errors).document()
        except yaml.YAMLError:  # the pure Python parser words its errors better
            del errors[before:]  # those of the first attempt
            root = _Tree(text, yaml.BaseLoader, file, errors).document()
        if isinstance(root.data, dict):
            return root
        wrong, line = "is no mapping of fields; a file has lines as name: value", 1
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        wrong, line = f"not valid YAML: {problem}", mark.line + 1 if mark else 1
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        wrong = f"not valid YAML: character {chr(error.character)!r}; only text is allowed"
    except _Hopeless as error:
        wrong, line = str(error.args[0]), int(error.args[1])
    errors[before:] = [InputError(wrong, "", file, line)]
    return None


class _Hopeless(Exception):
    """A mistake of the document as a whole, and its line."""


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


class _Tree:
    """Builds a document from PyYAML's events, which still show aliases and tags."""

    def __init__(self, text: str, loader: type, file: str, errors: list[InputError]) -> None:
        self.events = yaml.parse(text, Loader=loader)
        self.file, self.errors = file, errors
        self.places: dict[int, tuple[Any, dict[Step, Place]]] = {}

    def document(self) -> Document:
        next(self.events)  # start of the stream
        if isinstance(next(self.events), yaml.StreamEndEvent):
            raise _Hopeless("the file is empty; it must hold a mapping of fields", 1)
        data = self._value(next(self.events), "", 0)
        next(self.events)  # end of the document
        following = next(self.events)
        if not isinstance(following, yaml.StreamEndEvent):
            raise _Hopeless("a second document begins here; a file holds one", _line(following))
        next(self.events, None)  # the parser ends here: where it is collected, Ctrl-C is not heard
        return Document(data, Place(self.file, 1), self.places)

    def _value(self, event: Any, path: str, depth: int) -> Any:
        if depth > _DEEPEST:
            message = f"nested more than {_DEEPEST} deep; spec files have a handful of levels"
            raise _Hopeless(message, _line(event))
        if isinstance(event, yaml.AliasEvent):
            message = f"alias '*{event.anchor}' is not supported; write the value itself"
            return self._refuse(message, path, event)
        if event.tag is not None:
            self._refuse(f"tag {event.tag!r} is not supported; leave it out", path, event)
        if isinstance(event, yaml.ScalarEvent):
            return event.value if event.style else scalar(event.value)
        places: dict[Step, Place] = {}
        value: Any
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(path, places, depth + 1)
        else:
            value = tuple(self._sequence(path, places, depth + 1))
        self.places[id(value)] = (value, places)
        return value

    def _sequence(self, path: str, places: dict[Step, Place], depth: int) -> Iterator[Any]:
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            index = len(places)
            places[index] = Place(self.file, _line(event))
            yield self._value(event, join(path, index), depth)

    def _mapping(self, path: str, places: dict[Step, Place], depth: int) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = event.value if isinstance(event, yaml.ScalarEvent) else None
            if key is None:
                self._value(event, path, depth)
                self._refuse("a key is not a word; keys must be plain words", path, event)
            following = next(self.events)
            value = self._value(following, join(path, key or ""), depth)
            if key == "<<":
                self._refuse("merge key '<<' is not supported; write the fields out", path, event)
            elif key in entries:
                twice = f"given twice, first on line {places[key].line}; each may be given once"
                self._refuse(f"field {key!r} is {twice}", path, event)
            elif key is not None:
                entries[key] = value
                inner = isinstance(following, yaml.CollectionStartEvent)
                places[key] = Place(self.file, _line(event if inner else following))
        return entries

    def _refuse(self, message: str, path: str, event: Any) -> None:
        self.errors.append(InputError(message, path, self.file, _line(event)))

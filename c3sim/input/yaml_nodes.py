"""From text to a tree of :class:`Item`, each value with its line; strict, and without YAML's
surprises.

PyYAML only splits the text into events. What a scalar means is decided here: whole numbers, decimal
numbers (``5.3e12`` is one), ``true``, ``false``, ``null``; everything else is text. So ``on``,
``12:30`` and ``010`` stay what they look like. Repeated keys, aliases, merge keys and tags are
errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import yaml

from c3sim.errors import InputError

Scalar = int | float | str | bool | None

_INTEGER = re.compile(r"[-+]?(0|[1-9]\d{0,99})")
_DECIMAL = re.compile(r"[-+]?((0|[1-9]\d{0,99})(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?")
_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "true": True, "false": False}
_DEEPEST = 40
_Loader: type = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(kw_only=True, slots=True)
class Item:
    """One value and its line, or that of a collection's key; 0: not from a file. Never changed;
    not frozen, since records have millions of them.
    """

    value: Scalar | dict[str, Item] | tuple[Item, ...]
    line: int
    refused: bool = False  # its mistake has been noted, and it has no value

    def bare(self) -> str:
        """As :meth:`text`, a word without its quotes."""
        return self.value if isinstance(self.value, str) else self.text()

    def text(self) -> str:
        """The value as it would be written, on one line and short, for messages."""
        if isinstance(self.value, str):
            return repr(self.value if len(self.value) <= 60 else self.value[:57] + "...")
        if self.value is None or isinstance(self.value, bool):
            return {None: "null", True: "true", False: "false"}[self.value]
        if isinstance(self.value, tuple):
            text = "[" + ", ".join(item.text() for item in self.value[:40]) + "]"
            return text if len(text) <= 60 else f"a list of {len(self.value)}"
        return "a mapping" if isinstance(self.value, dict) else str(self.value)


def join(path: str, *keys: str | int) -> str:
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
    """What an unquoted scalar means."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def from_plain(data: object, line: int = 0) -> Item:
    """Python or JSON data as an item tree on one *line*; other types become their text."""
    if data is None or isinstance(data, (bool, int, float, str)):
        return Item(value=data, line=line)
    if isinstance(data, Mapping):
        return Item(
            value={str(key): from_plain(value, line) for key, value in data.items()}, line=line
        )
    if isinstance(data, Sequence):
        return Item(value=tuple(from_plain(value, line) for value in data), line=line)
    if isinstance(data, Real):  # NumPy's numbers, from sweeps
        return Item(value=int(data) if isinstance(data, Integral) else float(data), line=line)
    return Item(value=str(data), line=line)


def read_yaml(text: str, file: str, errors: list[InputError]) -> Item | None:
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
        if isinstance(root.value, dict):
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
    """What is wrong with the document as a whole, and the line."""


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


class _Tree:
    """Builds items from PyYAML's events, which still show aliases and tags."""

    def __init__(self, text: str, loader: type, file: str, errors: list[InputError]) -> None:
        self.events = yaml.parse(text, Loader=loader)
        self.file, self.errors = file, errors

    def document(self) -> Item:
        next(self.events)  # start of the stream
        if isinstance(next(self.events), yaml.StreamEndEvent):
            raise _Hopeless("the file is empty; it must hold a mapping of fields", 1)
        item = self._item(next(self.events), "", 1, 0)
        next(self.events)  # end of the document
        following = next(self.events)
        if not isinstance(following, yaml.StreamEndEvent):
            raise _Hopeless("a second document begins here; a file holds one", _line(following))
        return item

    def _item(self, event: Any, path: str, key_line: int, depth: int) -> Item:
        line = _line(event)
        if depth > _DEEPEST:
            raise _Hopeless(
                f"nested more than {_DEEPEST} deep; spec files have a handful of levels", line
            )
        if isinstance(event, yaml.AliasEvent):
            return self._refuse(
                f"alias '*{event.anchor}' is not supported; write the value itself", path, line
            )
        if event.tag is not None:
            self._refuse(f"tag {event.tag!r} is not supported; leave it out", path, line)
        if isinstance(event, yaml.MappingStartEvent):
            return Item(value=self._mapping(path, depth), line=key_line)
        if isinstance(event, yaml.SequenceStartEvent):
            return Item(value=self._sequence(path, depth), line=key_line)
        return Item(value=event.value if event.style else scalar(event.value), line=line)

    def _sequence(self, path: str, depth: int) -> tuple[Item, ...]:
        entries: list[Item] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            line = _line(event)
            entries.append(self._item(event, join(path, len(entries)), line, depth + 1))
        return tuple(entries)

    def _mapping(self, path: str, depth: int) -> dict[str, Item]:
        entries: dict[str, Item] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            line = _line(event)
            if not isinstance(event, yaml.ScalarEvent):
                self._item(event, path, line, depth + 1)
                self._refuse("a key is not a word; keys must be plain words", path, line)
                key = ""
            else:
                key = event.value
            value = self._item(next(self.events), join(path, key), line, depth + 1)
            if key == "<<":
                self._refuse("merge key '<<' is not supported; write the fields out", path, line)
            elif key in entries:
                twice = f"given twice, first on line {entries[key].line}; each may be given once"
                self._refuse(f"field {key!r} is {twice}", path, line)
            elif isinstance(event, yaml.ScalarEvent):
                entries[key] = value
        return entries

    def _refuse(self, message: str, path: str, line: int) -> Item:
        self.errors.append(InputError(message, path, self.file, line))
        return Item(value=None, line=line, refused=True)

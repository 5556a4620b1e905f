"""Edits of a YAML text that leave everything else, comments and layout included, as it was.

A path is a sequence of keys. New text is put in as given; :func:`quoted` and :func:`flow` make it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from c3sim.errors import InputError
from c3sim.spec.reading.documents import scalar

Keys: TypeAlias = tuple[str, ...]
Edit: TypeAlias = tuple[int, int, str]
WIDTH = 110


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A key of a mapping and its value, where they stand in the text; ends are exclusive."""

    keys: Keys
    key: tuple[int, int]
    value: tuple[int, int]
    #: the text of a single value; None for a list or a mapping
    scalar: str | None

    def replace_key(self, new: str) -> Edit:
        """The edit that renames it."""
        return (*self.key, new)

    def replace_value(self, new: str) -> Edit:
        """The edit that gives it the value *new*."""
        return (*self.value, new)

    def replace(self, new: str) -> Edit:
        """The edit that puts *new*, ``key: value``, in its place."""
        return (self.key[0], self.value[1], new)


def entries_of(text: str) -> dict[Keys, Entry]:
    """Every entry of every mapping, by its keys, in the order of the file."""
    return {entry.keys: entry for entry in _entries(yaml.compose(text, yaml.SafeLoader), ())}


def _entries(node: yaml.Node | None, above: Keys) -> Iterator[Entry]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        keys = (*above, str(key.value))
        yield Entry(
            keys=keys,
            key=(key.start_mark.index, key.end_mark.index),
            value=(value.start_mark.index, _end(value)),
            scalar=value.value if isinstance(value, yaml.ScalarNode) else None,
        )
        yield from _entries(value, keys)


def _end(node: yaml.Node) -> int:
    """The end of *node*. A block mapping ends with its last value; comments after it stay."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def apply(text: str, edits: list[Edit]) -> str:
    """*text* with all *edits*, which must not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def replace_values(text: str, changes: Mapping[Keys, str], file: str = "") -> str:
    """*text* with each value replaced. Raises InputError for keys that lead to no single value."""
    entries = entries_of(text)
    edits = []
    for keys, new in changes.items():
        entry = entries.get(keys)
        if entry is None or entry.scalar is None:
            message = "is not a single value in the file; it cannot be replaced"
            raise InputError(message, ".".join(keys), file)
        edits.append(entry.replace_value(new))
    return apply(text, edits)


def quoted(words: str, indent: int) -> str:
    """*words* in double quotes, folded; a line break within them is a blank to YAML."""
    escaped = words.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _folded(escaped, indent) + '"'


def flow(values: Mapping[str, str], indent: int) -> str:
    """``{key: value, ...}``, folded between its entries."""
    entries = [f"{key}: {value}".replace(" ", "\0") for key, value in values.items()]
    return _folded("{" + ", ".join(entries) + "}", indent).replace("\0", " ")


def word(text: str) -> str:
    """*text* as a YAML value, in quotes where it would not be read as text without them."""
    return text if isinstance(scalar(text), str) else f'"{text}"'


def _folded(words: str, indent: int) -> str:
    lines = textwrap.wrap(words, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    return ("\n" + " " * indent).join(lines)

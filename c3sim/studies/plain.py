"""Results as plain data: frozen dataclasses to what JSON can hold.

A field of a dataclass is an entry of its name. Metadata tell of other fields:

    ENTRIES   a mapping or dataclass whose entries stand beside those of the other fields
    IF_KNOWN  an entry that is left out where it is None
    KEY       an entry of another name, where that is no name for a field ("class")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

ENTRIES = {"entries": True}
IF_KNOWN = {"if_known": True}
KEY = "key"


def to_plain(value: object) -> Any:
    """*value* with dictionaries for dataclasses and mappings, lists for sequences."""
    if is_dataclass(value):
        return _of_fields(value)
    if isinstance(value, Mapping):
        return {key: to_plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_plain(entry) for entry in value]
    return value


def _of_fields(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for each in fields(value):
        content = getattr(value, each.name)
        if each.metadata.get("entries"):
            plain |= to_plain(content)
        elif content is not None or not each.metadata.get("if_known"):
            plain[each.metadata.get(KEY, each.name)] = to_plain(content)
    return plain

"""Reads JSON that may be cut off: members of a list up to the fault, and what is before it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from c3sim.errors import not_json

_DECODER = json.JSONDecoder()
_GAP = re.compile(r"[\s,]*")


@dataclass(frozen=True)
class Fault:
    """The place at which a text stops being JSON."""

    message: str
    line: int


def read_members(text: str, key: str) -> tuple[dict[str, Any] | None, list[Any], Fault | None]:
    """The object around list *key*, the members of the list, and the first fault.

    The object is None when *text* is a list, or one object per line; then those are the members.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: a number of too many digits, too
        return _partly(text, key, error)
    if isinstance(document, list):
        return None, document, None
    if isinstance(document, dict):
        if key not in document and "size" in document:
            return None, [document], None
        members = document.get(key)
        return document, members if isinstance(members, list) else [], None
    return {}, [], Fault(f"got {type(document).__name__}; expected a JSON object or list", 1)


def _partly(
    text: str, key: str, error: Exception
) -> tuple[dict[str, Any] | None, list[Any], Fault | None]:
    start = re.search(rf'"{key}"\s*:\s*\[', text)
    begin = start.end() if start else _after_gap(text, 0)
    is_list = start is None and text[begin : begin + 1] == "["
    members, end = _members(text, begin + is_list)
    rest = text[end:].strip()
    if start is None and not is_list and not rest:
        return None, members, None  # one object per line
    position = getattr(error, "pos", end)
    line = text.count("\n", 0, position) + 1
    cut = position >= len(text.rstrip()) - 1 or "Unterminated" in str(error)
    what = "the file is cut off" if cut else f"not valid JSON: {not_json(error)}"
    fault = Fault(
        f"{what}; {len(members)} entries before it were read, expected the rest of a JSON document",
        line,
    )
    return (_before(text, start.start()) if start else None), members, fault


def _members(text: str, position: int) -> tuple[list[Any], int]:
    members: list[Any] = []
    while True:
        begin = _after_gap(text, position)
        try:
            member, position = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return members, begin
        members.append(member)


def _after_gap(text: str, position: int) -> int:
    match = _GAP.match(text, position)
    return match.end() if match else position


def _before(text: str, end: int) -> dict[str, Any]:
    """The members of the object that stand before the list."""
    try:
        members_before = json.loads(text[:end].rstrip().rstrip(",") + "}")
    except ValueError:
        return {}
    return members_before if isinstance(members_before, dict) else {}

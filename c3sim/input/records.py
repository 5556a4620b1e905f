"""Reads measurement records: JSON lines, each checked on its own, then against each other.

Sizes in a record are in bytes, or text with a unit; times are in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from c3sim.errors import InputError, InputErrors
from c3sim.input.checks.records import check_record
from c3sim.input.checks.workload import check_workload
from c3sim.input.conform import Conform
from c3sim.input.constraints import raise_all, validate
from c3sim.input.reading import display, read_text
from c3sim.input.yaml_nodes import from_plain
from c3sim.specs.record import Record, record_id


def load_records(*files: str | Path) -> list[Record]:
    """Every record of *files*, in order; blank lines are skipped.

    Raises InputErrors for what is wrong in any line: broken or truncated JSON, fields, units, an
    ``id`` that does not belong to the conditions, one id with two roles, a file without records.
    """
    errors: list[InputError] = []
    found: list[tuple[Record, str, int]] = []
    for name in files:
        shown = display(Path(name))
        lines = [
            (number, line)
            for number, line in enumerate(read_text(Path(name)).split("\n"), 1)
            if line.strip()
        ]
        if not lines:
            errors.append(
                InputError("the file is empty; it must hold one JSON record per line", "", shown, 1)
            )
        for number, line in lines:
            record = _record(line, shown, number, errors)
            if record is not None:
                found.append((record, shown, number))
    errors += _two_roles(found)
    raise_all(errors)
    return [record for record, _, _ in found]


def parse_record(line: str, file: str = "", number: int = 0) -> Record:
    """The record of one *line*; *file* and *number* are for the errors. Raises InputErrors."""
    errors: list[InputError] = []
    record = _record(line, file, number, errors)
    raise_all(errors)
    assert record is not None  # no error was noted
    return record


def _record(line: str, file: str, number: int, errors: list[InputError]) -> Record | None:
    try:
        data = json.loads(line, object_pairs_hook=_without_repeats, parse_constant=_not_a_number)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(line.rstrip()) or error.msg.startswith("Unterminated string")
        what = (
            "the line is cut off"
            if cut
            else f"not valid JSON: {error.msg.lower()} at column {error.pos + 1}"
        )
        errors.append(
            InputError(f"{what}; each line must be one whole JSON record", "", file, number)
        )
        return None
    except InputError as error:
        errors.append(InputError(error.message, "", file, number))
        return None
    except (RecursionError, ValueError):
        errors.append(
            InputError(
                "nested too deeply or a number too long; records are small", "", file, number
            )
        )
        return None
    document = Conform(style="si", file=file)
    record = validate(document, Record, document.model(from_plain(data, number), Record))
    errors += document.errors
    if record is None or document.errors:
        return None
    before = len(errors)
    errors += _identity_errors(record, data, file, number)
    errors += [InputError(each.message, each.path, file, number) for each in check_record(record)]
    try:
        check_workload(record.workload)
    except InputErrors as wrong:
        errors += [
            InputError(each.message, f"workload.{each.path}", file, number) for each in wrong.errors
        ]
    return record if len(errors) == before else None


def _identity_errors(
    record: Record, data: Mapping[str, Any], file: str, number: int
) -> list[InputError]:
    """The id is recomputed from the conditions as they stand in the line."""
    expected = record_id(data["node"], data["workload"], record.strategy, data["software"])
    if record.id == expected:
        return []
    message = (
        f"got {record.id!r}; the id of these conditions (node, workload, strategy, software) is "
        f"{expected!r}"
    )
    return [InputError(message, "id", file, number)]


def _two_roles(found: Iterable[tuple[Record, str, int]]) -> list[InputError]:
    first: dict[str, tuple[Record, str, int]] = {}
    errors = []
    for record, file, number in found:
        other, other_file, other_number = first.setdefault(record.id, (record, file, number))
        if other.role != record.role:
            message = (
                f"{record.role!r}, but {other_file}:{other_number} has the same id as "
                f"{other.role!r}; one id has one role"
            )
            errors.append(InputError(message, "role", file, number))
    return errors


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InputError(f"field {key!r} is given twice; each may be given once")
        result[key] = value
    return result


def _not_a_number(text: str) -> NoReturn:
    raise InputError(f"{text} is not a JSON number; must be a finite number")

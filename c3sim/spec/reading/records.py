"""Reads measurement records: JSON lines, each checked on its own, then against each other.

Sizes in a record are in bytes, or text with a unit; times are in microseconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from c3sim.errors import InputError, InputErrors
from c3sim.spec.base import Reading
from c3sim.spec.reading.checks.workload import check_workload
from c3sim.spec.reading.documents import Document, Place, join
from c3sim.spec.reading.files import LARGEST_DATA, display, read_text
from c3sim.spec.reading.mistakes import raise_all, read
from c3sim.spec.record import Record, record_id
from c3sim.spec.words import unknown_errors
from c3sim.spec.workload import Collective, Gemm, Hold, Task

FRAMEWORKS = "validation/frameworks/"  # in the source of records of loops
GATHER = "all_gather"


def load_records(
    *files: str | Path, naming: str = "", told: Callable[[int, int], None] | None = None
) -> list[Record]:
    """Every record of *files*, in order; blank lines are skipped, and lines without *naming* in
    quotes if it is given. *told* hears how many files are read, of how many.

    Raises InputErrors for what is wrong in any line: broken or truncated JSON, fields, units, an
    ``id`` that does not belong to the conditions, one id with two roles, a file without records.
    """
    errors: list[InputError] = []
    records: list[tuple[Record, str, int]] = []
    for done, name in enumerate(files, 1):
        shown = display(Path(name))
        lines = enumerate(read_text(Path(name), LARGEST_DATA).split("\n"), 1)
        filled = [(number, line) for number, line in lines if line.strip()]
        if not filled:
            message = "the file is empty; it must hold one JSON record per line"
            errors.append(InputError(message, "", shown, 1))
        for number, line in filled:
            if naming and f'"{naming}"' not in line:
                continue
            try:
                records.append((parse_record(line, shown, number), shown, number))
            except InputErrors as wrong:
                errors += wrong.errors
        if told is not None:
            told(done, len(files))
    errors += _two_roles(records)
    raise_all(errors)
    return [record for record, _, _ in records]


def parse_record(line: str, file: str = "", number: int = 0) -> Record:
    """The record of one *line*; *file* and *number* are for the errors. Raises InputErrors."""
    try:
        data = json.loads(line, object_pairs_hook=_without_repeats, parse_constant=_not_a_number)
    except (InputError, ValueError, RecursionError) as error:
        raise InputErrors([InputError(_not_json(error, line), "", file, number)]) from None
    record = read(Record, Document(data, Place(file, number)), Reading("si"))
    record = _with_data_of_probe(_with_observed(record), data)
    errors = [*_identity_errors(record, data), *check_record(record)]
    try:
        check_workload(record.workload)
    except InputErrors as wrong:
        errors += [InputError(each.message, f"workload.{each.path}") for each in wrong.errors]
    raise_all([InputError(each.message, each.path, file, number) for each in errors])
    return record


def _with_observed(record: Record) -> Record:
    """``probe ranks`` counts times from a rank's release, holds units by one wave with all LDS, and
    observes whether its collectives are out of place. Loops of a framework have a buffer of their
    own for what an all-gather gives: out of place.
    """
    if FRAMEWORKS in record.source and record.workload.host.loop is not None:
        tasks = _out_of_place(record, copied=True, engines=False)
        return record.changed(workload__tasks=tasks)
    if not record.command.startswith("probe ranks"):
        return record
    workload = record.workload
    host, copied = workload.host, bool(record.observed.get("out_of_place"))
    tasks = _out_of_place(record, copied=copied, engines=True)
    if host.loop is not None:
        host = host.changed(loop__begin="release")
    for name, task in tasks.items():
        if isinstance(task, Hold):
            tasks[name] = task.changed(waves=1)
    return record.changed(workload__tasks=tasks, workload__host=host)


def _out_of_place(record: Record, *, copied: bool, engines: bool) -> dict[str, Task]:
    """The tasks of *record*: of all-gathers on compute units, and of all that *engines* carry, it
    says whether each GPU *copied* its own part.
    """
    return {
        name: task.changed(out_of_place=copied)
        if isinstance(task, Collective) and (engines if task.on_engines else task.op == GATHER)
        else task
        for name, task in record.workload.tasks.items()
    }


def _with_data_of_probe(record: Record, data: Mapping[str, Any]) -> Record:
    """Records of the probe that do not say what operands held are from before it could tell: its
    operands were numbers of few bits. (``probe ranks`` says nothing of random data.)
    """
    if not record.command.startswith("probe ") or record.command.startswith("probe ranks"):
        return record
    tasks = dict(record.workload.tasks)
    for name, written in data["workload"]["tasks"].items():
        task = tasks[name]
        if isinstance(task, Gemm) and "data" not in written:
            tasks[name] = task.changed(data="pattern")
    return record.changed(workload__tasks=tasks)


def _not_json(error: Exception, line: str) -> str:
    """The reason that *line* could not be read."""
    if isinstance(error, InputError):
        return error.message
    if not isinstance(error, json.JSONDecodeError):
        return "nested too deeply or a number too long; records are small"
    cut = error.pos >= len(line.rstrip()) or error.msg.startswith("Unterminated string")
    where = f"not valid JSON: {error.msg.lower()} at column {error.pos + 1}"
    return f"{'the line is cut off' if cut else where}; each line must be one whole JSON record"


def _identity_errors(record: Record, data: Mapping[str, Any]) -> Iterator[InputError]:
    """The id is computed again from the conditions as they stand in the line."""
    expected = record_id(data["node"], data["workload"], record.strategy, data["software"])
    if record.id != expected:
        conditions = "the id of these conditions (node, workload, strategy, software)"
        yield InputError(f"got {record.id!r}; {conditions} is {expected!r}", "id")


def _two_roles(records: Iterable[tuple[Record, str, int]]) -> Iterator[InputError]:
    first: dict[str, tuple[Record, str, int]] = {}
    for record, file, number in records:
        other, other_file, other_number = first.setdefault(record.id, (record, file, number))
        if other.role != record.role:
            where = f"{other_file}:{other_number} has the same id as {other.role!r}"
            message = f"{record.role!r}, but {where}; one id has one role"
            yield InputError(message, "role", file, number)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [key for key, _ in pairs]
        key = next(key for number, key in enumerate(names) if key in names[:number])
        raise InputError(f"field {key!r} is given twice; each may be given once")
    for key, value in pairs:
        if type(value) is list:
            result[key] = _as_tuple(value)
    return result


def _as_tuple(values: list[Any]) -> tuple[Any, ...]:
    """Lists of JSON as files have them; mappings in them are done already."""
    return tuple([_as_tuple(each) if type(each) is list else each for each in values])


def _not_a_number(text: str) -> NoReturn:
    raise InputError(f"{text} is not a JSON number; must be a finite number")


def check_record(record: Record) -> list[InputError]:
    """Every mistake between fields that are right one by one; paths are those of the record."""
    return [*_times(record), *_samples(record), *_energy(record)]


def _times(record: Record) -> Iterator[InputError]:
    measured = record.measured
    if not measured.has_times and not record.observed:
        message = (
            "holds no time; needs wall_us, tasks, isolated or lasting, or the record 'observed'"
        )
        yield InputError(message, "measured")
    for part in ("tasks", "isolated", "lasting"):
        for name in getattr(measured, part):
            path = join("measured", part, name)
            yield from unknown_errors("task", name, record.workload.tasks, path)


def _samples(record: Record) -> Iterator[InputError]:
    names = record.workload.tasks
    allowed = ["wall", *(f"{part}.{name}" for part in ("tasks", "isolated") for name in names)]
    for name, samples in record.sets.items():
        path = join("sets", name)
        yield from unknown_errors("set of samples", name, allowed, path)
        count = len(samples.times_us)
        for place, index in enumerate(samples.disturbed):
            if index >= count:
                message = f"got {index}; must be less than {count}, the number of samples"
                yield InputError(message, f"{path}.disturbed[{place}]")


def _energy(record: Record) -> Iterator[InputError]:
    """Figures of a load in a loop that are compared: the power of each GPU, and the time of a
    turn.
    """
    energy = record.observed.get("energy")
    if not isinstance(energy, dict):
        return
    where = join("observed", "energy")
    turn = energy.get("iteration_us")
    if turn is not None and not _is_positive(turn):
        message = f"got {str(turn)[:40]!r}; must be a number greater than 0"
        yield InputError(message, join(where, "iteration_us"))
    gpus = energy.get("gpus") or ()
    if not isinstance(gpus, tuple) or not all(
        isinstance(gpu, dict) and _is_positive(gpu.get("power_w")) for gpu in gpus
    ):
        message = "must be a list of GPUs, each with power_w, a number greater than 0"
        yield InputError(message, join(where, "gpus"))


def _is_positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value > 0

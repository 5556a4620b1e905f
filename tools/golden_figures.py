"""Figures by case and name, what differs between two lots of them, and the files that keep them.

A file has a row for each figure: *case*, *figure*, *number* or *text*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden"
REL = 1e-9  # how far numbers may be apart, of the larger one
LEAST = 1e-15  # and in any case: a femtosecond, or rounding of a ratio

COLUMNS = ("case", "figure", "number", "text")

Value = float | str
Figures = dict[tuple[str, str], Value]  # (case, figure) -> number or text


class Moved(NamedTuple):
    """One figure that is not what it was; None: it was, or is, not there."""

    case: str
    figure: str
    old: Value | None
    new: Value | None

    def __str__(self) -> str:
        return f"{self.case}: {self.figure}: {self._how}"

    @property
    def _how(self) -> str:
        if self.old is None:
            return f"new, {_text(self.new)}"
        if self.new is None:
            return f"lost, was {_text(self.old)}"
        if isinstance(self.old, float) and isinstance(self.new, float) and self.old:
            change = f" ({100 * (self.new / self.old - 1):+.3g} %)"
        else:
            change = ""
        return f"{_text(self.old)} -> {_text(self.new)}{change}"


def flat(case: str, data: object) -> Figures:
    """Every leaf of plain *data*, by its path."""
    found: Figures = {}
    for path, leaf in _leaves(data, ""):
        add(found, case, path, leaf)
    return found


def _leaves(data: object, path: str) -> Iterator[tuple[str, Value]]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(data, list | tuple):
        for number, value in enumerate(data):
            yield from _leaves(value, f"{path}[{number}]")
    elif isinstance(data, int | float) and not isinstance(data, bool) and data == data:
        yield path, float(data)
    else:
        yield path, str(data)


def add(found: Figures, case: str, figure: str, value: Value) -> None:
    if (case, figure) in found:
        raise ValueError(f"{case}: {figure} is there twice")
    found[case, figure] = value


def differences(old: Figures, new: Figures) -> list[Moved]:
    """The figures that moved, were lost or are new: the furthest first."""
    moved = [
        Moved(*key, old.get(key), new.get(key))
        for key in [*old, *(key for key in new if key not in old)]
        if not _same(old.get(key), new.get(key))
    ]
    return sorted(moved, key=_distance, reverse=True)


def _same(old: Value | None, new: Value | None) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= max(REL * max(abs(old), abs(new)), LEAST)
    return old == new


def _distance(each: Moved) -> float:
    if isinstance(each.old, float) and isinstance(each.new, float):
        return abs(each.new - each.old) / max(abs(each.old), abs(each.new))
    return 2.0 if each.new is None else 1.5


def files() -> list[Path]:
    return sorted(FOLDER.rglob("*.parquet"))


def read(name: str) -> Figures:
    """The figures that the file *name* has; none where there is no file."""
    path = FOLDER / f"{name}.parquet"
    if not path.exists():
        return {}
    columns = pq.read_table(path).to_pydict()
    rows = zip(*(columns[name] for name in COLUMNS), strict=True)
    return {(c, f): number if text is None else text for c, f, number, text in rows}


def write(name: str, figures: Figures) -> None:
    """Keep *figures* as the file *name*; none: no file."""
    path = FOLDER / f"{name}.parquet"
    if not figures:
        path.unlink()
        return
    rows = [
        (case, figure, *((value, None) if isinstance(value, float) else (None, value)))
        for (case, figure), value in figures.items()
    ]
    schema = pa.schema(
        [(name, pa.float64() if name == "number" else pa.string()) for name in COLUMNS]
    )
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = pa.table(dict(zip(COLUMNS, columns, strict=True)), schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd", compression_level=19)


def _text(value: Value | None) -> str:
    return f"{value:.10g}" if isinstance(value, float) else repr(value)

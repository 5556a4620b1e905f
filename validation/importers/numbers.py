"""Numbers in logs, finite or refused, in words that fit into an error message; cells of a line."""

from __future__ import annotations

import csv
import math

from c3sim.errors import InputError

LONGEST_CELL = 2**24  # characters; names of kernels are the longest


def as_float(value: object) -> float:
    """Raises ValueError."""
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a number")
    return number


def as_int(value: object) -> int:
    """Raises ValueError."""
    try:
        return int(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a whole number") from None


def cells_of(line: str) -> list[str]:
    """The cells of one line of CSV. Raises InputError: a cell is too long."""
    csv.field_size_limit(LONGEST_CELL)
    try:
        return next(csv.reader([line]), [])
    except csv.Error as error:
        raise InputError(f"{error}; must be a line of CSV: {line[:40]!r}") from None

"""Numbers in logs: finite or refused, in words that fit into an error message."""

from __future__ import annotations

import math


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

"""Numbers as text. Pure."""

from __future__ import annotations

import math
import re

MISSING = "-"  # what does not apply, such as the fraction of ideal of a single task
#: The yardstick of these fractions; said wherever they are shown.
FRACTION_EXPLAINED = (
    "fraction of ideal: 0 % one task after the other, 100 % the ideal with collectives on compute"
    " units, whatever the strategy; DMA engines that are quicker than those pass it"
)
OWN_EXPLAINED = (
    "own fraction: 100 % is the ideal with each collective as the strategy runs it alone"
)


def stretched(who: str, seconds: float, length: float, unit: str) -> str:
    """By how many *seconds* those *who* compute run longer than without communication, in units of
    *length* s; below zero they run shorter.
    """
    by = f"{abs(seconds) / length:.3f}"
    if seconds >= 0.0 or not float(by):
        return f"{who} stretched by {by} {unit}"
    return f"{who} {by} {unit} shorter than alone, as waits leave power for a higher clock"


def time_unit(longest: float) -> tuple[str, float]:
    """The unit for times up to *longest* [s], and its length [s]: ("ms", 1e-3) from 0.5 ms on."""
    if longest >= 2.0:
        return "s", 1.0
    return ("ms", 1e-3) if longest >= 0.5e-3 else ("us", 1e-6)


def percent(fraction: float | None, digits: int = 1) -> str:
    """0.4213 as "42.1"; the per cent sign belongs to the header or the sentence around it."""
    return MISSING if fraction is None else f"{100 * fraction:z.{digits}f}"


def times(ratio: float | None) -> str:
    """A speedup or slowdown: 1.4142 as "1.41x"."""
    return MISSING if ratio is None else f"{ratio:.2f}x"


def figures(value: float, count: int = 3) -> str:
    """*value* with at least *count* significant figures, no exponent: 0.01234 as "0.0123"."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.{max(0, count - 1 - math.floor(math.log10(abs(value))))}f}"


def short(value: float) -> str:
    """Four significant figures without trailing zeros; whole numbers below a million whole."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.4g}"


def size(count: float) -> str:
    """A number of bytes in binary units: 939524096 as "896 MiB"."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts ``dma[2]`` before ``dma[10]``."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ]

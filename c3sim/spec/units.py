"""Quantities: text with a unit outside, floats in SI units inside.

``parse_quantity("48 GB/s", "B/s")`` gives ``48e9``.

- Decimal prefixes are decimal (``GB`` = 10^9 bytes), binary ones binary (``GiB`` = 2^30 bytes).
- Bits are refused: a link said to run at ``Gb/s`` is almost always meant in gigabytes, and a guess
  would be wrong by eight.
- Conversion is exact until one final rounding: ``"2.1 GHz"`` and ``"2100 MHz"`` are the same float.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError

if TYPE_CHECKING:
    from pint import UnitRegistry

#: An example for each SI unit that spec files use; error messages quote it.
UNIT_EXAMPLES = {
    "B": "256 MiB",
    "B/s": "48 GB/s",
    "B/cycle": "64 B/cycle",
    "Hz": "2.1 GHz",
    "W": "750 W",
    "J": "1 nJ",
    "J/B": "40 pJ/B",
    "J/flop": "0.5 pJ/flop",
    "s": "2.5 us",
}

_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*([A-Za-zµμ].*?)?\s*")
EXACT = 1000  # characters of a number up to which it is converted exactly
_UNIT = re.compile(r"[A-Za-zµμ]+(\s*[*/]\s*[A-Za-zµμ]+)*")
_NOT_FINITE = re.compile(r"\s*[-+]?\.?(nan|inf|infinity)\b.*", re.IGNORECASE)
_DEFINITIONS = (
    "femto- = 1e-15 = f-",
    "pico- = 1e-12 = p-",
    "nano- = 1e-9 = n-",
    "micro- = 1e-6 = µ- = μ- = u-",
    "milli- = 1e-3 = m-",
    "kilo- = 1e3 = k-",
    "mega- = 1e6 = M-",
    "giga- = 1e9 = G-",
    "tera- = 1e12 = T-",
    "peta- = 1e15 = P-",
    "kibi- = 1024 = Ki-",
    "mebi- = 1048576 = Mi-",
    "gibi- = 1073741824 = Gi-",
    "tebi- = 1099511627776 = Ti-",
    "second = [time] = s = sec",
    "minute = 60 * second = min",
    "byte = [data] = B",
    "bit = [bits] = b",
    "bps = bit / second",
    "flop = [operations]",
    "cycle = [cycles]",
    "joule = [energy] = J",
    "watt = joule / second = W",
    "hertz = 1 / second = Hz",
)

#: Exact factor of each short prefix, also of none.
_SCALES = {"": Fraction(1)} | {
    short.removesuffix("-"): Fraction(value)
    for _, value, *shorts in (line.split(" = ") for line in _DEFINITIONS if "- = " in line)
    for short in shorts
}


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[Any]:
    """Only the units of this domain: pint's own registry takes long to build."""
    from pint import UnitRegistry

    registry: UnitRegistry[Any] = UnitRegistry(None, non_int_type=Fraction, cache_folder=None)
    for definition in _DEFINITIONS:
        registry.define(definition)
    return registry


@lru_cache(maxsize=64)
def dimension(si: str) -> tuple[tuple[str, float], ...]:
    """Powers of the base dimensions of the unit *si*, sorted: those of ``"B/s"`` are data 1 and
    time -1; of "" none.
    """
    registry = _registry()
    powers: Any = registry.get_dimensionality(registry.parse_units(si)) if si else {}
    return tuple(sorted((str(name).strip("[]"), float(power)) for name, power in powers.items()))


def _example(si: str) -> str:
    return f"as in {UNIT_EXAMPLES[si]!r}" if si in UNIT_EXAMPLES else f"in {si}"


@lru_cache(maxsize=512)
def _factor(unit: str, si: str) -> Fraction:
    """The exact number of *si* in one *unit*; pint, whose import takes a quarter of a second, is
    asked only where *unit* is more than *si* behind a prefix.
    """
    scale = _SCALES.get(unit.removesuffix(si)) if si and unit.endswith(si) else None
    if scale is not None:
        return scale
    registry = _registry()
    known = map(registry.parse_unit_name, re.split(r"\s*[*/]\s*", unit))
    if not _UNIT.fullmatch(unit) or not all(known):
        raise InputError(
            f"unknown unit {unit!r}; write a unit that converts to {si}, {_example(si)}"
        )
    parsed = registry.parse_units(unit)
    dimensions = registry.get_dimensionality(parsed)
    if "[bits]" in dimensions:
        only = "GB/s" if "[time]" in dimensions else "GB"
        raise InputError(
            f"unit {unit!r} counts bits; only bytes parse, such as {only} (8 bits are 1 byte), "
            f"{_example(si)}"
        )
    if dimensions != registry.get_dimensionality(si):
        message = f"unit {unit!r} does not convert to {si}; write a unit that does, {_example(si)}"
        raise InputError(message)
    return Fraction(registry.Quantity(Fraction(1), parsed).to(si).magnitude)


@lru_cache(maxsize=4096)
def parse_quantity(text: str, si: str) -> float:
    """*text*, a number and a unit, as a float in the unit *si* (such as ``"B/s"``).

    Raises :class:`~c3sim.errors.InputError` for text that is no quantity, a number without unit, a
    unit of another dimension, bits, and values that are not finite.
    """
    match = _QUANTITY.fullmatch(text)
    not_finite = f"{text!r} is not finite; write a finite number and a unit, {_example(si)}"
    if not match:
        if _NOT_FINITE.fullmatch(text):
            raise InputError(not_finite)
        raise InputError(f"{text!r} is not a quantity; write a number and a unit, {_example(si)}")
    number, unit = match.groups()
    if unit is None:
        raise InputError(f"{text!r} has no unit; append one that converts to {si}, {_example(si)}")
    factor = _factor(unit, si)
    try:  # a fraction reads whole numbers, of which Python takes up to 4,300 digits
        exact = Fraction(number) if len(number) <= EXACT else Fraction(float(number))
        value = float(exact * factor)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise InputError(not_finite)
    return value


_PREFIXES = ("f", "p", "n", "u", "m", "", "k", "M", "G", "T", "P")
_UNSCALED = ("B/cycle", "cycle", "flop")


def format_si(value: float, unit: str = "") -> str:
    """*value* in SI *unit* for people: ``1.23 ms``, ``48.0 GB/s``, ``256 MiB`` where exact."""
    if not unit or not math.isfinite(value) or value == 0:
        return f"{value:.6g} {unit}".rstrip()
    if unit == "B" and (binary := _binary_bytes(value)):
        return binary
    power = 0
    if unit not in _UNSCALED:
        power = min(max(math.floor(math.log10(abs(value)) / 3), -5), 5)
        rounded = float(f"{value / 1000.0**power:.3g}")
        if abs(rounded) >= 1000 and power < 5:  # 999.96: the next prefix
            power += 1
    return f"{_three_digits(value / 1000.0**power)} {_PREFIXES[power + 5]}{unit}".rstrip()


def _three_digits(value: float) -> str:
    """Three significant digits, trailing zeros kept, no exponent between 0.001 and 10^6."""
    rounded = float(f"{value:.3g}")
    if not 1e-3 <= abs(rounded) < 1e6:
        return f"{rounded:.3g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{value:.{decimals}f}"


def _binary_bytes(value: float) -> str | None:
    """``256 MiB`` where *value* is a whole, short number of its largest binary unit."""
    if value != int(value):
        return None
    count, prefix = int(value), 0
    while prefix < 4 and count % 1024 == 0:
        count, prefix = count // 1024, prefix + 1
    if abs(count) >= 10240 or (prefix == 0 and abs(count) >= 1024):
        return None
    return f"{count} {('', 'Ki', 'Mi', 'Gi', 'Ti')[prefix]}B"

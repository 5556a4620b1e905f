"""Single values as a spec holds them: numbers, quantities, words. All raise InputError."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.input.shapes import Kind, Shape
from c3sim.input.synonyms import alias
from c3sim.input.units import parse_quantity
from c3sim.input.yaml_nodes import Item

_LARGEST = 2**53  # whole numbers beyond are not exact as floats


def convert(item: Item, shape: Shape, *, plain_si: bool = False) -> Any:
    """*item* as *shape* asks; with *plain_si* a number without unit is in SI already."""
    if shape.unit is not None:
        return _quantity(item, shape, plain_si)
    return CONVERSIONS[shape.kind](item, shape)


def _quantity(item: Item, shape: Shape, plain_si: bool) -> float:
    assert shape.unit is not None  # the caller asks only then
    value, si, example = item.value, shape.unit.si, f"as in {shape.unit.example!r}"
    if isinstance(value, str):
        number = parse_quantity(value, si)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{item.text()} is not a quantity; write a number and a unit, {example}")
    elif not plain_si:
        raise InputError(f"{item.text()} has no unit; append one that converts to {si}, {example}")
    else:
        number = _finite(item, value)
    if si == "B" and number != math.floor(number):
        nearest = max(round(number), 1)
        raise InputError(
            f"{item.text()} is {number:.12g} bytes; must come out as whole bytes, the nearest is"
            f" '{nearest} B'"
        )
    return number


def _finite(item: Item, value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{item.text()} is not finite; must be a finite number")
    return number


def _number(item: Item, shape: Shape) -> float:
    if isinstance(item.value, bool) or not isinstance(item.value, (int, float)):
        raise InputError(f"{item.text()} is not a number; must be a plain number, without unit")
    return _finite(item, item.value)


def _integer(item: Item, shape: Shape) -> int:
    if isinstance(item.value, bool) or not isinstance(item.value, int):
        raise InputError(f"{item.text()} is not a whole number; must be one, written in digits")
    if abs(item.value) > _LARGEST:
        raise InputError(f"{item.text()} is too large; must be at most {_LARGEST}")
    return item.value


def _text(item: Item, shape: Shape) -> str:
    if not isinstance(item.value, str):
        raise InputError(f"{item.text()} is not text; must be a word or a quoted text")
    return item.value


def _boolean(item: Item, shape: Shape) -> bool:
    if not isinstance(item.value, bool):
        raise InputError(f"{item.text()} is neither true nor false; must be one of them")
    return item.value


def _choice(item: Item, shape: Shape) -> Any:
    if not isinstance(item.value, (bool, Mapping)):
        if item.value in shape.choices:
            return item.value
        if isinstance(item.value, str):
            meant = alias(item.value, "value", shape.choices)
            if meant in shape.choices:
                return meant
    raise InputError(unknown("value", item.bare(), shape.choices))


def _any(item: Item, shape: Shape) -> Any:
    """Whatever it is, as plain Python data."""
    if isinstance(item.value, Mapping):
        return {key: _any(entry, shape) for key, entry in item.value.items()}
    if isinstance(item.value, tuple):
        return tuple(_any(entry, shape) for entry in item.value)
    return item.value


CONVERSIONS: dict[Kind, Callable[[Item, Shape], Any]] = {
    "any": _any,
    "boolean": _boolean,
    "choice": _choice,
    "integer": _integer,
    "number": _number,
    "text": _text,
}

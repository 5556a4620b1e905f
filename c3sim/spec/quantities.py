"""Types of the numbers in spec files: SI floats inside, text with a unit (``"48 GB/s"``) outside.

Fields without a :class:`Unit` are counts or fractions and take plain numbers.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
)
from pydantic_core import core_schema

from c3sim.errors import InputError
from c3sim.spec.base import LEAST_BYTES, Reading, Style, said, shown
from c3sim.spec.units import parse_quantity

#: No quantity in SI units lies beyond; arithmetic with larger or smaller ones would overflow.
SMALLEST, LARGEST = 1e-30, 1e30


def _in_range(value: float) -> float:
    if value and not SMALLEST <= abs(value) <= LARGEST:
        raise ValueError(
            f"got {value:g} in SI units; must be 0, or of a size between {SMALLEST:g} and "
            f"{LARGEST:g}"
        )
    return value


@dataclass(frozen=True)
class Unit:
    """Marks a field as dimensional: the SI unit of its value, and an example for messages."""

    si: str
    example: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.with_info_before_validator_function(self._validate, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "unit": self}  # c3sim/spec/reading/schemas.py writes it out

    def _validate(self, value: Any, info: ValidationInfo) -> Any:
        reading = Reading.of(info)
        if reading is not None:
            value = self.in_si(value, reading.style)
        if isinstance(value, float) and math.isfinite(value):
            _in_range(value)
        return value

    def in_si(self, value: object, style: Style) -> float:
        """*value*, as a file in that *style* has it, in the SI unit. Raises PydanticCustomError."""
        si, example = self.si, f"as in {self.example!r}"
        if isinstance(value, str):
            try:
                number = parse_quantity(value, si)
            except InputError as error:
                raise said(error.message) from None
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise said(f"{shown(value)} is not a quantity; write a number and a unit, {example}")
        elif style == "si" or (style == "bytes" and si == "B" and value >= LEAST_BYTES):
            number = finite(value)
        else:
            raise said(f"{value} has no unit; append one that converts to {si}, {example}")
        if si == "B" and number != math.floor(number):
            raise said(
                f"{shown(value)} is {number:.12g} bytes; must come out as whole bytes, the nearest"
                f" is '{max(round(number), 1)} B'"
            )
        return number


def finite(value: float) -> float:
    """*value* as a float. Raises PydanticCustomError where it has no finite one."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise said(f"{shown(value)} is not finite; must be a finite number")
    return number


_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def check_file_name(text: str, field: str = "name") -> str:
    """Return *text*, the value of *field*: a name that leads out of no folder. Raises
    ValueError.
    """
    if not _FILE_NAME.fullmatch(text):
        short = text if len(text) <= 60 else f"{text[:57]}..."
        raise ValueError(
            f"{field} {short!r} is no file name; must be letters, digits, _ and -, "
            "and begin with no sign"
        )
    return text


FileName = Annotated[str, AfterValidator(check_file_name)]
_Sized = AfterValidator(_in_range)

Bandwidth = Annotated[float, Field(gt=0), Unit("B/s", "48 GB/s")]
Bytes = Annotated[float, Field(gt=0), Unit("B", "256 MiB")]
Moved = Annotated[float, Field(ge=0), Unit("B", "256 MiB")]
BytesPerCycle = Annotated[float, Field(gt=0), Unit("B/cycle", "64 B/cycle")]
Frequency = Annotated[float, Field(gt=0), Unit("Hz", "2.1 GHz")]
Power = Annotated[float, Field(ge=0), Unit("W", "750 W")]
Energy = Annotated[float, Field(ge=0), Unit("J", "1 nJ")]
EnergyPerByte = Annotated[float, Field(ge=0), Unit("J/B", "40 pJ/B")]
EnergyPerFlop = Annotated[float, Field(ge=0), Unit("J/flop", "0.5 pJ/flop")]
Time = Annotated[float, Field(ge=0), Unit("s", "2.5 us")]
Count = Annotated[int, Field(gt=0, le=2**53)]  # beyond, they are not exact as floats
#: Limit of things simulated one by one: a slip of the pen must not run for days.
Parts = Annotated[int, Field(gt=0, le=4096)]  # of a node: GPUs, dies, engines, queues, links
Pieces = Annotated[int, Field(gt=0, le=100_000)]  # of work: repetitions, chunks
Workgroups = Annotated[int, Field(gt=0, le=2**24)]  # of a grid
Extent = Annotated[int, Field(gt=0, lt=2**31)]  # of a matrix, as BLAS numbers it
Trials = Annotated[int, Field(gt=0, le=1_000_000)]  # runs of a search or a band
Factor = Annotated[float, Field(ge=0), _Sized]
Positive = Annotated[float, Field(gt=0), _Sized]
Exponent = Annotated[float, Field(ge=0.1), _Sized]
Fraction = Annotated[float, Field(ge=0, le=1), _Sized]
#: Share of a rate that is left: with none of it nothing ends.
Efficiency = Annotated[float, Field(gt=0, le=1), _Sized]

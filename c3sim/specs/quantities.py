"""Types of the numbers in spec files: SI floats inside, text with a unit (``"48 GB/s"``) outside.

Fields without a :class:`Unit` are counts or fractions and take plain numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field


@dataclass(frozen=True)
class Unit:
    """Marks a field as dimensional: the SI unit of its value, and an example for messages."""

    si: str
    example: str


#: No quantity in SI units lies beyond; arithmetic with larger or smaller ones would overflow.
SMALLEST, LARGEST = 1e-30, 1e30


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"must be a finite number, got {value}")
    if value and not SMALLEST <= abs(value) <= LARGEST:
        raise ValueError(
            f"got {value:g} in SI units; must be 0, or of a size between {SMALLEST:g} and "
            f"{LARGEST:g}"
        )
    return value


_Finite = AfterValidator(_finite)

Bandwidth = Annotated[float, Unit("B/s", "48 GB/s"), Field(gt=0), _Finite]
Bytes = Annotated[float, Unit("B", "256 MiB"), Field(gt=0), _Finite]
BytesPerCycle = Annotated[float, Unit("B/cycle", "64 B/cycle"), Field(gt=0), _Finite]
Frequency = Annotated[float, Unit("Hz", "2.1 GHz"), Field(gt=0), _Finite]
Power = Annotated[float, Unit("W", "750 W"), Field(ge=0), _Finite]
Energy = Annotated[float, Unit("J", "1 nJ"), Field(ge=0), _Finite]
EnergyPerByte = Annotated[float, Unit("J/B", "40 pJ/B"), Field(ge=0), _Finite]
EnergyPerFlop = Annotated[float, Unit("J/flop", "0.5 pJ/flop"), Field(ge=0), _Finite]
Time = Annotated[float, Unit("s", "2.5 us"), Field(ge=0), _Finite]
Count = Annotated[int, Field(gt=0)]
#: What is simulated one by one has a limit: a slip of the pen must not run for days.
Parts = Annotated[int, Field(gt=0, le=4096)]  # of a node: GPUs, dies, engines, queues, links
Pieces = Annotated[int, Field(gt=0, le=100_000)]  # of work: repetitions, chunks
Workgroups = Annotated[int, Field(gt=0, le=2**24)]  # of a grid
Extent = Annotated[int, Field(gt=0, lt=2**31)]  # of a matrix, as BLAS numbers it
Trials = Annotated[int, Field(gt=0, le=1_000_000)]  # runs of a search or a band
Factor = Annotated[float, Field(ge=0), _Finite]
Positive = Annotated[float, Field(gt=0), _Finite]
Exponent = Annotated[float, Field(ge=0.1), _Finite]
Fraction = Annotated[float, Field(ge=0, le=1), _Finite]

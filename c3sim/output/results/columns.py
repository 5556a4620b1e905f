"""One column of a result file: its name, the unit it is shown in, which way is better. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from c3sim.kit.text import short

if TYPE_CHECKING:
    import pandas as pd

PREFIXES = {-4: "p", -3: "n", -2: "u", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P"}
BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
UNSCALED = ("", "1", "x", "%", "B/cycle", "cycle")
#: Endings of output names -> unit, and whether more or less of it is better; the first that fits
#: counts.
KNOWN = (
    ("fraction_of_ideal", "1", "higher"),
    ("own_fraction", "1", "higher"),
    ("ideal_speedup", "x", ""),
    ("speedup", "x", "higher"),
    ("slowdown", "x", "lower"),
    ("isolated_s", "s", ""),
    ("serial_s", "s", ""),
    ("ideal_s", "s", ""),
    ("start_s", "s", ""),
    ("_s", "s", "lower"),
    ("energy_j", "J", "lower"),
    ("_j", "J", "lower"),
    ("area", "", "lower"),
    ("cost", "", "lower"),
)
#: Shown in words where a file gives no label.
LABELS = {
    "wall_s": "wall time",
    "serial_s": "one task after the other",
    "ideal_speedup": "ideal speedup",
    "fraction_of_ideal": "fraction of ideal, collectives on CUs",
    "own_fraction": "own fraction of ideal, collectives as run",
    "energy_j": "energy",
}
GROUPS = {"scenario": "scenario", "strategy": "strategy", "chosen": "chosen by auto"}

Role = Literal["axis", "group", "output"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Display:
    """The look of values: divided by *factor*, in *unit* (``us``, ``TB/s``, ``MiB``, ``%``)."""

    unit: str
    factor: float
    log: bool = False  # on a logarithmic axis


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Column:
    """*values* are SI floats or texts; NaN where a point has none."""

    name: str
    role: Role
    label: str
    unit: str
    better: str  # "higher", "lower", or "" where neither is
    values: pd.Series[Any]

    @property
    def numeric(self) -> bool:
        """True if its values are numbers; a column without any value is not."""
        return self.values.dtype.kind in "iuf" and bool(self.values.notna().any())

    def distinct(self) -> list[Any]:
        """Every value once: numbers in ascending order, texts in the order in which they appear."""
        values = self.values.dropna().unique().tolist()
        return sorted(values) if self.numeric else values

    def display(self) -> Display:
        """The unit that suits the largest value."""
        if not self.numeric:
            return Display(unit="", factor=1.0)
        if self.unit in ("1", "%") and "fraction" in self.name:
            return Display(unit="%", factor=0.01)
        values = [abs(value) for value in self.distinct() if math.isfinite(value)]
        log = _logarithmic(self)
        if self.unit in UNSCALED or not any(values):
            return Display(unit="" if self.unit == "1" else self.unit, factor=1.0, log=log)
        if self.unit == "B" and all(value % 256 == 0 for value in values):
            power = min(max(_power(values, 1024.0, log), 0), 4)
            return Display(unit=BINARY[power], factor=1024.0**power, log=log)
        power = min(max(_power(values, 1000.0, log), -4), 5)
        return Display(unit=PREFIXES[power] + self.unit, factor=1000.0**power, log=log)

    @property
    def title(self) -> str:
        """Label of the column, with the unit in which values are shown."""
        unit = self.display().unit
        return f"{self.label} ({unit})" if unit else self.label

    @property
    def middle(self) -> float:
        """Centre of a diverging scale: 1 for a ratio, else 0."""
        return 1.0 if self.unit == "x" else 0.0

    def diverges(self) -> bool:
        """True if it has values on both sides of its middle."""
        values = self.distinct() if self.numeric else []
        return bool(values) and values[0] < self.middle < values[-1]

    def text(self, value: Any) -> str:
        """*value* for people: in the column's unit, with it."""
        if isinstance(value, str):
            return value
        if value is None or math.isnan(value):
            return "-"
        display = self.display()
        return f"{short(value / display.factor)} {display.unit}".rstrip()


def column_of(
    name: str,
    values: pd.Series[Any],
    given: Mapping[str, Any],
    role: Role = "output",
    better: str | None = None,
) -> Column:
    """A column with the unit and label that are *given*; left out: those of its name."""
    outputs = KNOWN if role == "output" else ()
    unit, usual = next((known for end, *known in outputs if name.endswith(end)), ("", ""))
    return Column(
        name=name,
        role=role,
        label=GROUPS[name] if role == "group" else label_of(name, given),
        unit=str(given.get("unit", unit)),
        better=usual if better is None else better,
        values=values,
    )


def label_of(name: str, given: Mapping[str, Any]) -> str:
    """Label of a column: its file's label, else words for its name."""
    if given.get("label"):
        return str(given["label"])
    last = name.rpartition(".")[2]
    words = LABELS.get(last) or last.removesuffix("_s").removesuffix("_j").replace("_", " ")
    task = name.split(".")[1] if name.startswith("tasks.") and name.count(".") > 1 else ""
    return f"{task}: {words}" if task else words if name == last or last in LABELS else name


def _power(values: Sequence[float], base: float, log: bool) -> int:
    """The power of *base* for the largest value; over a wide range for the geometric middle."""
    top = max(values)
    if log:
        top = math.sqrt(top * min(values))
    return math.floor(math.log(top, base) + 1e-9)


def _logarithmic(column: Column) -> bool:
    """True if a linear axis would crowd most of the values, all positive, at its low end."""
    values = [value for value in column.distinct() if math.isfinite(value)]
    if len(values) < 3 or values[0] <= 0 or values[-1] < 7 * values[0]:
        return False
    return bool((values[(len(values) - 1) // 2] - values[0]) < 0.3 * (values[-1] - values[0]))

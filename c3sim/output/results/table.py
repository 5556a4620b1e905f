"""A result file as columns with units and labels: Parquet of a sweep, or JSON of a study; which
to draw where none is named, its best points, and rows picked by conditions: ``strategy=sp,conccl``.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError, reason_of
from c3sim.experiments.search import pareto_front
from c3sim.kit.files import AnyPath
from c3sim.output.results.columns import GROUPS, Column, Role, column_of
from c3sim.spec.reading.files import LARGEST_DATA, read_bytes
from c3sim.spec.reading.paths import is_of_workload
from c3sim.spec.units import UNIT_EXAMPLES, parse_quantity
from c3sim.spec.words import unknown

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 1e300  # no figure is beyond
KEY = b"c3sim"  # of the metadata in a Parquet file
ALLOWED = (
    "allowed: results.parquet of 'c3sim sweep', sensitivity.parquet of 'c3sim sensitivity', "
    "the folder of either, or JSON of 'c3sim study --json'"
)
FILES = ("results.parquet", "sensitivity.parquet")  # in a folder, the first that is there


@dataclass(frozen=True)
class ResultTable:
    """*frame*: a row per point, its number in ``point``, its mistake in ``error``; NaN: no value.

    *about* is what the file says of itself: version, study, node, hash.
    """

    frame: pd.DataFrame
    about: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Axes, groups and outputs by name."""
        return {
            str(name): _column(str(name), values, self.about)
            for name, values in self.frame.items()
            if name not in ("point", "error")
        }

    @property
    def study(self) -> Mapping[str, Any]:
        """The study as plain data; empty where the file does not say."""
        return self.about.get("study") or {}

    @property
    def name(self) -> str:
        """The name of the study."""
        return str(self.study.get("name", ""))

    def column(self, name: str, option: str = "") -> Column:
        """Raises InputError, with the nearest name, where there is none."""
        if name not in self.columns:
            raise InputError(unknown("column", name, self.columns), option)
        return self.columns[name]

    def having(self, *roles: str) -> list[Column]:
        """Columns of these roles."""
        return [column for column in self.columns.values() if column.role in roles]

    def varied(self, taken: Collection[str] = ()) -> list[Column]:
        """Axes and groups with more than one value, except those *taken*.

        Linked axes move together: the first stands for all, or none where one of them is taken.
        """
        linked = [set(group) for group in self.study.get("linked") or ()]
        gone, columns = set(taken), []
        gone |= {name for group in linked if group & gone for name in group}
        for column in self.having("axis", "group"):
            if column.name not in gone and len(column.distinct()) > 1:
                columns.append(column)
                gone |= {name for group in linked if column.name in group for name in group}
        return columns

    def keep(self, rows: pd.Series[bool]) -> ResultTable:
        """These rows only."""
        return ResultTable(self.frame[rows].reset_index(drop=True), self.about)

    def row(self, position: int) -> dict[str, Any]:
        """One point: its number, the values of all columns, its error; None: no value."""
        row = self.frame.iloc[position].astype(object)
        values: dict[Any, Any] = row.where(row.notna(), None).to_dict()
        return values


def read_results(path: AnyPath) -> ResultTable:
    """The results in *path*. Raises InputError: no such file, or not a result file."""
    file = Path(path)
    if file.is_dir():
        file = next((file / name for name in FILES if (file / name).is_file()), file / FILES[0])
    if not file.is_file():
        problem = (
            "no such file" if not Path(path).exists() else f"no {' or '.join(FILES)} in this folder"
        )
        raise InputError(f"{problem}; {ALLOWED}", file=str(path))
    try:
        with file.open("rb") as stream:
            parquet = stream.read(4) == b"PAR1"
    except OSError as error:
        message = f"cannot be read: {reason_of(error)}; {ALLOWED}"
        raise InputError(message, file=str(file)) from None
    return _parquet(file) if parquet else _json(file)


def make_table(
    columns: Mapping[str, Sequence[Any]] | pd.DataFrame, about: Mapping[str, Any]
) -> ResultTable:
    """A table of plain *columns*; *about* says which of them are axes."""
    import pandas as pd

    frame = pd.DataFrame(columns)
    extra = {"point": range(len(frame)), "error": None}
    frame = frame.assign(**{name: value for name, value in extra.items() if name not in frame})
    return ResultTable(frame.apply(_tidy), about)


def _column(name: str, values: pd.Series[Any], about: Mapping[str, Any]) -> Column:
    axes: Mapping[str, Any] = about.get("axes") or {}
    role: Role = "axis" if name in axes else "group" if name in GROUPS else "output"
    given = axes.get(name) or (about.get("outputs") or {}).get(name) or {}
    return column_of(name, values, given, role, directions(about).get(name))


def directions(about: Mapping[str, Any]) -> dict[str, str]:
    """Objectives of a search: column -> "higher" or "lower"."""
    search = (about.get("study") or {}).get("search") or {}
    ways = about.get("objectives") or search.get("objectives") or {}
    return {name: "higher" if str(way).startswith("max") else "lower" for name, way in ways.items()}


def _tidy(values: pd.Series[Any]) -> pd.Series[Any]:
    """Finite numbers, or texts where some are; NaN for what is neither."""
    known = values.dropna()
    if known.map(lambda value: isinstance(value, Real) and not isinstance(value, bool)).all():
        numbers = values if values.dtype.kind in "iuf" else values.astype(object).astype(float)
        return numbers.where(numbers.abs() < LARGEST)
    texts = known.map(lambda value: str(value).lower() if isinstance(value, bool) else str(value))
    return texts.reindex(values.index)


def _parquet(file: Path) -> ResultTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except (pa.ArrowException, OSError):
        raise InputError(f"this Parquet file is damaged; {ALLOWED}", file=str(file)) from None
    metadata = (table.schema.metadata or {}).get(KEY)
    if metadata is None:
        raise InputError(f"this Parquet file was not written by c3sim; {ALLOWED}", file=str(file))
    return make_table(table.to_pandas(), json.loads(metadata))


def _json(file: Path) -> ResultTable:
    import pandas as pd

    try:
        data = json.loads(read_bytes(file, LARGEST_DATA), parse_int=_whole)
        rows = data["rows"]
        named = [of for key in ("axes", "outputs") for of in (data.get(key) or {}).values()]
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise TypeError
        if not all(isinstance(each, dict) for each in named):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"not a result file; {ALLOWED}", file=str(file)) from None
    if not rows:
        raise InputError(f"this result holds no rows; {ALLOWED}", file=str(file))
    about = {"study": {"name": data.get("name", ""), "description": data.get("description", "")}}
    about |= {
        key: data[key] for key in ("version", "node", "axes", "outputs", "hash") if data.get(key)
    }
    columns = pd.DataFrame(rows)
    axes: dict[str, Any] = {}
    for name in map(str, columns):  # axes of a study are as they were written: "64 MiB"
        if "." in name and not name.startswith("tasks."):
            columns[name], unit = _quantities(columns[name].tolist())
            axes[name] = {"unit": unit}
    return make_table(columns, {"axes": axes, **about})


def _whole(digits: str) -> int:
    """Number of a file. Raises ValueError: no float is so large."""
    found = int(digits)
    if abs(found) >= 10**308:
        raise ValueError
    return found


def _quantities(values: Sequence[Any]) -> tuple[list[Any], str]:
    """Texts such as "64 MiB" as SI floats with their unit; anything else as it is."""
    if not all(isinstance(value, str) for value in values):
        return list(values), ""
    for unit in UNIT_EXAMPLES:
        try:
            return [parse_quantity(value, unit) for value in values], unit
        except InputError:
            continue
    return list(values), ""


OPTION = "--where"
_CONDITION = re.compile(r"\s*([^=<>!]+?)\s*(!=|<=|>=|=|<|>)\s*(.+?)\s*")
_ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_NEAR = 1e-9  # relative: numbers are compared as they are written


def select(table: ResultTable, conditions: Iterable[str]) -> ResultTable:
    """The rows that meet all *conditions*. Raises InputError: a wrong condition, no row left."""
    for text in conditions:
        found = _CONDITION.fullmatch(text)
        if found is None:
            raise InputError(
                f"{text!r} is not a condition; write COLUMN=VALUE, as in strategy=sp", OPTION
            )
        name, sign, wanted = found.groups()
        column = table.column(name, OPTION)
        rows = _met(column, sign, [part.strip() for part in wanted.split(",")])
        if not rows.any():
            raise InputError(f"{text!r} leaves no points; {column.name} has {_has(column)}", OPTION)
        table = table.keep(rows)
    return table


def _met(column: Column, sign: str, wanted: list[str]) -> pd.Series[bool]:
    """True for values that meet the condition."""
    values = column.values
    numbers = [_value(column, text) for text in wanted] if column.numeric else []
    if sign in ("=", "!="):
        equal = values.isin(wanted)
        for number in numbers:
            equal |= (values - number).abs() <= _NEAR * values.abs().clip(lower=abs(number))
        return equal if sign == "=" else ~equal
    if len(numbers) != 1:
        raise InputError(f"{sign} compares one number; {column.name} has {_has(column)}", OPTION)
    met: pd.Series[bool] = _ORDER[sign](values, numbers[0])
    return met


def _value(column: Column, text: str) -> float:
    """A number in SI, or with a unit."""
    try:
        return float(text)
    except ValueError:
        pass
    if text.endswith("%") and column.display().unit == "%":
        return _value(column, text[:-1]) / 100
    if column.unit in ("", "1", "x"):
        raise InputError(f"{text!r} is not a number; {column.name} has {_has(column)}", OPTION)
    try:
        return parse_quantity(text, column.unit)
    except InputError as error:
        raise InputError(f"{column.name}: {error.message}", OPTION) from None


def _has(column: Column) -> str:
    """The values of *column* in a few words."""
    values = column.distinct()
    if not values:
        return "no values"
    if column.numeric and len(values) > 6:
        return f"{column.text(values[0])} to {column.text(values[-1])}"
    shown = ", ".join(column.text(value) for value in values[:8])
    return shown + (f" and {len(values) - 8} more" if len(values) > 8 else "")


TORNADO = ("parameter", "low", "high", "output", "at_low", "at_high", "base")  # its columns


PREFERRED = ("fraction_of_ideal", "speedup", "wall_s")  # the first that a file has is shown
#: The same along an axis of the hardware, which moves the ideal too: faster links shorten the
#: wall time, and the isolated times that a fraction of ideal is measured by even more.
ALONG_HARDWARE = ("wall_s", *PREFERRED)


SIDE = 100  # values along a side of a heat map


def is_tornado(table: ResultTable) -> bool:
    """True if the table is that of a sensitivity study."""
    return set(TORNADO) <= set(table.columns)


def objectives(table: ResultTable) -> list[Column]:
    """Columns that a search was told to improve."""
    names = table.about.get("objectives") or ()
    return [table.columns[name] for name in names if name in table.columns]


def preferred(table: ResultTable) -> Column:
    """The output to show: times where hardware varies, whose shares have a yardstick that moves.
    Raises InputError where the table has none with numbers.
    """
    outputs = [column for column in table.having("output") if column.numeric]
    if not outputs:
        failed = next(iter(table.frame["error"].dropna()), None)
        reason = f"every point failed, the first with: {failed}"
        raise InputError(reason if failed else "none has a value here", "outputs")
    wanted = ALONG_HARDWARE if along_hardware(table) else PREFERRED
    known = (table.columns[name] for name in wanted if table.columns.get(name) in outputs)
    return next(known, outputs[0])


def along_hardware(table: ResultTable) -> bool:
    """True if a number of the node varies."""
    axes = (column.name for column in table.varied() if column.role == "axis")
    return any(not is_of_workload(name) for name in axes)


def varied(table: ResultTable, *taken: Column | None) -> list[Column]:
    """Columns that vary and are not *taken*: numbers first, then words, groups last."""
    columns = table.varied([column.name for column in taken if column])
    return sorted(columns, key=lambda column: (column.role == "group", not column.numeric))


def sampled(table: ResultTable) -> bool:
    """True if values were drawn at random: an axis has about as many values as there are points."""
    numeric = [column for column in table.varied() if column.role == "axis" and column.numeric]
    most = max(len(table), SIDE)
    return len(numeric) > 1 and any(2 * len(column.distinct()) > most for column in numeric)


def front(x: Column, y: Column) -> list[int]:
    """Positions of the points that no other equals or beats in both values, by ascending x.

    Of equal points the first counts.
    """
    import pandas as pd

    upward = [column.better == "higher" for column in (x, y)]
    costs = pd.concat([x.values, y.values], axis=1) * [1 - 2 * up for up in upward]
    whole = costs.notna().all(axis=1)
    scores = costs[whole].itertuples(index=False, name=None)
    positions = costs.index[whole][pareto_front(list(scores))].tolist()
    return positions[::-1] if upward[0] else positions

"""One table for all studies: rows of numbers by name, columns by path.

A column is text: ``path``, ``path unit``, with another header ``path unit as HEADER``. A ``*`` in a
path is every entry there, each a column: ``removal.* %``. Units:

    s ms us GB GB/s W ...    numbers in SI units, scaled
    %  %0  x  size           fractions in per cent, ratios, bytes in binary units
    >                        text, at the right
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from c3sim.kit.layout import add_row, make_table, stack
from c3sim.kit.text import MISSING, figures, percent, size

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Unit -> how many of it a number in SI units is, and digits; of times significant figures.
SCALES = {
    **{"s": (1.0, 4), "ms": (1e3, 4), "us": (1e6, 4), "nJ/B": (1e9, 3), "ms/GB": (1e3, 3)},
    **{"GB/s": (1e-9, 3), "GB": (1e-9, 3), "1/s": (1.0, 3), "W": (1.0, 3)},
}


Row = Mapping[str, Any]
Of = TypeVar("Of", bound=Mapping[str, Any])


class Table(NamedTuple):
    title: str
    rows: Sequence[Row]
    columns: Sequence[str]
    note: str = ""


def titled(title: str, rows: Iterable[Of]) -> dict[str, list[Of]]:
    """*rows* by the text that *title* gives for each, its ``{names}`` entries of the row."""
    groups: dict[str, list[Of]] = {}
    for row in rows:
        groups.setdefault(title.format_map(row), []).append(row)
    return groups


def tables_by(title: str, rows: Iterable[Row], columns: Sequence[str], note: str = "") -> list[Any]:
    """A table for each text that *title* gives: ``"{collective} on {node}"``."""
    return [Table(name, of, columns, note) for name, of in titled(title, rows).items()]


class Column(NamedTuple):
    """*name*: of the entry that a ``*`` stands for, or the last of the path."""

    path: str
    unit: str
    header: str
    name: str


def shown(value: Any, unit: str = "") -> str:
    """*value* as a cell of a column in *unit*."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ", ".join(shown(each, unit) for each in value)
    if unit.startswith("%"):
        return percent(value, int(unit[1:] or 1))
    if unit == "x":
        return f"{value:.2f}"
    if unit == "size":
        return size(value)
    if isinstance(value, int) and unit in ("", ">"):
        return str(value)
    scale, digits = SCALES.get(unit, (1.0, 4))
    return figures(scale * value, digits)


def at(row: Mapping[str, Any], path: str) -> Any:
    """The entry of *row* at *path*: its own, or one of an entry's; None where there is none."""
    if path in row:
        return row[path]
    first, _, rest = path.partition(".")
    inner = row.get(first)
    return at(inner, rest) if rest and isinstance(inner, Mapping) else None


def columns_of(rows: Sequence[Mapping[str, Any]], texts: Iterable[str]) -> Iterator[Column]:
    """Columns of *texts*; a ``*`` stands for all entries that any of *rows* has there."""
    for text in texts:
        what, _, header = text.partition(" as ")
        path, _, unit = what.partition(" ")
        before, star, after = path.partition("*")
        if not star:
            words = _with_unit(header, unit) if header else _words(path, unit)
            yield Column(path, unit, words, path.split(".")[-1])
            continue
        places = (at(row, before.rstrip(".")) for row in rows)
        names = dict.fromkeys(name for place in places for name in place or ())
        for name in names:
            words = _broken(header.replace("*", name) if header else name)
            yield Column(f"{before}{name}{after}", unit, _with_unit(words, unit), name)


def grid(table: Table) -> RenderableType:
    """*table* for the terminal: words at the left, numbers at the right."""
    rows, columns = table.rows, list(columns_of(table.rows, table.columns))
    right = [each for each in columns if each.unit or _numbers(rows, each.path)]
    left = [each for each in columns if each not in right]
    drawn = make_table((each.header for each in left), (each.header for each in right))
    for row in rows:
        add_row(drawn, *(shown(at(row, each.path), each.unit) for each in (*left, *right)))
    return stack(table.title, drawn, *([table.note.strip()] if table.note.strip() else []))


def _numbers(rows: Sequence[Mapping[str, Any]], path: str) -> bool:
    values = [value for row in rows if (value := at(row, path)) is not None]
    return all(isinstance(value, int | float) for value in values)


def _words(path: str, unit: str) -> str:
    last = path.split(".")[-1] if " " not in path else path
    for end in ("_s", "_bytes", "_j"):
        last = last.removesuffix(end) if unit else last
    return _with_unit(_broken(last.replace("_", " ") if unit or "." not in path else last), unit)


def _with_unit(words: str, unit: str) -> str:
    known = unit not in ("", ">", "size")
    return (
        f"{words}\n({unit.rstrip('0123456789') if unit.startswith('%') else unit})" * known or words
    )


def _broken(name: str) -> str:
    """A long name on two lines."""
    for sign in (" ", "_", "-"):
        if len(name) > 11 and sign in name:
            first, _, rest = name.partition(sign)
            return f"{first}{sign.strip()}\n{rest}"
    return name


def rendered(parts: Iterable[Table | str]) -> list[RenderableType]:
    """Tables, and lines of text between and below them, for the terminal."""
    from rich.text import Text

    return [grid(each) if isinstance(each, Table) else Text(each) for each in parts if each]


def remarks(published: Mapping[str, Any]) -> str:
    """Source and note of *published*, a line each."""
    lines = (published.get(key) for key in ("source", "note"))
    return "\n".join(" ".join(str(line).split()) for line in lines if line)

"""What the tables and pictures of several kinds share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from c3sim.output.kit.text import size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = TypeVar("Row")
Key = TypeVar("Key")


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """*rows* by their *key*, in the order in which the keys come first."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def remarks(published: Mapping[str, Any]) -> list[str]:
    """Source and note of *published*, a line each."""
    return [
        " ".join(str(published[key]).split()) for key in ("source", "note") if published.get(key)
    ]


def label_sizes(axes: Axes, sizes: Sequence[int]) -> None:
    """Name the places of the x axis by *sizes* in bytes."""
    axes.set_xticks(range(len(sizes)), [size(each) for each in sizes], fontsize=8, rotation=45)

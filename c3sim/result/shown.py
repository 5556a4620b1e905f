"""The look in a notebook of results that the interface returns.

The classes stand below everything that draws, so they know only that they can be shown; ``api``
hands in how (:data:`HOW`).
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    _Axes = list[Axes]
else:
    _Axes = list

__all__ = ["HOW", "Drawn", "Shown", "Told"]

#: "html": what to show -> HTML; "text": what to print -> lines; "figure": what to draw, options ->
#: a figure; "save": figure, path.
HOW: dict[str, Callable[..., Any]] = {}


class Drawn(_Axes):
    """The axes of *figure*, which a notebook shows."""

    def __init__(self, figure: Figure) -> None:
        super().__init__(figure.axes)
        self.figure = figure

    def _repr_html_(self) -> str | None:
        return _html(self.figure)


def _html(what: object) -> str | None:
    html: str | None = HOW["html"](what) if "html" in HOW else None
    return html


class Shown:
    """Shows itself: tables and pictures as HTML in a notebook, a picture by :meth:`plot`."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return _html(self)

    def plot(self, path: str | PathLike[str] | None = None, **options: Any) -> Drawn:
        """Matplotlib's axes of its picture, drawn anew; their ``figure`` is the whole one. With
        *path* the picture is written there (.png, .svg, .pdf) too.

        A result: the timeline; an explanation: causes; a comparison: times by strategy; a sweep: as
        ``c3sim plot`` does, with its *kind*, *x*, *y*, *value* and *by*; a study: its own picture.
        Raises InputError where there is nothing to draw.
        """
        from c3sim.errors import InputError

        if "figure" not in HOW:
            raise InputError("import c3sim.api first: it knows how to draw")
        figure = HOW["figure"](self, **options)
        if path is not None:
            HOW["save"](figure, path)
        return Drawn(figure)


class Told(Shown):
    """Prints itself as the command line does: its tables, and what they say in words."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(HOW["text"](self)) if "text" in HOW else object.__repr__(self)

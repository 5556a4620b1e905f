"""How what the functions of the interface return shows itself in a notebook.

The classes stand below everything that draws, so they know only that they can be shown; ``api``
hands in how (:data:`HOW`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HOW", "Shown"]

#: "html": what to show -> HTML; "axes": what to draw, options -> matplotlib's axes.
HOW: dict[str, Callable[..., Any]] = {}


class Shown:
    """Shows itself: tables and pictures as HTML in a notebook, a picture by :meth:`plot`."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        html: str | None = HOW["html"](self) if "html" in HOW else None
        return html

    def plot(self, **options: Any) -> list[Axes]:
        """The axes of its picture, drawn anew; ``axes[0].figure`` is the whole one.

        A result: the timeline; a comparison: times by strategy; a sweep: as ``c3sim plot`` does,
        with its *kind*, *x*, *y*, *value* and *by*; a study: its own picture. Raises InputError
        where there is nothing to draw.
        """
        from c3sim.errors import InputError

        if "axes" not in HOW:
            raise InputError("import c3sim.api first: it knows how to draw")
        axes: list[Axes] = HOW["axes"](self, **options)
        return axes

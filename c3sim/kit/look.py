"""The common look of the pictures: colours for colour-blind readers, type, axes, one way of saving.

matplotlib is imported when a function needs it, without its global state: no pyplot, no display.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from c3sim.kit.files import AnyPath, check_writable, write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito, "Color Universal Design" (2008); yellow last, it is faint on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
INK, GREY, GRID = "#222222", "#888888", "#dddddd"
SUFFIXES = (".png", ".svg", ".pdf")
# without a date, the same input gives the same bytes
UNDATED: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.8,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.hashsalt": "c3sim",
}


def check_picture(path: AnyPath) -> None:
    """Raises InputError: an unknown suffix, or a place that cannot be written."""
    check_writable(path, SUFFIXES)


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name, by order; from the eighth on they repeat."""
    return {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(dict.fromkeys(names))}


@contextmanager
def style() -> Iterator[None]:
    """Within it, figures are made and saved with the common look."""
    import matplotlib

    with matplotlib.rc_context(RC):
        yield


def picture(draw: Callable[[], Figure], path: AnyPath | None) -> Figure:
    """The figure of *draw* in the common look, written to *path* if given.

    *path* is checked before anything is drawn. Raises InputError as :func:`check_picture` does.
    """
    if path is not None:
        check_picture(path)
    with style():
        figure = draw()
    if path is not None:
        save(figure, path)
    return figure


def panel(axes: Axes, title: str, unit: str) -> None:
    """Dress one panel: a title at the left, the unit at the axis, no box, a light grid."""
    panel_title(axes, title, pad=5)
    axes.set_ylabel(unit)
    axes.spines[["top", "right"]].set_visible(False)
    grid(axes, "y")
    axes.locator_params(axis="y", nbins=5)


def panel_title(axes: Axes, title: str, **style: Any) -> None:
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold", **style)


def readable(text: Any) -> None:
    """Put a white rim around *text*, which lines and bars run behind."""
    from matplotlib.patheffects import withStroke

    text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def grid(axes: Axes, axis: Literal["x", "y"]) -> None:
    """Light grid lines behind the data, along one axis."""
    axes.grid(axis=axis, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def key(of: Axes | Figure, columns: int, *, size: float = 9.5, **where: Any) -> None:
    """The key of a picture or a panel, without a box; *where* as matplotlib's legends take it."""
    of.legend(frameon=False, fontsize=size, ncols=columns, **where)


def above(axes: Axes, columns: int, side: Literal["left", "right"], **more: Any) -> None:
    """The key of a panel above it, from its *side* on."""
    corner = (0.0 if side == "left" else 1.0, 1.0)
    key(axes, columns, loc=f"lower {side}", bbox_to_anchor=corner, borderaxespad=0.2, **more)


def only_x_axis(axes: Axes) -> None:
    """No frame but the x axis."""
    axes.spines[["top", "right", "left"]].set_visible(False)


def save(figure: Figure, path: AnyPath) -> None:
    """Write *figure* in the format of the suffix. Raises InputError as `check_picture` does."""
    target = check_writable(path, SUFFIXES)
    suffix = target.suffix.lower()
    buffer = io.BytesIO()
    with style():
        figure.savefig(
            buffer, format=suffix[1:], dpi=150, facecolor="white", metadata=UNDATED[suffix]
        )
    write_bytes(target, buffer.getvalue())

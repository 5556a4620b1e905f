"""Parts of the small pictures of docs/img/book: rows over time, curves, counters; few colours.

tools/book_pictures.py says what is in them.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import c3sim
from c3sim.kit import look

BLUE = look.PALETTE[0]
DOTS = 100
Bar = tuple[str, float, float, str]  # row, begin and end in seconds, colour


def small(width: float = 4.6, height: float = 1.9) -> Axes:
    """Axes of a small picture in the common look."""
    axes: Axes = Figure(figsize=(width, height), layout="constrained").subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return axes


def timeline(bars: Sequence[Bar], thin: Sequence[Bar] = ()) -> Axes:
    """Rows of bars over time; *thin* ones are for waiting."""
    rows = list(dict.fromkeys(bar[0] for bar in (*bars, *thin)))
    axes = small(height=0.75 + 0.36 * len(rows))
    for group, width in ((bars, 0.62), (thin, 0.14)):
        for row, begin, end, colour in group:
            axes.barh(rows.index(row), 1e3 * (end - begin), width, 1e3 * begin, color=colour)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xlim(0)
    axes.set_xlabel("time (ms)", fontsize=8)
    return axes


def curve(xs: Sequence[float], ys: Sequence[float], x: str, y: str, **how: Any) -> Axes:
    axes = small()
    axes.plot(xs, ys, **{"marker": "o", "markersize": 3.5, "color": BLUE, **how})
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y, fontsize=8)
    axes.set_ylim(0)
    return axes


def counter(result: c3sim.Result, name: str, scale: float, y: str) -> Axes:
    """A counter of GPU 0 over time, divided by *scale*."""
    assert result.trace is not None
    found = next(each for each in result.trace.counters if each.name == f"gpu0.{name}")
    times = [*(1e3 * each for each in found.times), 1e3 * result.wall_s]
    values = [each / scale for each in (*found.values, found.values[-1])]
    axes = small()
    axes.fill_between(times, values, step="post", color=BLUE, alpha=0.8, linewidth=0)
    axes.set_xlabel("time (ms)", fontsize=8)
    axes.set_ylabel(y, fontsize=8)
    axes.set_ylim(0)
    axes.set_xlim(0)
    return axes


def logarithmic(axes: Axes, which: str) -> None:
    """Powers of ten as plain numbers."""
    axes.set(**{f"{which}scale": "log"})
    getattr(axes, f"{which}axis").set_major_formatter("{x:g}")
    axes.minorticks_off()


def png(axes: Axes) -> bytes:
    """As few bytes as it takes: 32 colours are enough."""
    plain, packed = io.BytesIO(), io.BytesIO()
    axes.get_figure().savefig(plain, format="png", dpi=DOTS, facecolor="white")
    with Image.open(plain) as image:
        image.convert("RGB").quantize(32).save(packed, "png", optimize=True)
    return packed.getvalue()

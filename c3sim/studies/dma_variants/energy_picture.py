"""Power saved by each DMA variant over compute units, by size: a panel of the picture of a study of
variants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from c3sim.output import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_savings(axes: Axes, energy: Mapping[str, Any], operation: str) -> None:
    """A line per variant (prelaunch changes power little and is left out), pcpy's band shaded, the
    published saving dashed.
    """
    rows = [row for row in energy["rows"] if row["collective"] == operation]
    look.panel(axes, f"{operation}: power saved over compute units, mean over the collective", "%")
    names = [name for name in rows[0]["variants"] if not name.endswith("_pl")]
    places = range(len(rows))
    for name, colour in look.colours(names).items():
        saved = [row["variants"][name]["over_rccl"]["power"] for row in rows]
        axes.plot(places, [100 * entry["saving"] for entry in saved], color=colour, label=name)
        if name == "pcpy" and saved[0]["low"] is not None:
            low, high = ([100 * entry[end] for entry in saved] for end in ("low", "high"))
            label = "pcpy, every energy in its interval"
            axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0, label=label)
    published = energy.get("published")
    if published:
        since = [i for i in places if rows[i]["size_bytes"] >= published["large_bytes"]]
        saving = 100 * published["saving_over_rccl"]
        axes.plot(
            since,
            [saving] * len(since),
            "--",
            color=look.INK,
            label=f"published, pcpy: {saving:.0f} %",
        )
    axes.legend(frameon=False, fontsize=9.5, ncols=3, loc="upper left")

"""Draws docs/img/scale-out.png: an all-reduce over 1 to 128 nodes, and a pair over an
oversubscribed spine.

python tools/scale_out_picture.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import c3sim
from c3sim.kit import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = Path(__file__).parents[1] / "docs" / "img" / "scale-out.png"
NODES = (1, 2, 4, 8, 16, 32, 64, 128)
WAYS = {
    "hierarchical, in parts": {"task.reduce.algorithm": "hierarchical"},
    "hierarchical, one phase after the other": {
        "task.reduce.algorithm": "hierarchical",
        "task.reduce.pipeline": 1,
    },
    "flat ring": {"task.reduce.algorithm": "ring"},
}
SIZES = {"1 GiB": "-", "16 MiB": "--"}
OVER = (1, 2, 4, 8)
PAIRS = {
    "straight, sp": ("direct", "sp"),
    "by the receiver's rail, sp": ("hierarchical", "sp"),
    "by the receiver's rail, conccl": ("hierarchical", "conccl"),
}


def bus_bandwidth(nodes: int, size: str, way: dict[str, object]) -> float:
    """GB/s of an all-reduce: size / time x 2 (n - 1) / n."""
    settings = {"scale_out.nodes": nodes, "task.reduce.size": size, **way}
    result = c3sim.run("all-reduce-across-nodes", set=settings)
    number, unit = size.split()
    count = float(number) * {"GiB": 2**30, "MiB": 2**20}[unit]
    return count / result.wall_s * 2 * (result.ranks.count - 1) / result.ranks.count / 1e9


def draw_nodes(axes: Axes) -> None:
    look.panel(axes, "All-reduce: bus bandwidth against nodes of 8 GPUs", "GB/s")
    for colour, (name, way) in zip(look.PALETTE, WAYS.items(), strict=False):
        for size, line in SIZES.items():
            nodes = NODES if "ring" not in name else NODES[1:]
            values = [bus_bandwidth(count, size, way) for count in nodes]
            axes.plot(
                nodes, values, line, color=colour, marker="o", markersize=3, label=f"{name}, {size}"
            )
    axes.set_xscale("log", base=2)
    axes.set_xticks(NODES, [str(count) for count in NODES])
    axes.set_xlabel("nodes")
    axes.set_ylim(0, 450)
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper center")


def draw_oversubscription(axes: Axes) -> None:
    look.panel(axes, "GEMM beside all-to-all, 16 nodes, 4 to a leaf: wall time", "ms")
    for colour, (name, (algorithm, strategy)) in zip(look.PALETTE, PAIRS.items(), strict=False):
        together, alone = [], []
        for factor in OVER:
            settings = {
                "scale_out.nodes_per_leaf": 4,
                "scale_out.oversubscription": factor,
                "task.exchange.algorithm": algorithm,
            }
            result = c3sim.run(
                "gemm-beside-all-to-all-across-nodes", strategy=strategy, set=settings
            )
            together.append(1e3 * result.wall_s)
            alone.append(1e3 * sum(task.isolated_s for task in result.tasks.values()))
        axes.plot(OVER, together, color=colour, marker="o", markersize=3, label=name)
        axes.plot(OVER, alone, ":", color=colour, label="one after the other")
    axes.set_xscale("log", base=2)
    axes.set_xticks(OVER, [str(factor) for factor in OVER])
    axes.set_xlabel("oversubscription of the way between leaf switches")
    axes.set_ylim(0)
    axes.legend(frameon=False, fontsize=8)


def main() -> None:
    from matplotlib.figure import Figure

    with look.style():
        figure = Figure(figsize=(12, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_nodes(left)
        draw_oversubscription(right)
        look.save(figure, PICTURE)
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()

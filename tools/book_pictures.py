"""Draws the pictures of docs/glossary.md and docs/eight-pictures.md from runs and node files.

python tools/book_pictures.py [NAME ...]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from book_kit import BLUE, Bar, counter, curve, logarithmic, png, small, timeline
from matplotlib.axes import Axes

import c3sim
from c3sim.kit import look

OUT = Path(__file__).parents[1] / "docs" / "img" / "book"
PAIR, DMA_PAIR = "gemm-beside-all-gather", "gemm-beside-dma-all-gather"
NODE = "mi300x-8"
_, ORANGE, GREEN, PINK = look.PALETTE[:4]
SHADES = {"gemm": BLUE, "gather": ORANGE}


def run(strategy: str = "sp", workload: str = PAIR, **settings: object) -> c3sim.Result:
    """The pair; settings by path, with two underscores for a dot."""
    changes = {path.replace("__", "."): value for path, value in settings.items()}
    return c3sim.run(workload, strategy=strategy, set=changes, trace=True)


def bars_of(result: c3sim.Result) -> list[Bar]:
    return [(name, one.start_s, one.end_s, SHADES[name]) for name, one in result.tasks.items()]


# Words --------------------------------------------------------------------------------------------


def isolated() -> Axes:
    result = run()
    alone = [(f"{name} alone", 0.0, one.isolated_s, SHADES[name]) for name, one in _tasks(result)]
    return timeline([*alone, *((f"{row} beside", *rest) for row, *rest in bars_of(result))])


def _tasks(result: c3sim.Result) -> list[tuple[str, Any]]:
    return list(result.tasks.items())


def round_and_tail() -> Axes:
    """One unit less than 304, and a fifth round begins that has little to do."""
    settings = {"stream.compute.compute_units": 303}
    result = c3sim.run("gemm-alone", set=settings, trace=True)
    return counter(result, "compute_units", 1, "busy compute units")


def channel() -> Axes:
    counts = (4, 8, 16, 24, 32, 48, 64)
    times = [run(task__gather__channels=each).tasks["gather"].isolated_s * 1e3 for each in counts]
    return curve(counts, times, "channels of an all-gather", "time alone (ms)")


def room() -> Axes:
    result = run("base", task__gemm__n=9216)  # its last round leaves room for the channels
    gather = result.tasks["gather"]
    began = gather.predecessors_s + gather.room_s
    bars = [bar for bar in bars_of(result) if bar[0] == "gemm"]
    bars.append(("gather", began, gather.end_s, ORANGE))
    return timeline(bars, [("gather", gather.predecessors_s, began, ORANGE)])


def predecessors() -> Axes:
    result = c3sim.run("gemms-wait-for-chunks", node=NODE)
    bars = [("gather", 0.0, result.tasks["gather"].end_s, ORANGE)]
    gemms = [(name, one) for name, one in _tasks(result) if name != "gather"]
    bars += [(name, one.ready_s, one.end_s, BLUE) for name, one in gemms]
    return timeline(bars, [(name, 0.0, one.ready_s, BLUE) for name, one in gemms])


def slower() -> Axes:
    gemm = run().tasks["gemm"]
    bars = [("alone", 0.0, gemm.isolated_s, BLUE), ("beside", 0.0, gemm.isolated_s, BLUE)]
    return timeline([*bars, ("beside", gemm.isolated_s, gemm.end_s, PINK)])


def ideal() -> Axes:
    result = run()
    gemm, gather = (one.isolated_s for one in result.tasks.values())
    bars = [("0 %: one after the other", 0.0, gemm, BLUE)]
    bars += [("0 %: one after the other", gemm, gemm + gather, ORANGE)]
    middle = f"{100 * (result.fraction_of_ideal or 0):.0f} %: both at once"
    return timeline(
        [*bars, (middle, 0.0, result.wall_s, GREEN), ("100 %: ideal", 0.0, gather, GREEN)]
    )


def exposed() -> Axes:
    result = run()
    axes = timeline(bars_of(result))
    begin, end = 1e3 * (result.wall_s - result.overlap.exposed_s), 1e3 * result.wall_s
    axes.axvspan(begin, end, color=PINK, alpha=0.35, linewidth=0)
    axes.text((begin + end) / 2, 0.1, "exposed", ha="center", fontsize=9)
    return axes


def stretched() -> Axes:
    result = run()
    gemm = result.tasks["gemm"]
    longer = result.overlap.stretched_s
    assert longer is not None
    axes = timeline([("gemm", 0.0, gemm.end_s - longer, BLUE), bars_of(result)[1]])
    axes.barh(0, 1e3 * longer, 0.62, 1e3 * (gemm.end_s - longer), color=PINK)
    middle = 1e3 * (gemm.end_s - longer / 2)
    axes.text(middle, 0, "stretched", ha="center", va="center", fontsize=8)
    return axes


def engines() -> Axes:
    counts = range(1, 15)
    walls = [run("conccl", gpu__dma_engines__count=each).wall_s * 1e3 for each in counts]
    x, y = "copy engines of a GPU", "all-gather (ms)"
    return curve(counts, walls, x, y, drawstyle="steps-mid")


def hold() -> Axes:
    tasks = {
        "hold": {"kind": "hold", "workgroups": 64, "time": "3 ms", "stream": "other"},
        "gemm": c3sim.gemm(8192, 8192, 8192, stream="compute"),
    }
    workload = {"tasks": tasks, "host": {"order": ["hold", "gemm"]}}
    result = c3sim.run(workload, node=NODE, trace=True)
    return counter(result, "compute_units", 1, "busy compute units")


def clock() -> Axes:
    return counter(run("as_written", DMA_PAIR), "clock", 1e9, "clock (GHz)")


def skew() -> Axes:
    late = (0, 0.25, 0.5, 1, 1.5, 2)
    bars = [
        run(workload__host__release="host", workload__host__jitter=f"{each} ms")
        .tasks["gather"]
        .time_s
        * 1e3
        for each in late
    ]
    return curve(late, bars, "how late the last rank may begin (ms)", "all-gather (ms)")


def bus_bandwidth() -> Axes:
    sizes = [2**power for power in range(-4, 11)]  # MiB
    rates = []
    for size in sizes:
        settings = {"task.gather.size": f"{round(1024 * size)} KiB"}
        seconds = c3sim.run("all-gather-alone", set=settings).wall_s
        rates.append(size * 2**20 / seconds * 7 / 8 / 1e9)
    axes = curve(sizes, rates, "size of an all-gather (MiB)", "bus bandwidth (GB/s)")
    logarithmic(axes, "x")
    return axes


def strategies() -> Axes:
    bars: list[Bar] = []
    for strategy in ("base", "sp", "conccl"):
        bars += [(f"{strategy}: {name}", *rest) for name, *rest in bars_of(run(strategy))]
    return timeline(bars)


def false_overlap() -> Axes:
    """A picture of the time in which both run: the part saved, and the rest."""
    result = run()
    both = min(one.end_s for one in result.tasks.values())
    saved = result.serial_s - result.wall_s
    axes = timeline(
        [*bars_of(result), ("overlap", 0.0, saved, GREEN), ("overlap", saved, both, PINK)]
    )
    for words, begin, end in (("saved", 0.0, saved), ("false", saved, both)):
        axes.text(1e3 * (begin + end) / 2, 2, words, ha="center", va="center", fontsize=8)
    return axes


def piece() -> Axes:
    sys.path.insert(0, str(OUT.parents[2] / "lessons"))
    from pieces import in_pieces

    counts = (1, 2, 4, 8, 16, 32)
    walls = [1e3 * in_pieces(each, 512).wall_s for each in counts]
    axes = curve(counts, walls, "pieces", "wall time (ms)")
    logarithmic(axes, "x")
    axes.set_xticks(counts, counts)
    axes.set_ylim(0, 1.1 * max(walls))
    return axes


def prefetch() -> Axes:
    ahead = (0, 1, 2)
    step = "llama3-8b-training"
    steps = [c3sim.run(step, node=NODE, set={"parallel.prefetch": each}) for each in ahead]
    axes = small()
    exposed = [1e3 * step.overlap.exposed_s for step in steps]
    axes.barh([f"{each} ahead" for each in ahead], exposed, color=PINK)
    axes.invert_yaxis()
    axes.set_xlabel("exposed communication of a training step (ms)", fontsize=8)
    return axes


# The node -----------------------------------------------------------------------------------------


def node() -> Axes:
    """GPUs and the links between them."""
    model = c3sim.load_hardware(NODE).node
    axes = small(4.6, 3.4)
    places = [
        (math.sin(2 * math.pi * each / model.gpus), math.cos(2 * math.pi * each / model.gpus))
        for each in range(model.gpus)
    ]
    for index, (x, y) in enumerate(places):
        for other in places[index + 1 :]:
            axes.plot((x, other[0]), (y, other[1]), color=look.GREY, linewidth=1, zorder=1)
        axes.scatter(x, y, 700, color=BLUE, zorder=2)
        axes.text(x, y, f"GPU {index}", color="white", ha="center", va="center", fontsize=7)
    axes.set_aspect("equal")
    axes.margins(0.15)
    axes.set_axis_off()
    links = model.gpus * (model.gpus - 1) // 2
    each = model.links.bandwidth / 1e9
    axes.set_title(f"{model.gpus} GPUs, {links} links of {each:.1f} GB/s each way", fontsize=9)
    return axes


def gpu() -> Axes:
    """Dies, shader engines and compute units, a square each."""
    dies = c3sim.load_hardware(NODE).node.gpu.dies
    axes = small(4.6, 2.6)
    for die in range(dies.count):
        for engine, units in enumerate(dies.shader_engines):
            xs = [(die % 4) * 12 + unit for unit in range(units)]
            ys = [-(die // 4) * 6 - engine] * units
            axes.scatter(xs, ys, 13, marker="s", color=look.PALETTE[engine])
    axes.set_axis_off()
    total = dies.count * sum(dies.shader_engines)
    words = f"{dies.count} dies of {len(dies.shader_engines)} shader engines: {total} compute units"
    axes.set_title(words, fontsize=9)
    return axes


def rates() -> Axes:
    """A picture of the rate of each level, on a logarithmic axis."""
    model = c3sim.load_hardware(NODE).node
    one = model.gpu
    found = {
        "L2 caches": one.l2.bandwidth * one.clock.maximum * one.dies.count,
        "memory-side cache": one.memory_side_cache.bandwidth,
        "memory (HBM)": one.hbm.bandwidth,
        "all links, one way": model.links.bandwidth * (model.gpus - 1),
        "one copy engine": one.dma_engines.bandwidth,
        "one link, one way": model.links.bandwidth,
    }
    axes = small(4.6, 2.3)
    drawn = axes.barh(list(found), [each / 1e9 for each in found.values()], color=BLUE)
    axes.bar_label(drawn, [f"{each / 1e9:,.0f}" for each in found.values()], padding=3, fontsize=8)
    logarithmic(axes, "x")
    axes.set_xlim(10, 2e5)
    axes.invert_yaxis()
    axes.set_xlabel("GB/s", fontsize=8)
    return axes


DRAWINGS: dict[str, Callable[[], Axes]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        *(isolated, round_and_tail, channel, room, predecessors, slower, ideal, exposed, stretched),
        *(engines, hold, clock, skew, bus_bandwidth, strategies, node, gpu, rates),
        *(false_overlap, piece, prefetch),
    )
}


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or DRAWINGS:
        with look.style():
            (OUT / f"{name}.png").write_bytes(png(DRAWINGS[name]()))


if __name__ == "__main__":
    main()

"""Growth of the cost: of a symmetric scenario with the number of GPUs, of one completion with the
flows at once.

    python benchmarks/bench_scaling.py [--quick] [--json] [--plot FILE]

Exponents are slopes of a straight line through the logarithms: 0 = constant cost, 1 = proportional
cost. Times are CPU time of this process, the best of several runs.

``links``    eight flows share each link, and an end changes the rates of those eight alone
``one set``  all flows share the memories of 8 GPUs: each end may change every rate, and all are
             solved again, so proportional cost is the best possible
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable
from importlib.util import find_spec
from random import Random
from time import process_time
from typing import Any

from c3sim.api import prepare
from c3sim.engine.clock import Clock
from c3sim.engine.compiled.progress import CompiledProgress
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.engine.progress import Progress
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.simulation import runs

GPUS = (8, 16, 32, 64, 128, 256, 512, 1024)
FLOWS = (8, 32, 100, 320, 1000, 3200, 10_000)
STRATEGIES = ("base", "conccl")
SHARED = {"links": "eight to a link", "one set": "all connected"}
Point = tuple[int, float]  # how many, seconds


def best(call: Callable[[], float], repeats: int) -> float:
    return min(call() for _ in range(repeats))


def scenario(gpus: int, strategy: str) -> float:
    """Seconds of a whole result, isolated runs included; nothing is remembered."""
    workload, node = prepare("gemm-beside-all-gather", None, {"gpus": gpus})
    runs.forget()
    begin = process_time()
    result = evaluate_run(workload, node, strategy)
    assert result.ranks.folded
    return process_time() - begin


def completion(flows: int, shared: str, progress: type[Progress], ends: int) -> float:
    """Seconds per completion with *flows* at once: each is followed by another on the same way."""
    random, env = Random(1), Clock()
    fluid = Fluid(env, (), progress())
    ways = _ways(fluid, flows, shared, random)
    ended = 0

    def begin(way: tuple[str, ...]) -> None:
        size = random.uniform(1e9, 1e11)
        fluid.start(
            Flow("flow", size, amounts=[(name, 1.0) for name in way]), lambda _flow: again(way)
        )

    def again(way: tuple[str, ...]) -> None:
        nonlocal ended
        ended += 1
        begin(way)

    for way in ways:
        begin(way)
    env.run(until=1e-9)
    start = process_time()
    while ended < ends:
        env.step()
    return (process_time() - start) / ends


def _ways(fluid: Fluid, flows: int, shared: str, random: Random) -> list[tuple[str, ...]]:
    """The capacities that each flow uses."""
    if shared == "links":
        for link in range(-(-flows // 8)):
            fluid.capacity(f"link{link}", 50e9)
        return [(f"link{flow // 8}",) for flow in range(flows)]
    pairs = [(a, b) for a in range(8) for b in range(8) if a != b]
    for a, b in pairs:
        fluid.capacity(f"link{a}-{b}", 50e9)
    for gpu in range(8):
        fluid.capacity(f"out{gpu}", random.uniform(200e9, 400e9))
        fluid.capacity(f"in{gpu}", random.uniform(200e9, 400e9))
    return [
        (f"out{a}", f"link{a}-{b}", f"in{b}")
        for a, b in (pairs[flow % 56] for flow in range(flows))
    ]


def exponent(points: list[Point]) -> float:
    """Slope of the least-squares line through the logarithms."""
    x, y = [math.log(n) for n, _ in points], [math.log(seconds) for _, seconds in points]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return slope / sum((a - mean_x) ** 2 for a in x)


def measure(quick: bool) -> dict[str, list[Point]]:
    """Curve -> points."""
    repeats, gpus, flows = (1, GPUS[::3], FLOWS[:5:2]) if quick else (5, GPUS, FLOWS)
    curves: dict[str, list[Point]] = {}
    for strategy in STRATEGIES:
        scenario(gpus[0], strategy)
        curves[f"scenario, {strategy}"] = [
            (n, best(lambda n=n, s=strategy: scenario(n, s), repeats)) for n in gpus
        ]
    kinds: dict[str, type[Progress]] = {"pure": Progress}
    if find_spec("numba") is not None:
        kinds["compiled"] = CompiledProgress
    for shared in SHARED:
        for name, progress in kinds.items():
            completion(8, shared, progress, 8)
            curves[f"completion, {shared}, {name}"] = [
                (
                    n,
                    best(
                        lambda n=n, s=shared, p=progress: completion(
                            n, s, p, 16 if n > 500 else 64
                        ),
                        repeats,
                    ),
                )
                for n in flows
            ]
    return curves


def show(curves: dict[str, list[Point]]) -> None:
    for what in ("scenario", "completion"):
        chosen = {name: points for name, points in curves.items() if name.startswith(what)}
        numbers = [n for n, _ in next(iter(chosen.values()))]
        unit, scale, of = (
            ("ms", 1e3, "GPUs") if what == "scenario" else ("us", 1e6, "flows at once")
        )
        print(
            f"{what + ' [' + unit + ']':32}"
            + "".join(f"{n:>9,}" for n in numbers)
            + f"  {of}; exponent"
        )
        for name, points in chosen.items():
            cells = "".join(f"{seconds * scale:9.1f}" for _, seconds in points)
            print(f"{name.partition(', ')[2]:32}{cells}  {exponent(points):.2f}")


def plot(curves: dict[str, list[Point]], file: str) -> None:
    """Both families of curves, side by side, logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    sides: list[Any] = [
        (axes[0], "scenario", 1e3, "GPUs, folded", "one scenario, isolated runs included [ms]"),
        (axes[1], "completion", 1e6, "flows at once", "one completion [µs]"),
    ]
    for axis, what, scale, x, y in sides:
        for style, (name, points) in zip(
            ("o-", "s--", "^-.", "D:"),
            ((n, p) for n, p in curves.items() if n.startswith(what)),
            strict=False,
        ):
            label = f"{name.partition(', ')[2]}  ∝ n^{exponent(points):.2f}"
            axis.loglog(
                [n for n, _ in points], [scale * s for _, s in points], style, ms=4, label=label
            )
        axis.set(xlabel=x, ylabel=y)
        axis.grid(alpha=0.3, which="both")
        axis.legend(fontsize=8)
    figure.savefig(file, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description="How the cost of scenarios and completions grows.")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document instead of tables"
    )
    parser.add_argument("--quick", action="store_true", help="few points, once each")
    parser.add_argument("--plot", metavar="FILE", help="draw the curves as well (png, svg or pdf)")
    args = parser.parse_args()
    curves = measure(args.quick)
    if args.plot:
        plot(curves, args.plot)
    if args.json:
        rows = [
            {
                "curve": name,
                "exponent": exponent(points),
                "points": [{"n": n, "seconds": s} for n, s in points],
            }
            for name, points in curves.items()
        ]
        print(
            json.dumps({"benchmark": "scaling", "cores": os.cpu_count(), "curves": rows}, indent=2)
        )
    else:
        show(curves)


if __name__ == "__main__":
    main()

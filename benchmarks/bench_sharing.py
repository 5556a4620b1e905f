"""Flows per second that the sharing solver solves, alone and beside the slow oracle in the same
run.

    python benchmarks/bench_sharing.py [--json]
    pytest benchmarks/bench_sharing.py            (with pytest-benchmark)

One solve of n concurrent flows counts as n flows. Systems are random with a fixed seed: 64 links,
each flow draws on two or three of them, every other flow has a cap that may bind. Speeds hold for
the computer on which they were taken; the ratio to the oracle carries over.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from random import Random
from timeit import Timer
from typing import Any

from c3sim.engine import oracle as sharing_oracle
from c3sim.engine.sharing import Demand, solve

FLOWS = (8, 56, 448, 1000)
LINKS = 64
SEED = 1


def system(flows: int) -> tuple[list[float], list[Demand]]:
    """A random system: links of 10 to 100 GB/s, weights 0.5 to 4, amounts 0.5, 1 or 2."""
    random = Random(SEED)
    capacities = [random.uniform(10e9, 100e9) for _ in range(LINKS)]
    demands = []
    for i in range(flows):
        cap = random.uniform(0.1e9, 30e9) if i % 2 else math.inf
        links = random.sample(range(LINKS), random.choice((2, 3)))
        uses = tuple((link, random.choice((0.5, 1.0, 2.0))) for link in links)
        demands.append(Demand(random.uniform(0.5, 4.0), cap, uses))
    return capacities, demands


def seconds(call: Callable[[], object], least: float, repeats: int) -> float:
    """The seconds of one *call*: the best of *repeats* trials, each of which lasts *least* seconds
    or more.
    """
    timer = Timer(call)
    number = 1
    while (taken := timer.timeit(number)) < least:
        number = max(number + 1, math.ceil(1.2 * number * least / max(taken, 1e-9)))
    return min([taken, *timer.repeat(repeats - 1, number)]) / number


def measure(flows: int) -> dict[str, float]:
    capacities, demands = system(flows)
    fast = seconds(lambda: solve(capacities, demands), least=0.1, repeats=7)
    slow = seconds(lambda: sharing_oracle.solve(capacities, demands, float), least=0.01, repeats=2)
    return {
        "flows": flows,
        "links": LINKS,
        "solve_us": fast * 1e6,
        "flows_per_s": flows / fast,
        "oracle_flows_per_s": flows / slow,
        "times_faster_than_oracle": slow / fast,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the sharing solver.")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document instead of a table"
    )
    args = parser.parse_args()
    rows = [measure(flows) for flows in FLOWS]
    if args.json:
        print(json.dumps({"benchmark": "sharing", "seed": SEED, "rows": rows}, indent=2))
        return
    print(
        f"{'flows':>6} {'links':>6} {'solve [us]':>11} {'solver [flows/s]':>17}"
        f" {'oracle [flows/s]':>17} {'ratio':>7}"
    )
    for row in rows:
        print(
            f"{row['flows']:>6} {row['links']:>6} {row['solve_us']:>11.1f}"
            f" {row['flows_per_s']:>17,.0f} {row['oracle_flows_per_s']:>17,.0f}"
            f" {row['times_faster_than_oracle']:>6.1f}x"
        )


def pytest_generate_tests(metafunc: Any) -> None:
    metafunc.parametrize("flows", FLOWS)


def test_solver_speed(benchmark: Any, flows: int) -> None:
    rates = benchmark(solve, *system(flows))
    benchmark.extra_info["flows_per_s"] = (
        flows / benchmark.stats["min"] if benchmark.enabled else None
    )
    assert len(rates) == flows


if __name__ == "__main__":
    main()

"""Time that a loop of ``c3sim.run(..., set=...)`` spends beside the simulation: files and checks.

    python benchmarks/bench_api.py [--json] [--quick]

Each pass of the loop sets another bandwidth of the links, so no run of both tasks together, nor of
the collective alone, is remembered of the one before; the GEMM alone is. The same models, built
beforehand, are then evaluated without files and checks. Both are processor times of one process;
what else runs on the computer moves their ratio by a tenth. So calls of functions are counted as
well: of a run, over those of a simulation of both tasks together. More of them than the bound end
the benchmark with an error. The bound of 5 s for 1,000 runs holds for one free core.
"""

from __future__ import annotations

import argparse
from cProfile import Profile
from pstats import Stats
from time import process_time

from figures import Row, show

import c3sim
from c3sim.api import prepare
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.strategies.table import best_candidate
from c3sim.simulation import runs
from c3sim.simulation.simulate import simulate

WORKLOAD, STRATEGY = "gemm-beside-all-gather", "sp"
SECONDS = 5.0  # for 1,000 runs
MOST = 1.5  # times the simulation alone
MOST_CALLS = 2.25  # of functions, times those of one simulation; 0.15: how far from measurements


def settings(count: int) -> list[dict[str, object]]:
    return [{"links.bandwidth": f"{40 + 0.01 * number} GB/s"} for number in range(count)]


def measured(count: int) -> list[Row]:
    c3sim.run(WORKLOAD, strategy=STRATEGY)  # imports, and the files
    runs.forget()
    begin = process_time()
    for each in settings(count):
        c3sim.run(WORKLOAD, strategy=STRATEGY, set=each)
    whole = process_time() - begin
    models = [prepare(WORKLOAD, None, each) for each in settings(count)]
    runs.forget()
    begin = process_time()
    for workload, node in models:
        evaluate_run(workload, node, STRATEGY)
    simulated = process_time() - begin
    thousand = 1000 / count
    return [
        Row(name="1,000 runs from Python", value=whole * thousand, unit="s", bound=SECONDS),
        Row(name="of which simulation", value=simulated * thousand, unit="s"),
        Row(name="all over simulation", value=whole / simulated, unit="x", bound=MOST),
        Row(name="calls, over the pair's", value=calls_over_the_pair(), unit="x", bound=MOST_CALLS),
    ]


def calls_over_the_pair(count: int = 20) -> float:
    """Calls of functions in a run, over those in one simulation of both tasks together: the same on
    any computer under any load.
    """
    runs.forget()
    whole, together = Profile(), Profile()
    for each in settings(count):
        plain, node = prepare(WORKLOAD, None, each)
        whole.runcall(c3sim.run, WORKLOAD, strategy=STRATEGY, set=each)
        pair = best_candidate(STRATEGY, plain, node).workload
        together.runcall(simulate, node, pair, energy=True)
    return Stats(whole).total_calls / Stats(together).total_calls


def main() -> None:
    parser = argparse.ArgumentParser(description="A loop of runs from Python.")
    parser.add_argument("--json", action="store_true", help="one JSON document, no table")
    parser.add_argument("--quick", action="store_true", help="100 runs")
    args = parser.parse_args()
    rows = measured(100 if args.quick else 1000)
    show("api", rows, as_json=args.json)
    calls = rows[-1]  # the one figure that other processes on the computer do not move
    if calls.bound is not None and calls.value > calls.bound:
        raise SystemExit(f"{calls.name}: {calls.value:.2f} times; bound {calls.bound}")


if __name__ == "__main__":
    main()

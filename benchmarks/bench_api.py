"""What a loop of ``c3sim.run(..., set=...)`` spends beside the simulation: files and checks.

    python benchmarks/bench_api.py [--json] [--quick]

Each pass of the loop sets another bandwidth, so nothing is remembered of the one before. The same
models, built beforehand, are then evaluated without files and checks. Both are processor times of
one process, so their ratio is that of the program, not of the computer. The bound of 5 s for 1,000
runs holds for one free core.
"""

from __future__ import annotations

import argparse
from time import process_time

from figures import Row, show

import c3sim
from c3sim.api import prepare
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.simulation import runs

WORKLOAD, STRATEGY = "gemm-beside-all-gather", "sp"
SECONDS = 5.0  # for 1,000 runs
MOST = 1.5  # times the simulation alone


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
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="A loop of runs from Python.")
    parser.add_argument("--json", action="store_true", help="one JSON document, no table")
    parser.add_argument("--quick", action="store_true", help="100 runs")
    args = parser.parse_args()
    rows = measured(100 if args.quick else 1000)
    show("api", rows, as_json=args.json)
    if rows[-1].value > MOST:
        raise SystemExit(f"a run takes {rows[-1].value:.2f} times its simulation; bound {MOST}")


if __name__ == "__main__":
    main()

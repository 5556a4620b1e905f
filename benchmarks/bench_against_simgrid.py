"""Completions per second of c3sim's fluid layer, beside SimGrid and a naive SimPy program, on the
same flow sets.

    python benchmarks/bench_against_simgrid.py [--quick] [--json]

All get the same flows (flow_sets.py). They must agree on the order of the ends, and on each end
to 1e-9. Timing begins when all flows have started: CPU time of the process, the best of several
runs, simulators in turns.

``told``     a Python function is called at each end, as a simulation needs it; for SimGrid by the
             faster of its two ways (simgrid_ends.py)
``drained``  the ends are read after the last one

README.md says how to install SimGrid.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import TypedDict

from flow_sets import KINDS, FlowSet, flow_set
from naive_fluid import naive_ends

from c3sim.engine.clock import Clock
from c3sim.engine.compiled.progress import CompiledProgress
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.engine.progress import Progress

ROUNDS = {56: 36, 448: 4, 1000: 3}  # flows at once -> rounds of told runs
REPEATS = {56: 15, 448: 5, 1000: 5}  # the best counts: short runs are disturbed more easily
AGREE = 1e-9  # relative
Ends = list[list[float]]  # of each flow, of each round
Timed = tuple[float, Ends]  # seconds, ends


class Column(TypedDict):
    """One column of the table: a set of flows, and what every simulator made of it."""

    flow_set: str
    flows: int
    completions_per_s: dict[str, float]
    worst_difference: float


def told(flows: FlowSet, progress: type[Progress]) -> Timed:
    """c3sim on its clock: a function is called at each end, and starts the next."""
    env = Clock()
    fluid = Fluid(env, (), progress())
    ends: Ends = [[] for _ in flows.sizes]
    for index, value in enumerate(flows.capacities):
        fluid.capacity(str(index), value)

    def begin(number: int) -> None:
        flow, latency = made(flows, number, len(ends[number])), flows.latencies[number]
        if latency:
            env.timeout(latency).callbacks.append(lambda _event: fluid.start(flow, ended))
        else:
            fluid.start(flow, ended)

    def ended(flow: Flow) -> None:
        ends[flow.tags].append(env.now)
        if len(ends[flow.tags]) < len(flows.sizes[flow.tags]):
            begin(flow.tags)

    for number in range(len(flows.sizes)):
        begin(number)
    env.run(until=flows.all_started)
    start = process_time()
    env.run()
    return process_time() - start, ends


def drained(flows: FlowSet) -> Timed:
    """c3sim without a clock."""
    progress = CompiledProgress()
    for index, value in enumerate(flows.capacities):
        progress.capacity(str(index), value, None)
    for number in sorted(range(len(flows.sizes)), key=flows.latencies.__getitem__):
        progress.start(made(flows, number, 0), flows.latencies[number])
        progress.solve(flows.latencies[number], report=False)
    begin = process_time()
    found = progress.drain(flows.all_started)
    seconds = process_time() - begin
    ends: Ends = [[] for _ in flows.sizes]
    for time, flow in found:
        ends[flow.tags].append(time)
    return seconds, ends


def made(flows: FlowSet, number: int, turn: int) -> Flow:
    size, weight = float(flows.sizes[number][turn]), flows.weight(number)
    return Flow("flow", size, weight=weight, amounts=flows.amounts[number], tags=number)


def naive(flows: FlowSet) -> Timed:
    begin = process_time()
    ends = naive_ends(flows)
    return process_time() - begin, ends


def simgrid(kind: str, count: int, rounds: int, how: str) -> Timed:
    """SimGrid has one engine per process. Its wheel does not say where its own library lies."""
    spec = find_spec("simgrid")
    assert spec is not None and spec.origin is not None
    here, library = Path(__file__).parent, str(Path(spec.origin).parent)
    command = [sys.executable, str(here / "simgrid_ends.py"), kind, str(count), str(rounds), how]
    environment = os.environ | {
        "LD_LIBRARY_PATH": f"{library}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    }
    run = subprocess.run(
        command, cwd=here, env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(run.stdout.splitlines()[-1])
    return found["seconds"], found["ends"]


def told_runners(kind: str, count: int, rounds: int) -> dict[str, Callable[[], Timed]]:
    """Name -> one run."""
    flows = flow_set(kind, count, rounds)
    found: dict[str, Callable[[], Timed]] = {"c3sim, pure, told": lambda: told(flows, Progress)}
    if find_spec("numba") is not None:
        found["c3sim, compiled, told"] = lambda: told(flows, CompiledProgress)
    if find_spec("simgrid") is not None:
        found["SimGrid, told (set)"] = lambda: simgrid(kind, count, rounds, "set")
        found["SimGrid, told (actors)"] = lambda: simgrid(kind, count, rounds, "actors")
    return found


def drained_runners(kind: str, count: int) -> dict[str, Callable[[], Timed]]:
    """The same for one round, with nobody looking; and the naive program, which takes its time."""
    flows = flow_set(kind, count, 1)
    found: dict[str, Callable[[], Timed]] = {}
    if find_spec("numba") is not None:
        found["c3sim, compiled, drained"] = lambda: drained(flows)
    if find_spec("simgrid") is not None:
        found["SimGrid, drained"] = lambda: simgrid(kind, count, 1, "after")
    if count <= 56:
        found["SimPy, naive solver"] = lambda: naive(flows)
    return found


def worst_difference(ends: Ends, reference: Ends) -> float:
    """Relative, between any two ends; raises SystemExit where the order differs."""
    flat = [time for rounds in ends for time in rounds]
    flat_reference = [time for rounds in reference for time in rounds]
    order = sorted(range(len(flat)), key=flat.__getitem__)
    if order != sorted(range(len(flat_reference)), key=flat_reference.__getitem__):
        raise SystemExit("the flows end in another order")
    return max(abs(a - b) / b for a, b in zip(flat, flat_reference, strict=True))


def in_turns(
    calls: dict[str, Callable[[], Timed]], reference: Ends, completions: int, repeats: int
) -> tuple[dict[str, float], float]:
    """Completions per second of everybody, and how far their ends are from *reference* at most."""
    best: dict[str, float] = {}
    worst = 0.0
    for name in calls:
        if "compiled" in name:
            calls[name]()  # so that it is compiled
    for turn in range(repeats):
        for name, call in calls.items():
            if turn and (
                name.startswith("SimPy") or (name.startswith("c3sim, pure") and completions > 2000)
            ):
                continue  # they take long
            seconds, ends = call()
            worst = max(worst, worst_difference(ends, reference))
            best[name] = min(best.get(name, seconds), seconds)
    return {name: completions / seconds for name, seconds in best.items()}, worst


def measure(kind: str, count: int, rounds: int, repeats: int) -> Column:
    _, reference = told(flow_set(kind, count, 1), Progress)
    rates, worst = in_turns(drained_runners(kind, count), reference, count, repeats)
    if rounds > 1:
        _, reference = told(flow_set(kind, count, rounds), Progress)
    more, worse = in_turns(told_runners(kind, count, rounds), reference, count * rounds, repeats)
    if max(worst, worse) > AGREE:
        raise SystemExit(f"{kind}, {count} flows: ends differ by {max(worst, worse):.1e}")
    return {
        "flow_set": kind,
        "flows": count,
        "completions_per_s": more | rates,
        "worst_difference": max(worst, worse),
    }


def ratio(rates: dict[str, float], mine: str, others: str) -> float | None:
    """My speed over the best of those whose name begins with *others*."""
    theirs = [rate for name, rate in rates.items() if name.startswith(others)]
    return rates[mine] / max(theirs) if theirs and mine in rates else None


def show(rows: list[Column]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row["completions_per_s"]))
    worst = max(row["worst_difference"] for row in rows)
    print(f"completions per second of CPU time; ends agree to {worst:.0e}")
    print(f"{'':26}" + "".join(f"{row['flow_set']:>9} {row['flows']:>4}" for row in rows))
    for name in names:
        cells = [row["completions_per_s"].get(name) for row in rows]
        print(
            f"{name:26}"
            + "".join(f"{'-' if cell is None else format(cell, ',.0f'):>14}" for cell in cells)
        )
    for title, mine, others in (
        ("pure / SimGrid, told", "c3sim, pure, told", "SimGrid, told"),
        ("compiled / SimGrid, told", "c3sim, compiled, told", "SimGrid, told"),
        ("the same, drained", "c3sim, compiled, drained", "SimGrid, drained"),
        ("pure / naive SimPy", "c3sim, pure, told", "SimPy"),
    ):
        ratios = [ratio(row["completions_per_s"], mine, others) for row in rows]
        print(
            f"{title:26}"
            + "".join(f"{'-' if r is None else format(r, '.1f') + 'x':>14}" for r in ratios)
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The fluid layer beside SimGrid and a naive SimPy program."
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document instead of a table"
    )
    parser.add_argument("--quick", action="store_true", help="56 flows only, one run of each")
    args = parser.parse_args()
    for package, what in (("simgrid", "no SimGrid to compare with"), ("numba", "no compiled rows")):
        if find_spec(package) is None:
            print(
                f"{package} is not installed: {what} (benchmarks/README.md says how)",
                file=sys.stderr,
            )
    counts = {56: 2} if args.quick else ROUNDS
    rows = [
        measure(kind, count, rounds, 1 if args.quick else REPEATS[count])
        for kind in KINDS
        for count, rounds in counts.items()
    ]
    if args.json:
        print(
            json.dumps(
                {"benchmark": "against SimGrid", "cores": os.cpu_count(), "rows": rows}, indent=2
            )
        )
    else:
        show(rows)


if __name__ == "__main__":
    main()

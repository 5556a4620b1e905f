"""Points of a sweep that are run per second: ten thousand points of the main study's scenarios,
beside the bound.

    python benchmarks/bench_sweep.py [--json] [--quick] [--jobs N] [--all-splits] [--sample N]

The thirty scenarios of ``conccl``, crossed with a range of the DMA engines' bandwidth, under base,
sp, rp:32, sp_rp:32, conccl and conccl_rp: 30 x 56 x 6 = 10,080 points. With ``--all-splits`` rp and
sp_rp search the best of five splits, as the study does: three times the simulations. ``--quick``:
360 points. Times include the start of the processes, files and consolidation; they hold for the
computer on which they were taken.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from figures import Row, show

from c3sim.experiments.jobs import Workers
from c3sim.experiments.plan import Plan, make_plan, point_row
from c3sim.experiments.points import PointRunner
from c3sim.experiments.result_files import results_schema
from c3sim.experiments.store import Store
from c3sim.experiments.sweep import sweep
from c3sim.simulation import runs
from c3sim.spec.reading import library

ONE_SPLIT = "[base, sp, 'rp:32', 'sp_rp:32', conccl, conccl_rp]"
ALL_SPLITS = "[base, sp, rp, sp_rp, conccl, conccl_rp]"
PART = 48  # rows of a part, about a second of work
BOUND, AIM = 300.0, 60.0  # seconds for 10,000 points on two cores


def study_text(steps: int, strategies: str) -> str:
    """The scenarios of the packaged study, with an axis of *steps* values."""
    packaged = library.find("study", "conccl").read_text(encoding="utf-8")
    scenarios = packaged[packaged.index("\nscenarios:") :]
    return f"""\
schema: 1
name: bench
node: mi300x-8
workload: c3-pair
strategies: {strategies}
outputs: [wall_s, speedup, fraction_of_ideal, own_fraction, "tasks.*.slowdown"]
axes:
  hw.sdma.bandwidth: {{from: 40 GB/s, to: 95 GB/s, steps: {steps}}}
{scenarios}"""


def measured(jobs: int, steps: int, strategies: str) -> list[Row]:
    with TemporaryDirectory() as folder:
        study = Path(folder) / "bench.yaml"
        study.write_text(study_text(steps, strategies), encoding="utf-8")
        begin = perf_counter()
        plan = make_plan(study)
        planned = perf_counter() - begin
        begin = perf_counter()
        swept = sweep(study, Path(folder) / "out", workers=Workers(jobs=jobs))
        seconds = perf_counter() - begin
        spent = json.loads((swept.folder / "_timing.json").read_text())["seconds_of_points"]
    points = swept.table.num_rows
    per_ten_thousand = 1e4 * seconds / points
    return [
        Row(name="points", value=points, unit="points"),
        Row(name="failed", value=swept.failed, unit="points", bound=0),
        Row(name="processes", value=jobs, unit="processes"),
        Row(name="plan made", value=planned, unit="s"),
        Row(name="sweep", value=seconds, unit="s"),
        Row(
            name="sweep, per 10,000 points", value=per_ten_thousand, unit="s", bound=BOUND, aim=AIM
        ),
        Row(
            name="its processor time over two cores",
            value=1e4 * processor_seconds(plan) / 2,
            unit="s",
        ),
        Row(name="points per second", value=points / seconds, unit="1/s"),
        Row(
            name="in points, share of processes' time",
            value=100 * spent / (seconds * jobs),
            unit="%",
        ),
        Row(name="one point", value=1e3 * spent / points, unit="ms"),
        *overhead(plan),
    ]


def processor_seconds(plan: Plan) -> float:
    """Per point, in this process, of the strategies of one point of each scenario: a busy computer
    does not lengthen it.
    """
    runner = PointRunner(plan.setup)
    together, each = len(plan.strategies), len(plan.indices) // len(plan.scenarios)
    first = (scenario * each for scenario in range(len(plan.scenarios)))
    points = [plan.point(begin + strategy) for begin in first for strategy in range(together)]
    runs.forget()
    begin = process_time()
    for point in points:
        runner.row(point.scenario, point.strategy, point.settings)
    return (process_time() - begin) / len(points)


def overhead(plan: Plan) -> list[Row]:
    """The part of a point that is no simulation: models built and checked, without running them."""
    runner = PointRunner(plan.setup)
    points = [plan.point(number) for number in range(0, len(plan.indices), 6)][:200]
    begin = perf_counter()
    for point in points:
        runner.models(point.scenario, point.settings)
    return [
        Row(
            name="building models, per point",
            value=1e6 * (perf_counter() - begin) / (6 * len(points)),
            unit="us",
        )
    ]


def planned(steps: int, count: int) -> list[Row]:
    """A sweep of 180 points a step that is planned, of which *count* points are run, spread over
    all of them; their rows are kept in the place of all rows, as a sweep keeps them.
    """
    begin = process_time()
    with TemporaryDirectory() as folder:
        study = Path(folder) / "bench.yaml"
        study.write_text(study_text(steps, ONE_SPLIT), encoding="utf-8")
        plan = make_plan(study)
        total, made = len(plan.indices), process_time() - begin
        runner, runs_of = PointRunner(plan.setup), range(0, total, total // count)
        begin = process_time()
        points = [plan.point(number) for number in runs_of]
        rows = [runner.row(point.scenario, point.strategy, point.settings) for point in points]
        run = (process_time() - begin) / len(rows)
        schema = results_schema(plan.numeric, plan.setup.outputs, plan.metadata())
        store, begin = Store(Path(folder) / "out", schema), process_time()
        store.folder.mkdir()
        store.open(plan.hashes, total, fresh=True)
        for first in range(0, total, PART):
            numbers = range(first, min(first + PART, total))
            places = [(n, point_row(plan.point(n), plan.numeric)) for n in numbers]
            store.add([{**at, **rows[n % len(rows)], "seconds": run} for n, at in places])
        parts = len(list(store.parts.iterdir()))
        store.finish({})
        kept, size = process_time() - begin, store.results.stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = ("points", total, "points"), ("plan made", made, "s"), ("one point", 1e3 * run, "ms")
    more = ("parts, merged at the end", parts, "files"), ("rows kept and merged", kept, "s")
    last = ("results.parquet", size / 1e6, "MB"), ("peak memory of the process", peak, "MB")
    return [Row(name=name, value=value, unit=unit) for name, value, unit in figures + more + last]


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of a sweep.")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document instead of a table"
    )
    parser.add_argument(
        "--quick", action="store_true", help="360 points: does it run, and what order of magnitude?"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--all-splits", action="store_true", help="rp and sp_rp: the best of five splits"
    )
    parser.add_argument(
        "--sample", type=int, help="plan 100,080 points, and run so many of them in this process"
    )
    args = parser.parse_args()
    if args.sample:
        show("sweep, planned", planned(556, args.sample), as_json=args.json)
        return
    rows = measured(
        args.jobs, 2 if args.quick else 56, ALL_SPLITS if args.all_splits else ONE_SPLIT
    )
    show("sweep", rows, as_json=args.json)


if __name__ == "__main__":
    main()

"""Compare predictions that were written down with measured records, the plain sum beside them.

Prints the median and the 90th percentile of the relative error:

    python tools/compare_predictions.py PREDICTIONS RECORDS...

For example docs/predictions/h200-2-c3.jsonl with validation/data/h200/c3-run*.jsonl, or with the
packed files of docs/predictions/first-runs. The sum is that of the measured isolated times.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

WALL, SUM = "wall time", "wall time, plain sum"


def lines(path: str | Path) -> Iterator[dict[str, Any]]:
    """The JSON lines of a file, packed or not."""
    raw = Path(path).read_bytes()
    yield from map(
        json.loads,
        (gzip.decompress(raw) if str(path).endswith(".gz") else raw).decode().splitlines(),
    )


def measured(paths: Iterable[str | Path]) -> dict[tuple[bool, str], dict[str, Any]]:
    """Means over repeats, by workload and whether its compute units were divided, in the shape of
    the predictions.
    """
    found = defaultdict(list)
    for record in (record for path in paths for record in lines(path)):
        times = record["measured"]
        if "wall_us" not in times:
            continue  # a task alone
        flat = {"wall": times["wall_us"]}
        flat |= {f"tasks.{name}": each["time_us"] for name, each in times["tasks"].items()}
        flat |= {f"isolated.{name}": each for name, each in times["isolated"].items()}
        found[record["suite"].endswith("partition"), record["workload"]["name"]].append(flat)
    return {
        key: {name: np.mean([one[name] for one in runs]) for name in runs[0]}
        for key, runs in found.items()
    }


def errors(
    predictions: str | Path, records: Iterable[str | Path], kinds: Iterable[str] = ()
) -> Mapping[str, list[float]]:
    """Figure -> signed relative errors, one for each run; only of runs that have all *kinds* of
    tasks.
    """
    found: dict[str, list[float]] = defaultdict(list)
    runs = measured(records)
    for line in lines(predictions):
        run = runs.get((line.get("step", "").endswith("partition"), line["workload"]))
        if run is None or not set(kinds) <= set(line["tasks"]):
            continue
        found[WALL].append(line["wall_us"] / run["wall"] - 1)
        found[SUM].append(sum(run[f"isolated.{name}"] for name in line["tasks"]) / run["wall"] - 1)
        for task in line["tasks"]:
            alone, together = line["isolated"][task], line["tasks"][task]
            slowdown = run[f"tasks.{task}"] / run[f"isolated.{task}"]
            found[f"{task} slowdown"].append(together / alone / slowdown - 1)
            found[f"{task} alone"].append(alone / run[f"isolated.{task}"] - 1)
    return found


def main(predictions: str, *records: str) -> None:
    for name, values in errors(predictions, records).items():
        middle, tail = np.quantile(np.abs(values), [0.5, 0.9])
        figures = f"median {100 * middle:5.1f} %   p90 {100 * tail:5.1f} %"
        print(f"{name:22} {len(values):4} runs   {figures}")


if __name__ == "__main__":
    main(*sys.argv[1:])

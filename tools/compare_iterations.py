"""Predicted iterations beside measured ones: errors in %, and their median by mode.

python tools/compare_iterations.py PREDICTIONS.jsonl MEASUREMENTS.jsonl [unknown]

Where the measurement timed its host around a case and the predictions have a time for each
slowness, the time for that of the host is compared, on a line between two predictions; ``unknown``:
the time for a host of unknown speed all the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from c3sim.validation.frameworks.slowness import slowness

MODES = ("together", "compute", "communication")


def main(predictions: str, measurements: str, *how: str) -> None:
    predicted = {line["name"]: line for line in _lines(predictions)}
    errors: dict[str, list[float]] = {mode: [] for mode in MODES}
    for line in _lines(measurements):
        name, mode = line["name"], line["mode"]
        measured, said = median(line["iterations_s"]), predicted[name]
        host = None
        if "host" in line and "by_slowness" in said and "unknown" not in how:
            host = slowness(line["host"], said["node"]).value
        ours = said[f"{mode}_s"] if host is None else _at(said["by_slowness"], f"{mode}_s", host)
        errors[mode].append(ours / measured - 1)
        times = f"{1e3 * measured:9.3f} ms measured {1e3 * ours:9.3f} ms predicted"
        slow = "" if host is None else f"   slowness {host:.2f}"
        print(f"{name:36} {mode:14}{times} {100 * errors[mode][-1]:+7.1f} %{slow}")
    for mode, found in errors.items():
        if found:
            print(f"{mode}: {len(found)} cases, median {100 * median(map(abs, found)):.1f} %")


def _at(by_slowness: dict[str, dict[str, Any]], what: str, host: float) -> float:
    """The time *what* at the slowness *host*."""
    places = [float(each) for each in by_slowness]
    return float(np.interp(host, places, [each[what] for each in by_slowness.values()]))


def _lines(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Predicted iterations beside measured ones: errors in %, and their median by mode.

python tools/compare_iterations.py PREDICTIONS.jsonl MEASUREMENTS.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

MODES = ("together", "compute", "communication")


def main(predictions: str, measurements: str) -> None:
    predicted = {line["name"]: line for line in _lines(predictions)}
    errors: dict[str, list[float]] = {mode: [] for mode in MODES}
    for line in _lines(measurements):
        name, mode = line["name"], line["mode"]
        measured, ours = median(line["iterations_s"]), predicted[name][f"{mode}_s"]
        errors[mode].append(ours / measured - 1)
        times = f"{1e3 * measured:9.3f} ms measured {1e3 * ours:9.3f} ms predicted"
        print(f"{name:34} {mode:14}{times} {100 * errors[mode][-1]:+7.1f} %")
    for mode, found in errors.items():
        print(f"{mode}: {len(found)} cases, median {100 * median(map(abs, found)):.1f} %")


def _lines(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Predicted schedules beside measured ones: errors of times, what the predicted best one loses
against the measured best, and Spearman's rank correlation over the schedules of each GEMM.

python tools/compare_pieces.py PREDICTIONS.jsonl MEASUREMENTS.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import mean, median
from typing import Any

from scipy.stats import spearmanr

Case = tuple[str, str]  # GEMM, by


def main(predictions: str, measurements: str) -> None:
    predicted = _by_case(predictions, lambda line: line["time_us"])
    measured = _by_case(measurements, lambda line: 1e6 * median(line["turns_s"]))
    errors, losses, ranks = list[float](), list[float](), list[float]()
    for case, times in measured.items():
        names = [name for name in times if name in predicted[case]]
        ours = predicted[case]
        errors += [ours[name] / times[name] - 1 for name in names]
        chosen, best = min(names, key=ours.__getitem__), min(names, key=times.__getitem__)
        losses.append(times[chosen] / times[best] - 1)
        ranks.append(
            float(spearmanr([ours[name] for name in names], [times[name] for name in names])[0])
        )
        print(
            f"{case[0]:16} {case[1]:5} predicted best {chosen:20} measured best {best:20}"
            f" loss {100 * losses[-1]:5.1f} %  Spearman {ranks[-1]:5.2f}"
        )
        for name in names:
            error = 100 * (ours[name] / times[name] - 1)
            print(f"    {name:20} {times[name]:9.1f} us {ours[name]:9.1f} us {error:+7.1f} %")
    print(
        f"{len(errors)} times: median error {100 * median(map(abs, errors)):.1f} %;"
        f" loss of the predicted best: mean {100 * mean(losses):.1f} %, worst"
        f" {100 * max(losses):.1f} %; Spearman: mean {mean(ranks):.2f}, worst {min(ranks):.2f}"
    )


def _by_case(file: str, time: Any) -> dict[Case, dict[str, float]]:
    """Time [us] of each schedule, by case."""
    found: dict[Case, dict[str, float]] = {}
    for text in Path(file).read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        found.setdefault((line["gemm"], line["by"]), {})[line["schedule"]] = time(line)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])

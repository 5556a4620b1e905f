"""Predicted schedules, or operators, beside measured ones: errors of times, what the predicted best
one loses against the measured best, and Spearman's rank correlation over the schedules of a GEMM.

python tools/compare_pieces.py PREDICTIONS.jsonl MEASUREMENTS.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from scipy.stats import spearmanr

Case = tuple[str, str]  # GEMM, by; operator and GEMM
Times = dict[Case, dict[str, float]]  # of each schedule [us]


class Score(NamedTuple):
    """Score of one GEMM: the best schedule as *predicted* and as *measured*, what the first loses
    against the second, Spearman's rank correlation, and the relative error of each time.
    """

    predicted: str
    measured: str
    loss: float
    spearman: float
    errors: dict[str, float]


def score(predicted: dict[str, float], measured: dict[str, float]) -> Score:
    names = [name for name in measured if name in predicted]
    ours, theirs = ([times[name] for name in names] for times in (predicted, measured))
    chosen, best = (min(names, key=times.__getitem__) for times in (predicted, measured))
    return Score(
        predicted=chosen,
        measured=best,
        loss=measured[chosen] / measured[best] - 1,
        spearman=float(spearmanr(ours, theirs)[0]),
        errors={name: predicted[name] / measured[name] - 1 for name in names},
    )


def main(predictions: str, measurements: str) -> None:
    predicted = _by_case(predictions, lambda line: line["time_us"])
    measured = _by_case(measurements, lambda line: 1e6 * median(line["turns_s"]))
    scores = {case: score(predicted[case], times) for case, times in measured.items()}
    for (gemm, by), found in scores.items():
        print(
            f"{gemm:16} {by:5} predicted best {found.predicted:20} measured best"
            f" {found.measured:20} loss {100 * found.loss:5.1f} %  Spearman {found.spearman:5.2f}"
        )
        for name, error in found.errors.items():
            times = f"{measured[gemm, by][name]:9.1f} us {predicted[gemm, by][name]:9.1f} us"
            print(f"    {name:20} {times} {100 * error:+7.1f} %")
    errors = [abs(error) for found in scores.values() for error in found.errors.values()]
    losses, ranks = ([getattr(s, f) for s in scores.values()] for f in ("loss", "spearman"))
    print(
        f"{len(errors)} times: median error {100 * median(errors):.1f} %; loss of the predicted"
        f" best: mean {100 * mean(losses):.1f} %, worst {100 * max(losses):.1f} %; Spearman: mean"
        f" {mean(ranks):.2f}, worst {min(ranks):.2f}"
    )


def _by_case(file: str, time: Callable[[dict[str, Any]], float]) -> Times:
    found: Times = {}
    for text in Path(file).read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        case = (line["gemm"], line.get("by") or line["op"])
        found.setdefault(case, {})[line.get("schedule") or line["way"]] = time(line)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])

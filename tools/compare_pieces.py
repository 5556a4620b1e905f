"""Predicted schedules, or operators, beside measured ones: errors of times, what the predicted best
one loses against the measured best, and Spearman's rank correlation over the schedules of a GEMM.

python tools/compare_pieces.py PREDICTIONS.jsonl MEASUREMENTS.jsonl

Three choosers, each for a GEMM that it has not seen measured, by engines and by kernels apart: the
simulator; the one schedule that loses least, as measured, on the other GEMMs; a rule from static
sizes fitted on the predictions of the other GEMMs. Regret: what is chosen over the best, less 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from scipy.stats import spearmanr

from c3sim.experiments.trees import Seen, Sizes, choice, fit

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
    for who, lost in regrets(predicted, measured, _sizes(predictions)).items():
        if lost:
            worst = f"worst {100 * max(lost):.1f} %"
            print(f"regret of {who}: mean {100 * mean(lost):.1f} %, {worst}, {len(lost)} choices")


def regrets(predicted: Times, measured: Times, sizes: dict[str, Sizes]) -> dict[str, list[float]]:
    """Regret of each chooser, GEMM by GEMM."""
    found: dict[str, list[float]] = {"simulator": [], "constant": [], "rule": []}
    for (gemm, by), times in measured.items():
        others = [(g, b) for g, b in measured if b == by and g != gemm]
        if gemm not in sizes or not others:
            continue
        names = [name for name in times if all(name in measured[other] for other in others)]
        here, there = predicted[gemm, by], [Seen(g, sizes[g], measured[g, b]) for g, b in others]
        known = [Seen(g, sizes[g], predicted[g, b]) for g, b in others]
        chosen = {
            "simulator": min(names, key=here.__getitem__),
            "constant": min(names, key=lambda name: sum(each.loss(name) for each in there)),
            "rule": choice(fit(known, names), sizes[gemm]),
        }
        best = min(times[name] for name in names)
        for who, name in chosen.items():
            found[who].append(times[name] / best - 1)
    return found


def _sizes(file: str) -> dict[str, Sizes]:
    """Sizes of the GEMMs, where the lines of *file* have them."""
    lines = map(json.loads, Path(file).read_text(encoding="utf-8").splitlines())
    return {
        each["gemm"]: Sizes.of(each["m"], each["n"], each["k"]) for each in lines if "m" in each
    }


def _by_case(file: str, time: Callable[[dict[str, Any]], float]) -> Times:
    found: Times = {}
    for text in Path(file).read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        case = (line["gemm"], line.get("by") or line["op"])
        found.setdefault(case, {})[line.get("schedule") or line["way"]] = time(line)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])

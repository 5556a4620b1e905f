"""Compare predictions that were written down with what was measured.

    python tools/compare.py records PREDICTIONS RECORDS...
    python tools/compare.py iterations PREDICTIONS.jsonl MEASUREMENTS.jsonl [unknown]
    python tools/compare.py pieces PREDICTIONS.jsonl MEASUREMENTS.jsonl
    python tools/compare.py what-if what-if [--rows]           (or what-if-2 to what-if-11)

``records``: median and 90th percentile of the relative error, the plain sum of the measured
isolated times beside it; for example docs/predictions/h200-2-c3.jsonl with
validation/data/h200/c3-run*.jsonl, or with the packed files of docs/predictions/first-runs.

``iterations``: errors in %, and their median by mode. Where the measurement timed its host around a
case and the predictions have a time for each slowness, the time for that of the host is compared,
on a line between two predictions; ``unknown``: the time for a host of unknown speed all the same.

``pieces``: schedules, or operators: errors of times, what the predicted best one loses against the
measured best, and Spearman's rank correlation over the schedules of a GEMM. Three choosers, each
for a GEMM that it has not seen measured, by engines and by kernels apart: the simulator; the one
schedule that loses least, as measured, on the other GEMMs; a rule from static sizes fitted on the
predictions of the other GEMMs. Regret: what is chosen over the best, less 1.

``what-if``: kernels, pairs and steps on an H100 and an H200. Levels of each machine, and the ratio
H100 to H200, the H100 from its data sheet; over rows that two runs repeat within 10 %. Steps were
run once, by the first two plans. *rows*: each row as well.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan, nan
from pathlib import Path
from statistics import fmean, mean, median
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from c3sim.experiments.trees import GemmBy, Sizes, regrets
from c3sim.validation.frameworks.records import lines
from c3sim.validation.frameworks.slowness import slowness

WALL, SUM = "wall time", "wall time, plain sum"


def measured(paths: Iterable[Path]) -> dict[tuple[bool, str], dict[str, Any]]:
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
    predictions: Path, records: Iterable[Path], kinds: Iterable[str] = ()
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


def records(predictions: str, *measurements: str) -> None:
    for name, values in errors(Path(predictions), map(Path, measurements)).items():
        middle, tail = np.quantile(np.abs(values), [0.5, 0.9])
        figures = f"median {100 * middle:5.1f} %   p90 {100 * tail:5.1f} %"
        print(f"{name:22} {len(values):4} runs   {figures}")


MODES = ("together", "compute", "communication")


def iterations(predictions: str, measurements: str, *how: str) -> None:
    predicted = {line["name"]: line for line in lines(Path(predictions))}
    errors: dict[str, list[float]] = {mode: [] for mode in MODES}
    for line in lines(Path(measurements)):
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


def pieces(predictions: str, measurements: str) -> None:
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


def _sizes(file: str) -> dict[str, Sizes]:
    """Sizes of the GEMMs, where the lines of *file* have them."""
    sized = (each for each in lines(Path(file)) if "m" in each)
    return {each["gemm"]: Sizes.of(each["m"], each["n"], each["k"]) for each in sized}


def _by_case(file: str, time: Callable[[dict[str, Any]], float]) -> dict[GemmBy, dict[str, float]]:
    found: dict[GemmBy, dict[str, float]] = {}
    for line in lines(Path(file)):
        case = (line["gemm"], line.get("by") or line["op"])
        found.setdefault(case, {})[line.get("schedule") or line["way"]] = time(line)
    return found


ROOT = Path(__file__).parent.parent
MEASURED, PREDICTED = ROOT / "validation/data/kernels", ROOT / "docs/predictions"
REPEATS, SEEN = 0.1, 0.05  # relative: how far runs may be apart; a ratio that has a sign
NOT_SAID = {"plan", "node", "us", "wall_us", "gpu", "torch", "sets", "calls", "kernels"}


class Row(NamedTuple):
    """A case of a plan: measured and predicted us of both machines; nan: that one did not run."""

    name: str
    h200: float
    h100: float
    apart: float  # of the runs
    predicted: float  # h200-1
    own: float  # h100-1
    by_data_sheet: float


def key(line: dict[str, Any]) -> str:
    if "iterations_s" in line or "together_s" in line:
        return str(line["name"])
    if "tasks" in line:
        return " + ".join(line["tasks"])
    return " ".join(f"{k}={line[k]}" for k in sorted(line) if k not in NOT_SAID)


def level(line: dict[str, Any]) -> float:
    """Us: of a call, of both tasks, of an iteration."""
    if "iterations_s" in line:
        return 1e6 * median(line["iterations_s"])
    if "together_s" in line:
        return 1e6 * float(line["together_s"])
    us = line["wall_us"] if "wall_us" in line else line["us"]
    return median(us) if isinstance(us, list) else float(us)


def kind(plan: str, name: str) -> str:
    if plan == "kernels":
        return "GEMMs" if "operator=gemm" in name else "kernels"
    if plan == "beside":
        return "pairs" if " + " in name else "tasks of pairs alone"
    return "decoding" if "decode" in name else "steps"


def rows(what: str) -> dict[str, list[Row]]:
    """Rows of both machines by kind."""
    found: dict[str, list[Row]] = defaultdict(list)
    nodes = ("h200-1", "h100-1", "h100-by-data-sheet")
    said: dict[str, dict[tuple[str, str], float]] = {}
    for node in nodes:
        told = lines(PREDICTED / f"{node}-{what}.jsonl")
        said[node] = {(line["plan"], key(line)): level(line) for line in told}
    for plan, runs in (
        ("kernels", ("-1", "-2")),
        ("beside", ("-1", "-2", "-3")),
        ("iterations", ("",)),
    ):
        seen: dict[str, dict[str, list[float]]] = {}
        for gpu in ("h200", "h100"):
            seen[gpu] = defaultdict(list)
            for file in (MEASURED / f"{gpu}-{what}-{plan}{run}.jsonl.gz" for run in runs):
                for line in lines(file) if file.exists() else ():
                    seen[gpu][key(line)].append(level(line))
        for name in seen["h200"] or list(seen["h100"]):
            both = [seen[gpu][name] or [nan] for gpu in ("h200", "h100")]
            apart = max(max(each) / min(each) - 1 for each in both if each != [nan])
            predicted = (said[node][plan, name] for node in nodes)
            found[kind(plan, name)].append(Row(name, *map(fmean, both), apart, *predicted))
    return found


def spread(errors: Sequence[float]) -> str:
    ranked = sorted(abs(error) for error in errors if not isnan(error))
    if not ranked:
        return "not run      "
    high = ranked[min(len(ranked) - 1, int(0.9 * len(ranked)))]
    return f"{100 * median(ranked):5.1f} / {100 * high:5.1f}"


def _open_order(apart: Sequence[Row]) -> None:
    """Rows whose runs differ: how many lie within the predicted 5th to 95th percentile. No plan's
    predictions have a band, since nothing is drawn of one GPU: that is one time, within REPEATS.
    """
    for gpu, column in (("H200", "predicted"), ("H100", "own")):
        both = [(getattr(row, column), getattr(row, gpu.lower())) for row in apart]
        pairs = [(said, measured) for said, measured in both if not isnan(measured)]
        within = sum(abs(said / measured - 1) <= REPEATS for said, measured in pairs)
        if pairs:
            print(f"    order open on {gpu}: {within} of {len(pairs)} within the predicted band")


def what_if(what: str, *options: str) -> None:
    print("class (rows)                H200 level     H100 level     ratio, data sheet   sign")
    for name, every in rows(what).items():
        kept = [row for row in every if row.apart <= REPEATS]
        off = [row for row in kept if not isnan(row.h200) and abs(row.h100 / row.h200 - 1) > SEEN]
        right = sum(
            (row.by_data_sheet / row.predicted - 1) * (row.h100 / row.h200 - 1) > 0 for row in off
        )
        ratio = [(r.by_data_sheet / r.predicted) / (r.h100 / r.h200) - 1 for r in kept]
        levels = [
            spread([row.predicted / row.h200 - 1 for row in kept]),
            spread([row.own / row.h100 - 1 for row in kept]),
        ]
        about = f"{name} ({len(kept)} of {len(every)})"
        print(f"{about:32}", *levels, spread(ratio), f"{right}/{len(off)}", sep="  ")
        _open_order([row for row in every if row.apart > REPEATS])
        for row, error in zip(kept, ratio, strict=True) if "--rows" in options else ():
            print(f"    {row.name:60} {row.h200:9.1f} {row.h100:9.1f} {100 * error:+6.1f} %")


KINDS = {"records": records, "iterations": iterations, "pieces": pieces, "what-if": what_if}


if __name__ == "__main__":
    KINDS[sys.argv[1]](*sys.argv[2:])

"""Compares predictions of kernels, pairs and steps on an H100 and an H200 with the runs.

python tools/compare_what_if.py what-if [--rows]      (or what-if-2 to what-if-4)

Levels of each machine, and the ratio H100 to H200, the H100 from its data sheet; over rows that two
runs repeat within 10 %. Steps were run once, by the first two plans. *rows*: each row as well.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import isnan, nan
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

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


def lines(file: Path) -> Iterator[dict[str, Any]]:
    data = file.read_bytes()
    text = gzip.decompress(data) if file.suffix == ".gz" else data
    yield from map(json.loads, text.splitlines())


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
    for plan, runs in (("kernels", ("-1", "-2")), ("beside", ("-1", "-2")), ("iterations", ("",))):
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


def main(what: str, *options: str) -> None:
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


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Regenerates what the documents show of results: the pictures, and the table of errors in
README.md.

    python docs/refresh.py [--check]

With --check nothing is written; the exit code is 1 if the table in README.md is not what the models give now.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

import c3sim
from c3sim.input.loading import load_hardware
from c3sim.input.records import load_records
from c3sim.output.plot import plot_timeline
from c3sim.output.plot_study import plot_study
from c3sim.output.study_tables import published_fractions
from c3sim.validation.compare.figures import Figure, compare
from c3sim.validation.compare.measurements import merge

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- trust:begin -->", "<!-- trust:end -->"
PICTURES = "docs/img"
STUDY = """The means of the study above, beside those of its source (arXiv 2412.14335), to which nothing was fitted. All-gather and
all-to-all on compute units beside a GEMM are checked against these means only: every open measured run of a GEMM beside
a collective on this machine is an all-reduce."""

#: What is predicted -> its metrics in the comparison, bounds on median and 90th percentile (design
#: targets).
KINDS = {
    "a GEMM alone": (("isolated_gemm",), (6, 15)),
    "a collective alone": (("isolated_collective", "isolated_commands", "sequence"), (6, 15)),
    "a copy or stream kernel alone": (("isolated_copy", "isolated_stream"), (6, 15)),
    "a GEMM beside other work: wall time": (("wall",), (8, 20)),
    "a GEMM beside other work: slowdown of the GEMM": (("gemm_slowdown",), (8, 20)),
    "a GEMM beside other work: slowdown of the collective": (("collective_slowdown",), (15, 40)),
}


#: Node -> what stands above its table.
MACHINES = {
    "mi300x-8": """**Eight MI300X**, published measurements (sources in `validation/data/published/README.md`). Rows held out were never used in a
fit, but the open concurrent ones were looked at while mechanisms were chosen ([docs/design.md](docs/design.md)). Other
work beside a GEMM is an all-reduce, in a few rows a kernel that stresses one resource.""",
    "h200-2": """**Two H200**, measured with the harness that ships here ([validation/data/h200](validation/data/h200/README.md)): 6 GEMMs beside 4
collectives of 3 sizes, by NCCL and by copy engines, twice. The whole plan was predicted before it was first run: median error
4.6 % of wall time, 0.6 % of the GEMM's slowdown, 6.0 % of the collective's ([docs/predictions](docs/predictions/README.md), which
says what changed afterwards); today:""",
    "h200-4": """**Four H200** of another host were predicted from two: blind, wall times were 10.1 % off in the median and 41.7 % at the 90th percentile,
GEMM slowdowns 0.9 and 9.4 %, collectives alone 27.4 %. Now, by constants that hold for two and four ranks, and since it is known that the source
carries what a GPU pulls, in the order of who asked ([design notes](docs/design.md)):""",
}


def predictions(node: str) -> list[Figure]:
    """Every packaged measurement of *node* beside its prediction, repeats once."""
    folder = Path(str(files("c3sim.validation"))) / "data"
    found = [
        record for record in load_records(*sorted(folder.rglob("*.jsonl"))) if record.node == node
    ]
    return compare({node: load_hardware(node).node}, merge(found))


def trust(cases: Sequence[Figure]) -> str:
    """The table by kind, over held-out rows only, and the one by suite."""
    lines = [
        "| held out, never fitted to | figures | median error | p90 | bounds |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, (metrics, (median, p90)) in KINDS.items():
        suites = (
            {case.suite for case in cases if case.metric == "gemm_slowdown"}
            if "beside" in name
            else None
        )
        found = [
            case
            for case in cases
            if case.metric in metrics and case.held_out and (suites is None or case.suite in suites)
        ]
        if found:
            lines.append(f"| {name} | {len(found)} | {_errors(found)} | {median} %, {p90} % |")
    rows = _by_suite(cases)
    head = [
        "| suite | what | rows | figures | median error | p90 |",
        "|---|---|---|---:|---:|---:|",
    ]
    summary = f"<details><summary>Every suite of measurements ({len(cases)} figures)</summary>"
    return "\n".join([*lines, "", summary, "", *head, *rows, "", "</details>"])


def means() -> str:
    """The study's mean fraction of ideal beside the published one, per strategy."""
    study = c3sim.study("conccl", band=False)
    lines = ["| strategy | simulated | published | off by |", "|---|---:|---:|---:|"]
    for name, theirs in published_fractions(study).items():
        ours = study["strategies"][name]["mean_fraction_of_ideal"]
        lines.append(
            f"| {name} | {100 * ours:.0f} % | {100 * theirs:.0f} % | {100 * (ours - theirs):+.0f} points |"
        )
    return "\n".join(lines)


def _by_suite(cases: Sequence[Figure]) -> list[str]:
    groups: dict[tuple[str, str, str], list[Figure]] = {}
    for case in cases:
        groups.setdefault((case.suite, case.metric, case.record.role), []).append(case)
    roles = {"calibration": "fitted to", "validation": "held out"}
    return [
        f"| {suite} | {metric.replace('_', ' ')} | {roles[role]} | {len(found)} | {_errors(found)} |"
        for (suite, metric, role), found in sorted(groups.items())
    ]


def _errors(cases: Iterable[Figure]) -> str:
    """Median and 90th percentile of the absolute relative error, as two cells."""
    errors = np.array([abs(case.error) for case in cases])
    return f"{100 * np.median(errors):.1f} % | {100 * np.quantile(errors, 0.9):.1f} %"


def with_block(text: str, block: str) -> str:
    """README *text* with *block* between the markers."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{block}\n{END}{rest.split(END)[1]}"


def draw() -> None:
    """The pictures that README.md shows, as the commands beside them make them."""
    folder = ROOT / PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    plot_study(c3sim.study("conccl"), folder / "study-conccl.png")
    plot_timeline(
        c3sim.run("gemm-beside-all-gather", strategy="sp", trace=True), folder / "timeline.png"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Regenerate pictures and the table of errors.")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit code 1 if the table is out of date",
    )
    args = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    machines = [f"{about}\n\n{trust(predictions(node))}" for node, about in MACHINES.items()]
    now = with_block(text, "\n\n".join([*machines, STUDY, means()]))
    if args.check:
        sys.exit(
            0
            if now == text
            else "README.md: the table of errors is out of date; run python docs/refresh.py"
        )
    draw()
    README.write_text(now, encoding="utf-8")
    print(f"wrote README.md and {PICTURES}")


if __name__ == "__main__":
    main()

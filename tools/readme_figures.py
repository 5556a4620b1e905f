"""Write the figures of results that README.md and docs/gaps.md show, and the pictures beside them.

    python tools/readme_figures.py [--check]

Each figure stands in a block between two comments. With --check nothing is written, and the exit
code is 1 if a block is not what the models give now. Pictures are not compared.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import c3sim
from c3sim.cli.app import app
from c3sim.input.loading import load_hardware
from c3sim.input.records import load_records
from c3sim.output.pictures.timeline import plot_timeline
from c3sim.studies.c3 import KIND
from c3sim.studies.c3.study import C3Result
from c3sim.studies.c3.table import published_fractions
from c3sim.validation.compare.figures import Case, compare
from c3sim.validation.compare.repeats import merge

ROOT = Path(__file__).parent.parent
PICTURES = "docs/img"
COMMAND = "explain gemm-beside-all-gather --strategy sp"
TRUST = """\
- **The rule.** Parameters come from data sheets and from runs of one task alone. Runs of a GEMM
  beside a collective are only predicted.
- **In the harness that ships here** a wall time is off by about 5 %: on two H200 {h200-2 wall},
  on four {h200-4 wall}. Slowdowns of the GEMM are off by {h200-2 gemm} and {h200-4 gemm}. Errors
  are medians, with the 90th percentile in brackets.
- **Blind**, before the first such run, wall times were 4.6 % off on two H200 and 10.1 % on four.
  Mechanisms were added after these runs had been seen
  ([predictions](docs/predictions/README.md)).
- **Published runs on eight MI300X**: GEMM slowdowns {mi300x-8 gemm}, {mi300x-8 count} wall times
  {mi300x-8 wall}. Nothing was fitted to these rows, but they were looked at while mechanisms were
  chosen. All are all-reduces or stress kernels.
- **Where frameworks run processes and loops it is not yet there.** In a later comparison with
  runs that nobody here had seen, H200 with NCCL was 22 % off in wall time, where the plain sum of
  isolated times is 5 % off; copy engines 9.8 %; MI300X 6.9 % (28 %), and 9.6 % in GEMM slowdowns.
- **Published means on MI300X** (ConCCL, arXiv 2412.14335), fraction of ideal overlap simulated
  and, in brackets, published: {means}. The order comes out, the gains are too large."""


def predictions(node: str) -> list[Case]:
    """Every packaged measurement of *node* beside its prediction; repeats count once."""
    folder = Path(str(files("c3sim.validation"))) / "data"
    records = [
        record for record in load_records(*sorted(folder.rglob("*.jsonl"))) if record.node == node
    ]
    return compare(load_hardware(node).node, [each.record for each in merge(records)])


def held_out(cases: Sequence[Case], metric: str) -> list[Case]:
    """Cases of *metric* that no fit has seen, of suites that measure a GEMM beside other work."""
    suites = {case.suite for case in cases if case.metric == "gemm_slowdown"}
    return [
        case
        for case in cases
        if case.metric == metric and case.role == "validation" and case.suite in suites
    ]


def errors(cases: Iterable[Case]) -> str:
    """Median and 90th percentile of the absolute relative error."""
    values = [abs(case.error) for case in cases]
    return f"{100 * np.median(values):.1f} % ({100 * np.quantile(values, 0.9):.1f} %)"


def trust(fractions: Sequence[tuple[str, float, float]]) -> str:
    """The lines of README.md that say how far to trust c3sim."""
    figures = {}
    for node in ("mi300x-8", "h200-2", "h200-4"):
        cases = predictions(node)
        figures[f"{node} wall"] = errors(held_out(cases, "wall"))
        figures[f"{node} gemm"] = errors(held_out(cases, "gemm_slowdown"))
        figures[f"{node} count"] = str(len(held_out(cases, "wall")))
    figures["means"] = ", ".join(
        f"{name} {100 * ours:.0f} % ({100 * theirs:.0f} %)"
        for name, ours, theirs in fractions
        if name in ("base", "sp", "conccl")
    )
    return TRUST.format(**figures)


def study_means() -> list[tuple[str, float, float]]:
    """Strategy, simulated and published mean fraction of ideal of the study conccl."""
    study = c3sim.study("conccl", band=False)
    assert isinstance(study, C3Result)
    return [
        (name, study.strategies[name].mean_fraction_of_ideal or 0.0, published)
        for name, published in published_fractions(study).items()
    ]


def means_table(fractions: Iterable[tuple[str, float, float]]) -> str:
    """The means of the study conccl as Markdown."""
    lines = ["| strategy | simulated | published | off by |", "|---|---:|---:|---:|"]
    for name, ours, theirs in fractions:
        difference = f"{100 * (ours - theirs):+.0f} points"
        lines.append(f"| {name} | {100 * ours:.0f} % | {100 * theirs:.0f} % | {difference} |")
    return "\n".join(lines)


def run_with_output() -> str:
    """The command of README.md with what it prints, as Markdown."""
    result = CliRunner().invoke(app, COMMAND.split())
    if result.exit_code:
        raise SystemExit(result.output)
    lines = [line.rstrip() for line in result.output.splitlines()]
    return "\n".join(["```console", f"$ c3sim {COMMAND}", *lines, "```"])


def with_block(text: str, name: str, block: str) -> str:
    """*text* with *block* between the comments ``name:begin`` and ``name:end``."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, rest = text.split(begin)
    return f"{before}{begin}\n{block}\n{end}{rest.split(end)[1]}"


def draw() -> None:
    """The pictures of the study and of the run, as the commands beside them make them."""
    folder = ROOT / PICTURES
    study = c3sim.study("conccl")
    assert isinstance(study, C3Result)
    KIND.picture(study, folder / "study-conccl.png")
    plot_timeline(
        c3sim.run("gemm-beside-all-gather", strategy="sp", trace=True), folder / "timeline.png"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Refresh the figures of README.md and gaps.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if out of date")
    parser.add_argument("--pictures", action="store_true", help="draw the pictures as well")
    arguments = parser.parse_args()
    fractions = study_means()
    blocks = {
        "README.md": {"run": run_with_output(), "trust": trust(fractions)},
        "docs/gaps.md": {"means": means_table(fractions)},
    }
    stale = []
    for name, parts in blocks.items():
        text = fresh = (ROOT / name).read_text(encoding="utf-8")
        for key, block in parts.items():
            fresh = with_block(fresh, key, block)
        if fresh != text:
            stale.append(name)
            if not arguments.check:
                (ROOT / name).write_text(fresh, encoding="utf-8")
    if arguments.pictures:
        draw()
    if arguments.check and stale:
        sys.exit(f"{', '.join(stale)}: out of date; run: python tools/readme_figures.py")
    print(f"{'out of date' if arguments.check else 'written'}: {', '.join(stale) or 'nothing'}")


if __name__ == "__main__":
    main()

"""Write the figures of results that README.md, docs/gaps.md and docs/predictions show.

    python tools/readme_figures.py [--check] [--study conccl.json] [--pictures]

Each figure stands in a block between two comments. With --check nothing is written, and the exit
code is 1 if a block is not what the models give now. --study: a file that ``c3sim study conccl
--out`` has written, instead of a run of a minute; one without a band leaves means out. Errors are
those of docs/validation.md, which a test keeps fresh; blind ones are those of the predictions on
file, beside the records. Pictures are not compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from compare import SUM, WALL, errors, lines
from typer.testing import CliRunner

from c3sim.cli.app import app

ROOT = Path(__file__).parent.parent
PICTURES = "docs/img"
PREDICTIONS = ROOT / "docs" / "predictions"
RECORDS = ROOT / "validation" / "data" / "h200"
COLUMNS = ("given", "sum", "constant")  # of docs/validation.md
COMMAND = "explain gemm-beside-all-gather --strategy sp"
REST = "what binds"  # the title of what README.md leaves out
#: The text of README.md, a point an item; figures in braces are filled in.
TRUST = (
    "**The rule.** Parameters come from data sheets and from runs of one task alone. Runs of a"
    " GEMM beside a collective are only predicted.",
    "**In the harness that ships here**, which releases tasks together, a wall time is off by"
    " {h200-2 harness wall} on two H200 and {h200-4 harness wall} on four (medians, with the 90th"
    " percentile in brackets), the plain sum of measured isolated times by"
    " {h200-2 harness wall sum} and {h200-4 harness wall sum}; slowdowns of the GEMM by"
    " {h200-2 harness gemm} and {h200-4 harness gemm}.",
    "**Blind**, before the first such run, wall times on two H200 were {c3-2}; on four {c3-4}."
    " Mechanisms were added since"
    " ([predictions](docs/predictions/README.md)).",
    "**In loops, as frameworks run them** (a process per GPU, PyTorch, NCCL, two H200), wall times"
    " are off by {h200-2 loops wall}, the plain sum by {h200-2 loops wall sum}. Three plans were"
    " predicted blind: {loops-1}; {loops-2}; by today's model {loops-3}. Loops on four"
    " GPUs have not been compared.",
    "**Published runs on eight MI300X**: GEMM slowdowns {mi300x-8 others gemm},"
    " {mi300x-8 others wall count} wall times {mi300x-8 others wall}. Given measured isolated"
    " times, a constant learnt from the other rows has {mi300x-8 others wall constant} of these,"
    " the model {mi300x-8 others wall given}. Nothing was fitted to them, but they were looked at"
    " while mechanisms were chosen. All are all-reduces or stress kernels.",
    "**Published means on MI300X** (ConCCL, arXiv 2412.14335). What is not known about those runs,"
    " and the intervals of parameters, weighed by isolated times, leave a band of the mean fraction"
    " of ideal (100 %: the ideal with the collective on compute units, which DMA engines can pass);"
    " in brackets the published mean: {means}. {inside} of {known} published means lie inside. The"
    " published order of the strategies holds in {order} % of the draws; least often holds"
    " {weakest}.",
)


class Blind(NamedTuple):
    """Signed errors of wall times that were predicted before a run, and of the plain sum of what
    was measured alone.
    """

    plan: str
    model: Sequence[float]
    sum: Sequence[float]

    @property
    def words(self) -> str:
        """Both in one phrase, and that the sum was better where it was."""
        better = ", which is better" if _middle(self.sum) < _middle(self.model) else ""
        return f"{_middle(self.model):.1f} % off (sum {_middle(self.sum):.1f} %{better})"


def blind_walls() -> dict[str, Blind]:
    """Every blind run of several tasks or of whole iterations whose parts were measured alone."""
    found = {}
    for key, plan, file, records in (
        ("c3-2", "GEMM beside a collective, two H200", "h200-2-c3", "c3-run*"),
        ("c3-4", "the same, four H200", "h200-4-c3", "four-gpus-c3-run*"),
        ("loops-1", "loops of PyTorch, first plan", "h200-2-loops", "loops-run1*"),
        ("loops-2", "second plan", "h200-2-loops-2", "loops-2-run1*"),
        ("loops-3", "third plan, today's model", "h200-2-loops-3", "loops-3-run1*"),
    ):
        compared = errors(PREDICTIONS / f"{file}.jsonl", sorted(RECORDS.glob(f"{records}.jsonl")))
        found[key] = Blind(plan, compared[WALL], compared[SUM])
    for plan, file, run in (
        ("iterations, first plan", "iterations", "iterations-run1"),
        ("second plan", "iterations-2", "iterations-2-run1"),
        ("second plan, another machine", "iterations-2", "iterations-2-run2"),
        ("third plan", "iterations-3", "iterations-3-run1"),
    ):
        found[run] = _iterations(plan, file, run)
    return found


def _iterations(plan: str, file: str, run: str) -> Blind:
    """Walls beside computation alone plus communication alone."""
    modes: dict[str, dict[str, float]] = {}
    for line in lines(PREDICTIONS / f"h200-2-{run}.jsonl"):
        modes.setdefault(line["name"], {})[line["mode"]] = median(line["iterations_s"])
    said = {
        line["name"]: line["together_s"] for line in lines(PREDICTIONS / f"h200-2-{file}.jsonl")
    }
    return Blind(
        plan,
        [said[name] / times["together"] - 1 for name, times in modes.items()],
        [
            (times["compute"] + times["communication"]) / times["together"] - 1
            for times in modes.values()
        ],
    )


def _middle(values: Sequence[float]) -> float:
    return float(100 * np.median(np.abs(values)))


def _errors(values: Sequence[float]) -> str:
    return f"{_middle(values):.1f} % ({100 * np.quantile(np.abs(values), 0.9):.1f} %)"


def blind_table(blind: Mapping[str, Blind]) -> str:
    """The blind runs as Markdown."""
    rows = ["| predicted blind | runs | model | plain sum | better |", "|---|---:|---:|---:|---|"]
    for each in blind.values():
        best = "the sum" if _middle(each.sum) < _middle(each.model) else "the model"
        texts = (each.plan, str(len(each.model)), _errors(each.model), _errors(each.sum), best)
        rows.append(f"| {' | '.join(texts)} |")
    return "\n".join(rows)


def today() -> Iterator[tuple[str, str]]:
    """Figures of docs/validation.md by node, runs, metric and, but for the error itself, column."""
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text]
    start = next(at for at, row in enumerate(rows) if row[:2] == ["node", "runs"])
    for row in rows[start + 2 : rows.index([""], start)]:
        cells = dict(zip(rows[start], row, strict=True))
        name = f"{cells['node']} {cells['runs']} {cells['metric'].split()[0]}"
        yield name, f"{cells['median']} % ({cells['p90']} %)"
        yield f"{name} count", cells["cases"]
        yield from ((f"{name} {column}", f"{cells[column]} %") for column in COLUMNS)


def trust(answer: Mapping[str, Any], blind: Mapping[str, Blind]) -> str:
    """The lines of README.md that say how far to trust c3sim; *answer*: of the study conccl."""
    bands = answer["strategies"]
    means = ", ".join(
        f"{name} {percent(bands[name]['low'])} to {percent(bands[name]['high'])} %"
        f" ({percent(bands[name]['published'])} %)"
        for name in ("base", "sp", "conccl")
    )
    inside = [band["inside"] for band in bands.values()]
    weakest = min(answer["order"]["margins"], key=lambda margin: margin["holds"])
    figures = {
        "means": means,
        "inside": sum(inside),
        "known": len(inside),
        "order": percent(answer["order"]["holds"]),
        "weakest": f"{weakest['lower']} < {weakest['higher']} ({percent(weakest['holds'])} %)",
        **dict(today()),
        **{key: each.words for key, each in blind.items()},
    }
    items = [item.format_map(figures) for item in TRUST]
    # A hard space keeps a number and its % on one line.
    paragraphs = [
        textwrap.fill(
            f"- {item}".replace(" %", "\xa0%"), 118, subsequent_indent="  ", break_on_hyphens=False
        )
        for item in items
    ]
    return "\n".join(paragraphs).replace("\xa0", " ")


def output(command: str) -> str:
    """The output of ``c3sim`` *command*."""
    result = CliRunner().invoke(app, command.split())
    if result.exit_code:
        raise SystemExit(result.output)
    return result.stdout


def study_answer(pictures: bool) -> dict[str, Any]:
    """The answer of the study conccl as a band; with *pictures* its picture as well."""
    picture = f" --plot {ROOT / PICTURES / 'study-conccl.png'}" if pictures else ""
    found: dict[str, Any] = json.loads(output(f"study conccl --json{picture}"))["answer"]
    return found


def percent(share: float) -> str:
    return f"{100 * share:z.0f}"


def means_table(answer: Mapping[str, Any]) -> str:
    """The means of the study conccl as Markdown, in per cent."""
    lines = [
        "| strategy | as run | 5 % to 95 % | published | is | moved most by |",
        "|---|---:|---:|---:|---|---|",
    ]
    for name, band in answer["strategies"].items():
        most = band["most"]
        what = f"{most['name']}, {most['value']}: {100 * most['by']:+.0f} points"
        ends = f"{percent(band['low'])} to {percent(band['high'])}"
        verdict = "inside" if band["inside"] else "outside"
        shares = f"{percent(band['usual'])} | {ends} | {percent(band['published'])}"
        lines.append(f"| {name} | {shares} | {verdict} | {what} |")
    return "\n".join(lines)


def order_table(answer: Mapping[str, Any]) -> str:
    """The share of draws in which each pair of the published order holds, as Markdown."""
    lines = [
        "| published order | as run, points | 5 % to 95 % | holds in | moved most by |",
        "|---|---:|---:|---:|---|",
    ]
    for margin in answer["order"]["margins"]:
        most = margin["most"]
        what = f"{most['name']}, {most['value']}: {100 * most['by']:+.1f} points"
        ends = f"{100 * margin['low']:+.0f} to {100 * margin['high']:+.0f}"
        pair = f"{margin['lower']} < {margin['higher']}"
        usual, holds = f"{100 * margin['usual']:+.1f}", percent(margin["holds"])
        lines.append(f"| {pair} | {usual} | {ends} | {holds} % | {what} |")
    return "\n".join(lines)


def run_with_output() -> str:
    """The command of README.md with what it prints, up to the table of limits, as Markdown."""
    lines = [line.rstrip() for line in output(COMMAND).splitlines()]
    shown = lines[: lines.index(REST)] if REST in lines else lines
    return "\n".join(["```console", f"$ c3sim {COMMAND}", *shown, "```"])


def with_block(text: str, name: str, block: str) -> str:
    """*text* with *block* between the comments ``name:begin`` and ``name:end``."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, rest = text.split(begin)
    return f"{before}{begin}\n{block}\n{end}{rest.split(end)[1]}"


def draw() -> None:
    """The picture of the run, by the command that the page shows."""
    run = COMMAND.replace("explain", "run")
    output(f"{run} --plot {ROOT / PICTURES / 'timeline.png'}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Refresh the figures of README.md and gaps.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if out of date")
    parser.add_argument("--pictures", action="store_true", help="draw the pictures as well")
    parser.add_argument("--study", type=Path, help="what c3sim study conccl --out has written")
    arguments = parser.parse_args()
    blind = blind_walls()
    if arguments.study:
        answer = json.loads(arguments.study.read_text(encoding="utf-8")).get("answer")
    else:
        answer = study_answer(arguments.pictures)
    blocks = {
        "README.md": {"run": run_with_output()},
        "docs/predictions/README.md": {"blind": blind_table(blind)},
    }
    if answer is not None:
        blocks["README.md"]["trust"] = trust(answer, blind)
        blocks["docs/gaps.md"] = {"means": means_table(answer), "order": order_table(answer)}
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

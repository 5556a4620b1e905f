"""Write the figures of results that README.md and docs/gaps.md show, and the pictures beside them.

    python tools/readme_figures.py [--check]

Each figure stands in a block between two comments. With --check nothing is written, and the exit
code is 1 if a block is not what the models give now. Errors are those of docs/validation.md, which
a test keeps fresh. Pictures are not compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from c3sim.cli.app import app

ROOT = Path(__file__).parent.parent
PICTURES = "docs/img"
COMMAND = "explain gemm-beside-all-gather --strategy sp"
#: What README.md says, a point an item; figures in braces are filled in.
TRUST = (
    "**The rule.** Parameters come from data sheets and from runs of one task alone. Runs of a"
    " GEMM beside a collective are only predicted.",
    "**In the harness that ships here** a wall time is off by 3 to 5 %: on two H200"
    " {h200-2 wall}, on four {h200-4 wall}. Slowdowns of the GEMM are off by {h200-2 gemm} and"
    " {h200-4 gemm}. Errors are medians, with the 90th percentile in brackets.",
    "**Blind**, before the first such run, wall times were 4.6 % off on two H200 and 10.1 % on"
    " four. Mechanisms were added after these runs had been seen"
    " ([predictions](docs/predictions/README.md)).",
    "**Published runs on eight MI300X**: GEMM slowdowns {mi300x-8 gemm}, {mi300x-8 wall count}"
    " wall times {mi300x-8 wall}. Nothing was fitted to these rows, but they were looked at while"
    " mechanisms were chosen. All are all-reduces or stress kernels.",
    "**Where frameworks run processes and loops**, three times blind on two H200 (PyTorch, NCCL):"
    " wall times 3.0 % (9.0 %), in other shapes 3.3 % (12.3 %), and with today's model on another"
    " machine 2.5 % (9.0 %). There the plain sum of measured isolated times has 3.0 % where NCCL"
    " runs, the model 2.1 %. Before, rows of others on four GPUs were 22 % off; these, and MI300X"
    " in a framework's loops, have not been compared again.",
    "**Published means on MI300X** (ConCCL, arXiv 2412.14335). What is not known about those runs,"
    " and the intervals of parameters, leave a band of the mean fraction of ideal (100 %: the"
    " ideal with the collective on compute units, which DMA engines can pass); in brackets the"
    " published mean: {means}. {inside} of {known} published means lie inside, but bands as wide as"
    " these say little. The published order of the strategies holds in {order} % of the draws;"
    " least often holds {weakest}.",
)


def held_out() -> dict[str, str]:
    """Median and 90th percentile of the error, by node and metric, from docs/validation.md."""
    lines = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    start = next(at for at, row in enumerate(rows) if row[:2] == ["node", "metric"])
    figures = {}
    for row in rows[start + 2 : rows.index([""], start)]:
        cells = dict(zip(rows[start], row, strict=True))
        name = f"{cells['node']} {cells['metric'].split()[0]}"
        figures[name] = f"{cells['median %']} % ({cells['p90 %']} %)"
        figures[f"{name} count"] = cells["cases"]
    return figures


def trust(answer: Mapping[str, Any]) -> str:
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
        **held_out(),
    }
    items = [item.format(**figures) for item in TRUST]
    # A hard space keeps a number and its % on one line.
    paragraphs = [
        textwrap.fill(
            f"- {item}".replace(" %", "\xa0%"), 118, subsequent_indent="  ", break_on_hyphens=False
        )
        for item in items
    ]
    return "\n".join(paragraphs).replace("\xa0", " ")


def output(command: str) -> str:
    """What ``c3sim`` *command* prints."""
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
    """How often each pair of the published order holds, as Markdown."""
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
    """The command of README.md with what it prints, as Markdown."""
    lines = [line.rstrip() for line in output(COMMAND).splitlines()]
    return "\n".join(["```console", f"$ c3sim {COMMAND}", *lines, "```"])


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
    parser.add_argument("--no-study", action="store_true", help="leave out what a long study gives")
    arguments = parser.parse_args()
    blocks = {"README.md": {"run": run_with_output()}}
    if not arguments.no_study:
        answer = study_answer(arguments.pictures)
        blocks["README.md"]["trust"] = trust(answer)
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

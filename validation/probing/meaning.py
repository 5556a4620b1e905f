"""Findings of the steps of a plan beside the model, and what they would mean for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from textwrap import fill
from typing import TYPE_CHECKING, Any

from c3sim.kit.layout import show, stack

from .recorded import ratios
from .step import Outcome

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = 80
Found = dict[str, dict[str, float]]  # step -> metric -> median of measured over predicted


def spreads(record: Mapping[str, Any]) -> dict[str, float]:
    """Standard deviation over mean of a task's length: of the medians of ranks, between them, and
    of a rank's turns, the mean over ranks; empty: *record* is of no loop of ranks.
    """
    found: dict[str, float] = {}
    ranks = record.get("observed", {}).get("ranks", ())
    for task in ranks[0]["tasks"] if len(ranks) > 1 else ():
        turns = []
        for rank in ranks:
            times = rank["tasks"][task]
            turns.append([e - s for s, e in zip(times["start_us"], times["end_us"], strict=True)])
        middle = [median(each) for each in turns]
        found[f"{task}, spread of ranks"] = stdev(middle) / fmean(middle)
        if len(turns[0]) > 1:
            found[f"{task}, of turns"] = fmean([stdev(each) / fmean(each) for each in turns])
    return found


def found_beside_the_model(outcomes: Sequence[Outcome], node: str) -> Found:
    """Medians by step and metric of what was measured, over what is predicted on *node*; spreads of
    ranks and turns as they were measured.
    """
    found: Found = {}
    for each in outcomes:
        lines = [
            line
            for file in each.files
            if file.endswith(".jsonl")
            for line in Path(file).read_bytes().splitlines()
        ]
        medians = {metric: median(values) for metric, values in ratios(lines, node).items()}
        seen: dict[str, list[float]] = {}
        for line in lines:
            for name, value in spreads(json.loads(line)).items():
                seen.setdefault(name, []).append(value)
        medians |= {name: median(values) for name, values in seen.items()}
        if medians:
            found[each.step.name] = medians
    return found


def means_dict(outcomes: Sequence[Outcome], found: Found) -> list[dict[str, Any]]:
    """Plain data for ``--json``."""
    return [
        {
            "step": each.step.name,
            "measured_over_predicted": found.get(each.step.name, {}),
            "means": each.step.means,
        }
        for each in outcomes
        if each.step.means
    ]


def in_lines(text: str, begin: str) -> str:
    """*text* in lines of a narrow terminal, each behind *begin*."""
    return fill(text, COLUMNS, initial_indent=begin, subsequent_indent=begin + "  ")


def print_meaning(
    outcomes: Sequence[Outcome], found: Found, sent: Path, console: Console | None = None
) -> None:
    """Print what was found in each step that means something, and what that would mean; the file to
    send.
    """
    told = []
    for each in outcomes:
        if each.step.means:
            medians = found.get(each.step.name, {})
            said = ", ".join(f"{metric} {ratio:.3f}" for metric, ratio in medians.items())
            told.append(f"{each.step.name}: {said or 'not measured'}")
            told.append(in_lines(f"would mean: {each.step.means}", "  "))
    show(stack("measured / predicted, spreads: medians", *told, f"to send: {sent}"), console)

"""Records from the traces of all ranks of a loop.

Times of a turn count, on each rank, from the start of its first kernel there. A record has the
median over the turns, of the slowest rank of each; the first turn is left out. Isolated times are
the medians of loops of one task alone among the same traces, again of the slowest rank.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ..collector import Collector, us
from ..result import Given, ImportResult, LoopTrace
from .workload import ROLES, loop_workload

SKIPPED = 1  # turns before the steady state

Ranks = Sequence[LoopTrace]  # of one loop, in order of rank


def records_of_loops(traces: Sequence[LoopTrace], given: Given) -> ImportResult:
    """One record per loop whose ranks are all there."""
    collector = Collector("loops", given)
    loops: dict[tuple[str, str], list[LoopTrace]] = {}
    for trace in traces:
        loops.setdefault((trace.about["name"], trace.about["mode"]), []).append(trace)
    whole: list[list[LoopTrace]] = []
    for (name, mode), ranks in loops.items():
        ranks.sort(key=lambda trace: int(trace.about["rank"]))
        if [trace.about["rank"] for trace in ranks] == list(range(ranks[0].about["ranks"])):
            whole.append(ranks)
        else:
            there = ", ".join(str(trace.about["rank"]) for trace in ranks)
            collector.leave_out(
                f"loop {name}, {mode}", f"ranks {there} of {ranks[0].about['ranks']} are there"
            )
    alone = {
        json.dumps(task, sort_keys=True): _alone(ranks, role)
        for ranks in whole
        if len(ranks[0].turns) == 1
        for role, task in ranks[0].about["tasks"].items()
    }
    for ranks in whole:
        _add(collector, ranks, alone)
    return collector.result()


def _alone(ranks: Ranks, role: str) -> float:
    """Time [us] of a task in a loop of its own, on the slowest rank."""
    return max(median(end - start for start, end in rank.turns[role][SKIPPED:]) for rank in ranks)


def _add(collector: Collector, ranks: Ranks, alone: Mapping[str, float]) -> None:
    first = ranks[0]
    tasks = first.about["tasks"]
    isolated = {
        ROLES.get(role, role): us(alone[key])
        for role, task in tasks.items()
        if (key := json.dumps(task, sort_keys=True)) in alone
    }
    measured: dict[str, Any] = {"isolated": isolated}
    more: dict[str, Any] = {}
    if len(tasks) > 1:
        ends, starts, walls = _times(ranks)
        measured |= {
            "wall_us": us(median(walls)),
            "tasks": {
                ROLES.get(role, role): {
                    "time_us": us(median(ends[role])),
                    "start_us": us(median(starts[role])),
                }
                for role in tasks
            },
        }
        more = {
            "sets": {"wall": {"times_us": [us(wall) for wall in walls]}},
            "observed": {"first": _first(ranks), "skew_us": us(median(_skews(ranks)))},
        }
    collector.add(
        suite="loops" if len(tasks) > 1 else "loops_isolated",
        workload=loop_workload(first.about, first.backend),
        measured=measured,
        software=first.software,
        facts=first.facts,
        samples=first.about["turns"] - SKIPPED,
        note="medians over turns of the slowest rank, from the start of a rank's first kernel",
        gpus=first.about["ranks"],
        more=more,
    )


def _begins(ranks: Ranks, turn: int) -> list[float]:
    return [min(spans[turn][0] for spans in rank.turns.values()) for rank in ranks]


def _counted(ranks: Ranks) -> range:
    return range(SKIPPED, ranks[0].about["turns"])


def _times(ranks: Ranks) -> tuple[dict[str, list[float]], dict[str, list[float]], list[float]]:
    """Per turn, of the slowest rank: ends and starts of each task, and the wall time [us]."""
    roles = list(ranks[0].turns)
    ends: dict[str, list[float]] = {role: [] for role in roles}
    starts: dict[str, list[float]] = {role: [] for role in roles}
    walls = []
    for turn in _counted(ranks):
        begins = _begins(ranks, turn)
        for role in roles:
            spans = [rank.turns[role][turn] for rank in ranks]
            ends[role].append(max(s[1] - begin for s, begin in zip(spans, begins, strict=True)))
            starts[role].append(max(s[0] - begin for s, begin in zip(spans, begins, strict=True)))
        walls.append(max(ends[role][-1] for role in roles))
    return ends, starts, walls


def _skews(ranks: Ranks) -> list[float]:
    """Time [us] between the first and the last rank's begin of each turn."""
    begins = [_begins(ranks, turn) for turn in _counted(ranks)]
    return [max(each) - min(each) for each in begins]


def _first(ranks: Ranks) -> list[list[str]]:
    """Per turn, the task that came first on each rank."""
    return [
        [min(rank.turns, key=lambda role: rank.turns[role][turn][0]) for rank in ranks]
        for turn in _counted(ranks)
    ]

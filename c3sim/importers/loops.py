"""One rank's trace of a loop: when each task of each turn ran."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from c3sim.importers.collector import Collector, us
from c3sim.importers.kineto import is_amd, origin_of
from c3sim.importers.partial_json import read_members
from c3sim.importers.result import Format, Given, ImportResult, LoopTrace, json_with
from c3sim.importers.trace_events import category_of
from c3sim.importers.traces import classify
from c3sim.importers.values import as_float

NEEDED = ("name", "mode", "tasks", "order", "turns", "rank", "ranks")


def read(text: str, given: Given) -> ImportResult:
    """No record: those need the traces of all ranks (loops/records.py)."""
    collector = Collector("loop", given)
    document, events, fault = read_members(text, "traceEvents")
    if fault is not None:
        collector.broken(fault.message, fault.line)
        return collector.result()
    about = (document or {}).get("loop")
    if not isinstance(about, Mapping) or (lacks := [key for key in NEEDED if key not in about]):
        collector.broken(f"loop lacks {', '.join(lacks or NEEDED)}")
        return collector.result()
    turns = _turns(events, about)
    for role, spans in turns.items():
        if len(spans) != about["turns"]:
            collector.broken(f"{role}: {len(spans)} kernels in {about['turns']} turns")
            return collector.result()
    backend = "rccl" if is_amd(document or {}, events) else "nccl"
    origin = origin_of(document or {}, backend)
    trace = LoopTrace(
        about=about,
        turns=turns,
        software=origin.software,
        facts=f"{about['ranks']} GPUs",
        backend=backend,
    )
    return ImportResult(format=collector.format, loops=(trace,))


def _turns(events: Sequence[Any], about: Mapping[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """By role of the loop's tasks, in order of time."""
    found: dict[str, list[tuple[float, float]]] = {role: [] for role in about["tasks"]}
    for event in events:
        role = _role(event, about["tasks"])
        if role:
            start = as_float(event["ts"])
            found[role].append((start, start + as_float(event["dur"])))
    whole = {role: sorted(spans) for role, spans in found.items()}
    for role, task in about["tasks"].items():
        if task.get("by") == "engines":
            whole[role] = _by_turn(whole[role], about["turns"])
    return whole


def _by_turn(spans: list[tuple[float, float]], turns: int) -> list[tuple[float, float]]:
    """One span for each turn, if each turn has the same number of *spans*: copies of one
    collective.
    """
    each = len(spans) // turns
    if each < 2 or len(spans) % turns:
        return spans
    groups = [spans[first : first + each] for first in range(0, len(spans), each)]
    return [(group[0][0], max(end for _, end in group)) for group in groups]


def _role(event: Any, tasks: Mapping[str, Mapping[str, Any]]) -> str:
    """The role of the task that a kernel or a copy belongs to; empty: none."""
    if not isinstance(event, dict):
        return ""
    category, name = category_of(event), str(event.get("name", ""))
    on_engines = category == "gpu_memcpy"
    if not on_engines and category != "kernel":
        return ""
    seen = classify(name)
    for role, task in tasks.items():
        kind = task["kind"]
        if on_engines:
            if kind in ("copy", "peer") or task.get("by") == "engines":
                return role
        elif kind == "stream":
            if seen.kind == "other" and "elementwise" in name:
                return role
        elif kind == seen.kind and seen.op in (None, task.get("op")):
            return role
    return ""


# Records from the traces of all ranks of a loop.
#
# Times of a turn count, on each rank, from the start of its first kernel there. A record has the
# median over the turns, of the slowest rank of each; the first turn is left out. Isolated times are
# the medians of loops of one task alone among the same traces, again of the slowest rank.


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
    """Time [us] of a task in a loop of its own, on the slowest rank. Of a collective on engines
    from one turn to the next: its barriers are no events of a trace.
    """
    if ranks[0].about["tasks"][role].get("by") == "engines":
        return max(median(_periods(rank.turns[role][SKIPPED:])) for rank in ranks)
    return max(median(end - start for start, end in rank.turns[role][SKIPPED:]) for rank in ranks)


def _periods(spans: Sequence[tuple[float, float]]) -> list[float]:
    return [after[0] - before[0] for before, after in pairwise(spans)]


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


# The turn of a loop, as a workload: ``loop`` of a trace (validation/frameworks/turns.py).


MIB = 1 << 20
#: [s] How far apart processes leave a barrier of the host. A condition of the measurement, not a
#: part of the model: the first kernels of two ranks are 14 to 44 us apart (skew_us of the barrier
#: loops in validation/data/h200/loops-run1.jsonl); in the mean, two ranks are a third of it apart.
BARRIER_JITTER = 100e-6
ROLES = {"peer": "copy"}  # of the driver's tasks that have another name in workloads


def loop_workload(loop: Mapping[str, Any], backend: str = "nccl") -> dict[str, Any]:
    """The workload of a trace's ``loop``: case, mode, tasks by role, order, turns."""
    barrier = loop["mode"] == "barrier"
    host: dict[str, Any] = {
        "release": "host" if barrier else "per_rank",
        "loop": {"iterations": loop["turns"], "barrier": barrier},
        "order": [ROLES.get(role, role) for role in loop["order"]],
    }
    if barrier:
        host |= {"jitter": BARRIER_JITTER, "profile": "framework"}
    tasks = {ROLES.get(role, role): _task(task, backend) for role, task in loop["tasks"].items()}
    if loop["mode"] == "serial":
        for task in tasks.values():
            task["stream"] = "control"
    if loop["mode"] == "async" and host["order"][0] == "gemm":
        for name in set(tasks) - {"gemm"}:  # it waits for all that its stream has launched before
            tasks[name]["after"] = ["gemm"]
    return {"schema": 1, "name": f"{loop['name']}, {loop['mode']}", "tasks": tasks, "host": host}


def _task(task: Mapping[str, Any], backend: str) -> dict[str, Any]:
    kind = task["kind"]
    if kind == "gemm":
        shape = {axis: task[axis] for axis in ("m", "n", "k")}
        return {"kind": "gemm", **shape, "inputs": "warm", "data": "random"}
    size = task["mib"] * MIB
    if kind == "collective":
        symmetric = task.get("by") == "symmetric"  # kernels between buffers of symmetric memory
        named = ("channels", "group", "stride", *(() if symmetric else ("by",)))
        how: dict[str, Any] = {"backend": backend + "_symmetric" * symmetric}
        how |= {key: task[key] for key in named if key in task}
        gathers = task["op"] == "all_gather" and not task.get("in_place")
        if gathers or ("by" in task and task["op"] == "all_to_all"):
            how["out_of_place"] = True
        return {"kind": "collective", "op": task["op"], "size": size, **how}
    if kind == "stream":
        return {"kind": "stream", "pattern": task["pattern"], "bytes": size, "inputs": "warm"}
    if kind == "copy":
        return {"kind": "copy", "bytes": size, "destination": "gpu", "gpus": "all"}
    pull = {"source": "peer", "destination": "gpu"} if task["direction"] == "pull" else {}
    return {"kind": "copy", "bytes": size, "gpus": "all", "mapping": "ipc", **pull}


def _is_loop(text: str) -> bool:
    return json_with("traceEvents")(text) and re.search(r'"loop"\s*:\s*\{', text) is not None


FORMATS = (Format("loops", 10, _is_loop, read),)

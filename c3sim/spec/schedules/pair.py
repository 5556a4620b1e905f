"""The collective and the GEMM that a schedule is about, and whether they can be split so."""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Collective, Gemm, Schedule, Workload, parse_after

WHERE = "schedule"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """*feeds*: the collective comes first and feeds the GEMM; else the GEMM feeds it."""

    collective: str
    gemm: str
    move: Collective
    work: Gemm
    feeds: bool
    ranks: int
    schedule: Schedule

    @property
    def first(self) -> str:
        return self.collective if self.feeds else self.gemm

    @property
    def across(self) -> str:
        """The other extent that 2d pieces have a part of."""
        along = self.schedule.along
        if self.feeds:
            return "k" if along != "k" else "m"
        return "n" if along != "n" else "m"

    @property
    def by_engines(self) -> bool:
        return self.move.backend == "dma"

    @property
    def adds(self) -> bool:
        """True if engines scatter and a kernel adds, as engines only copy."""
        return self.move.scattered


KINDS: set[type] = {Gemm, Collective}


def pairs_of(workload: Workload) -> list[tuple[str, str]]:
    """Every collective and GEMM of which one waits for the other: who waits, and for whom."""
    return [
        (name, before)
        for name, task in workload.tasks.items()
        for before in dict.fromkeys(_befores(workload, name))
        if {type(task), type(workload.tasks[before])} == KINDS
    ]


def find_pair(workload: Workload, node: Node) -> Pair:
    """Raises InputError where there is not exactly one pair, or where it cannot be split."""
    schedule = workload.schedule
    assert schedule is not None  # the caller asks only then
    found = pairs_of(workload)
    if len(found) != 1:
        message = f"got {len(found)} pairs of a collective and a GEMM of which one waits for"
        raise InputError(f"{message} the other; a schedule needs one", WHERE)
    second, first = found[0]
    feeds = isinstance(workload.tasks[first], Collective)
    collective, gemm = (first, second) if feeds else (second, first)
    move, work = workload.tasks[collective], workload.tasks[gemm]
    assert isinstance(move, Collective) and isinstance(work, Gemm)
    pair = Pair(
        collective=collective,
        gemm=gemm,
        move=move,
        work=work,
        feeds=feeds,
        ranks=node.ranks,
        schedule=schedule,
    )
    for problem in (_task_problem(pair), _form_problem(pair), _size_problem(pair)):
        if problem:
            raise InputError(problem, WHERE)
    return pair


def _befores(workload: Workload, name: str) -> list[str]:
    """Tasks that task *name* waits for by ``after``."""
    return [parse_after(text).task for text in workload.tasks[name].after]


def _task_problem(pair: Pair) -> str:
    """Problem of the two tasks themselves; empty where there is none."""
    if pair.work.batch > 1:
        return f"{pair.gemm!r} is a batch of {pair.work.batch} GEMMs; only one can be split"
    for name, task in ((pair.gemm, pair.work), (pair.collective, pair.move)):
        if task.repeat > 1:
            return f"{name!r} repeats {task.repeat} times; pieces are of one run"
    if pair.move.chunks > 1:
        return f"{pair.collective!r} has chunks of its own; give chunks or a schedule"
    if pair.ranks < 2:
        return f"a collective on {pair.ranks} GPU; needs a node of at least 2"
    return ""


def _form_problem(pair: Pair) -> str:
    """Problem of kind, shape, steps and streams together; empty where there is none."""
    schedule, op = pair.schedule, pair.move.op
    plain = schedule.steps == "uniform" and schedule.fused
    if not pair.feeds and schedule.along == "k":
        return "parts of K are no parts of a result that can be sent; allowed along: m, n"
    if problem := _kind_problem(pair):
        return problem
    if schedule.kind == "micro_pipeline":
        return _operator_problem(pair)
    if schedule.kind == "shards" and op not in ("all_gather", "all_to_all"):
        return f"{op} has no shards that move as they are; allowed: all_gather, all_to_all"
    if op == "all_reduce" and not plain:
        return "every rank has a part in all of an all_reduce; needs steps uniform, fused true"
    if op == "reduce_scatter" and not plain and not pair.by_engines:
        return (
            f"{pair.collective!r} adds every rank's own piece; needs steps uniform, fused true,"
            " or backend dma"
        )
    if op == "reduce_scatter" and pair.feeds:
        return "a reduce_scatter leaves each rank a part; it feeds no GEMM piece by piece"
    if op == "all_gather" and not pair.feeds:
        return "an all_gather behind a GEMM sends all of its result; only one in front is split"
    apart = schedule.shape == "2d" and not schedule.fused and schedule.along != "k"
    added = pair.feeds and (schedule.along == "k" or schedule.shape == "2d")
    if schedule.streams > 1 and added and not apart:
        return f"{schedule.streams} streams; pieces of K add to one result one after the other"
    return ""


def _operator_problem(pair: Pair) -> str:
    """Problem of a pair that is to run as one of the framework's operators."""
    if pair.move.op != ("all_gather" if pair.feeds else "reduce_scatter"):
        return (
            f"the framework has no such operator for {pair.move.op}; allowed: all_gather in front"
            " of a GEMM, reduce_scatter behind one"
        )
    if not pair.by_engines:
        return f"copy engines move the shards; {pair.collective!r} needs backend dma"
    if pair.schedule.along != "m":
        return f"shards are rows; got along {pair.schedule.along}"
    return ""


def _kind_problem(pair: Pair) -> str:
    """Problem of fields that a kind does not know."""
    schedule, given = pair.schedule, pair.schedule.model_fields_set
    others = {"shape", "steps", "fused", "pieces", "streams"}
    what = {
        "shards": "whole shards move, one after the other",
        "micro_pipeline": "whole shards move, one after the other",
        "tiles": "the GEMM stays whole",
    }.get(schedule.kind)
    if schedule.kind != "tiles":
        others = (others if what else set()) | {"order", "posted"}
    if found := ", ".join(sorted(others & given)):
        return f"{what or 'a GEMM in pieces has no tiles to wait for'}; leave out {found}"
    if schedule.kind != "tiles":
        return ""
    if pair.feeds:
        return "tiles release what comes behind a GEMM; needs the collective behind it"
    if pair.move.op not in ("reduce_scatter", "all_to_all"):
        return f"tiles of {pair.move.op} belong to every rank; allowed: reduce_scatter, all_to_all"
    if not pair.by_engines:
        return "tiles release copies by engines; needs backend dma"
    return ""


def _size_problem(pair: Pair) -> str:
    """Problem of extents that do not divide into whole pieces."""
    schedule, ranks = pair.schedule, pair.ranks
    if schedule.kind == "tiles":
        return ""
    shards = schedule.kind != "pieces"
    steps = 1 if shards else schedule.pieces
    flat = schedule.shape == "1d"
    cuts: dict[str, int] = {schedule.along: ranks * steps if flat else ranks}
    if not flat:
        cuts[pair.across] = steps
    for name, parts in cuts.items():
        extent = getattr(pair.work, name)
        if extent % parts:
            of = [f"{ranks} shards"] * (name == schedule.along)
            of += [f"{steps} pieces"] * (steps > 1 and parts != ranks)
            into = " of ".join(of)
            return f"{name} = {extent} of {pair.gemm!r} is no multiple of {parts} ({into})"
    return ""


def whole(workload: Workload) -> Workload:
    """*workload* with its pair in one piece. Engines do not add, so their reduce-scatter is a
    schedule of one piece: they scatter and a kernel adds.
    """
    tasks = workload.tasks.values()
    adds = any(isinstance(task, Collective) and task.scattered for task in tasks)
    schedule = Schedule.model_validate({"pieces": 1}) if adds else None
    return workload.changed(schedule=schedule)

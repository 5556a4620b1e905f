"""The strategies of C3 that the field compares, each a pure rewrite of a workload into candidates.

    base          compute kernels launched first, collectives on compute units by their library
    sp            schedule prioritisation: the kernel with fewer workgroups launched first
    rp            resource partitioning: some CUs for the collective, the others for compute kernels
    sp_rp         both
    conccl        collectives on DMA engines; reductions stay where engines cannot reduce
    conccl_rp     conccl, one CU per die withheld from memory-bound GEMMs
    conccl_latte  conccl, with the variant and prelaunch that isolated times recommend
    auto          what two heuristics recommend from isolated times

Every strategy but ``as_written`` rewrites the baseline: backend, order, priorities and masks of the
input do not matter to it; channels asked for do. Where there are several candidates (``rp`` without
a number), the one with the shortest simulated wall time is the strategy's (best.py). A number is
given after a colon: ``rp:32``.

Source: "Optimizing ML Concurrent Computation and Communication with GPU DMA Engines", arXiv
2412.14335. The variants: "Expanding the Reach of DMA Offloads to Latency-bound ML Communication",
arXiv 2511.06605.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from c3sim.errors import InputError
from c3sim.evaluation.strategies.dma_variants import (
    as_variants,
    recommended_variants,
    with_variants,
)
from c3sim.evaluation.strategies.heuristics import others, recommend
from c3sim.evaluation.strategies.rewrites import (
    baseline,
    collectives,
    compute_tasks,
    memory_bound_streams,
    movable,
    on_dma,
    on_engines,
    prioritised,
    reserved,
    splits,
    withheld,
)
from c3sim.simulation.run import Run
from c3sim.simulation.runs import each_alone, isolated, run_alone, run_once
from c3sim.spec.hardware import Node
from c3sim.spec.schedules import expanded
from c3sim.spec.words import alias, unknown
from c3sim.spec.workload import Workload

ROUNDING = 1e-9  # of a time


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rewritten workload; *name* is the strategy with its number, *detail* what led to it."""

    name: str
    workload: Workload
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Strategy:
    """*rewrite(workload, node, number)* gives a candidate; *workload* is the baseline unless
    *as_written*, *number* one of those to try of a *numbered* strategy, else 0.
    """

    rewrite: Callable[[Workload, Node, int], Candidate]
    help: str
    numbered: bool = False
    as_written: bool = False
    needs_collective: bool = False


def _as_written(workload: Workload, _node: Node, _number: int) -> Candidate:
    return Candidate("as_written", workload)


def _base(base: Workload, _node: Node, _number: int) -> Candidate:
    return Candidate("base", base)


def _sp(base: Workload, node: Node, _number: int) -> Candidate:
    return Candidate("sp", prioritised(base, node))


def _rp(base: Workload, node: Node, count: int) -> Candidate:
    return Candidate(f"rp:{count}", reserved(base, node, count))


def _sp_rp(base: Workload, node: Node, count: int) -> Candidate:
    return Candidate(f"sp_rp:{count}", prioritised(reserved(base, node, count), node))


def _conccl(base: Workload, node: Node, _number: int) -> Candidate:
    return Candidate("conccl", on_dma(base, node))


def _conccl_rp(base: Workload, node: Node, _number: int) -> Candidate:
    moved = on_dma(base, node)
    return Candidate("conccl_rp", withheld(moved, node, memory_bound_streams(moved, node)))


def _conccl_latte(base: Workload, node: Node, _number: int) -> Candidate:
    moved = on_dma(base, node)
    recommended = recommended_variants(moved, node)
    detail = {
        "variants": {name: variant.name for name, variant in recommended.variants.items()},
        "alone_s": {name: dict(times) for name, times in recommended.alone.items()},
    }
    return Candidate("conccl_latte", with_variants(moved, recommended.variants), detail)


def _auto(base: Workload, node: Node, _number: int) -> Candidate:
    if not (compute_tasks(base) and collectives(base)):
        return Candidate("base", base, {"chosen": "base"})
    recommended = recommend(base, node, splits(node))
    strategy, (number,) = _parsed(recommended.strategy, node)
    detail = {"chosen": recommended.strategy, "estimated_s": dict(recommended.estimates)}
    return replace(strategy.rewrite(base, node, number), detail=detail)


STRATEGIES: dict[str, Strategy] = {
    "as_written": Strategy(_as_written, "the workload as it is", as_written=True),
    "base": Strategy(_base, "compute kernels launched first, collectives on compute units"),
    "sp": Strategy(_sp, "schedule prioritisation: the kernel with fewer workgroups launched first"),
    "rp": Strategy(
        _rp,
        "CUs reserved for the collective: rp:32, or the best of 1 to 16 per die",
        numbered=True,
        needs_collective=True,
    ),
    "sp_rp": Strategy(
        _sp_rp,
        "sp and rp together: sp_rp:32, or the best of 1 to 16 per die",
        numbered=True,
        needs_collective=True,
    ),
    "conccl": Strategy(
        _conccl,
        "collectives on DMA engines: all_gather and all_to_all; reductions where engines can",
        needs_collective=True,
    ),
    "conccl_rp": Strategy(
        _conccl_rp,
        "conccl, and one CU per die withheld from memory-bound GEMMs",
        needs_collective=True,
    ),
    "conccl_latte": Strategy(
        _conccl_latte,
        "conccl, with the DMA variant and prelaunch that isolated times recommend",
        needs_collective=True,
    ),
    "auto": Strategy(
        _auto,
        "chosen by heuristics from isolated times; the loss against the best choice is reported",
    ),
}


def strategy_name(name: str) -> str:
    """The strategy that *name* stands for: ``base`` for ``rccl``; any other name as it is."""
    return alias(name, "strategy", STRATEGIES)


def unknown_strategy(name: str) -> str:
    """The reason that *name*, ``sp`` or ``rp:32``, is no strategy; empty if it is one."""
    known = strategy_name(name).partition(":")[0] in STRATEGIES
    return "" if known else unknown("strategy", name, STRATEGIES)


def candidates_of(name: str, workload: Workload, node: Node) -> tuple[Candidate, ...]:
    """The candidates of strategy *name* (``sp``, ``rp:32``). Raises InputError."""
    strategy, numbers = _parsed(name, node)
    workload = expanded(workload, node)
    if strategy.needs_collective and not collectives(workload):
        word = name.partition(":")[0]
        has_none = f"workload {workload.name!r} has none"
        raise InputError(f"strategy {word!r} needs a collective; {has_none}")
    base = workload if strategy.as_written else baseline(workload, node)
    return tuple(strategy.rewrite(base, node, number) for number in numbers)


def chooses(name: str) -> bool:
    """True if strategy *name* chooses by runs."""
    word, colon, _ = strategy_name(name).partition(":")
    numbered = word in STRATEGIES and STRATEGIES[word].numbered
    return word in ("auto", "conccl_latte") or (numbered and not colon)


def ask_ahead(name: str, workload: Workload, node: Node) -> None:
    """Ask for the runs by which strategy *name* chooses, before a figure of one is read (within
    :func:`c3sim.simulation.later.side_by_side`). Raises InputError.
    """
    word = strategy_name(name).partition(":")[0]
    if not chooses(name):
        return
    if word in ("auto", "conccl_latte"):
        base = baseline(workload, node)
        for way in (base, *others(base, node, splits(node)).values()) if word == "auto" else ():
            each_alone(node, way)
        if word == "conccl_latte" and movable(base, node):
            moved = on_dma(base, node)
            for collective in on_engines(moved):
                for way in as_variants(moved, node, collective).values():
                    run_alone(node, way, collective)
        return
    candidates = candidates_of(name, workload, node)
    if not _least(candidates[0].workload, node):
        for candidate in candidates:
            run_once(node, candidate.workload)


def exhaustive(workload: Workload, node: Node) -> tuple[Candidate, ...]:
    """The candidates that ``auto`` is compared with: all that apply and need no isolated times."""
    candidates: list[Candidate] = []
    for name in STRATEGIES:
        if name not in ("as_written", "auto", "conccl_latte"):
            try:
                candidates += candidates_of(name, workload, node)
            except InputError:
                continue  # cannot apply: nothing to compare with
    return tuple(candidates)


def _parsed(name: str, node: Node) -> tuple[Strategy, tuple[int, ...]]:
    """The strategy, and the numbers to try: the one that *name* gives, else those of the node."""
    if mistake := unknown_strategy(name):
        raise InputError(mistake)
    name = strategy_name(name)
    word, colon, text = name.partition(":")
    strategy, limit = STRATEGIES[word], node.gpu.compute_unit_count - 1
    if not colon:
        return strategy, splits(node) if strategy.numbered else (0,)
    if not strategy.numbered:
        raise InputError(f"strategy {name!r}: {word} takes no number; write {word!r}")
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= limit):
        given = f"{text!r} compute units" if text else "no number behind the colon"
        raise InputError(f"strategy {name!r}: {given}; must be 1 to {limit}, as in '{word}:32'")
    return strategy, (int(text),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Best:
    """The best *candidate*, its *run*, and the *names* of all candidates."""

    candidate: Candidate
    run: Run
    names: Sequence[str]

    @property
    def workload(self) -> Workload:
        return self.candidate.workload


def best_candidate(strategy: str, workload: Workload, node: Node, *, energy: bool = True) -> Best:
    """The best candidate of *strategy*, the first of them on a tie; *energy*: of its run as well.
    Raises InputError.
    """
    candidates = candidates_of(strategy, workload, node)
    best, run = _quickest(candidates, node, energy=energy)
    return Best(candidate=best, run=run, names=[candidate.name for candidate in candidates])


def _quickest(
    candidates: Sequence[Candidate], node: Node, *, energy: bool
) -> tuple[Candidate, Run]:
    """The candidate that ends first, with its run. None is run that takes longer by its collective
    alone than another does: of five splits one or two are left. Those with most units for that come
    first, most often the best.
    """
    best: tuple[Candidate, Run] | None = None
    for candidate in reversed(candidates):
        if best is not None and _least(candidate.workload, node) > best[1].end:
            continue
        run = run_once(node, candidate.workload, energy=energy)
        if best is None or run.end <= best[1].end:
            best = candidate, run
    assert best is not None  # a strategy has candidates
    return best


def _least(workload: Workload, node: Node) -> float:
    """Time [s] that *workload* takes at least, that of its collective alone; 0: it has several, or
    its GPUs are not released together, once.
    """
    names, host = collectives(workload), workload.host
    if len(names) != 1 or host.release != "event" or host.loop is not None:
        return 0.0
    return isolated(node, workload, names[0]).end * (1.0 - ROUNDING)


def best_workload(strategy: str, workload: Workload, node: Node) -> Workload:
    """Workload of the best candidate, without a run where there is only one. Raises InputError."""
    candidates = candidates_of(strategy, workload, node)
    if len(candidates) == 1:
        return candidates[0].workload
    return best_candidate(strategy, workload, node).workload

"""The strategies of C3 that the field compares, each a pure rewrite of a workload into one or more
candidates.

    base       compute kernels launched first, collectives on compute units by their library
    sp         schedule prioritisation: the kernel with fewer workgroups launched first
    rp         resource partitioning: some CUs for the collective, the others for the compute kernels
    sp_rp      both
    conccl     collectives on DMA engines
    conccl_rp  conccl, one CU per die withheld from memory-bound GEMMs
    conccl_latte  conccl, with the variant and prelaunch that isolated times recommend (strategies/dma_variants.py)
    auto       what two heuristics choose from isolated times

Every strategy but ``as_written`` starts from ``base``: backend, order, priorities and masks of the input do not
matter to it; channels asked for do. Where there are several candidates (``rp`` without a number), the one with the
shortest simulated wall time is the strategy's. A number is given after a colon: ``rp:32``.

Source: "Optimizing ML Concurrent Computation and Communication with GPU DMA Engines", arXiv 2412.14335. The variants:
"Expanding the Reach of DMA Offloads to Latency-bound ML Communication", arXiv 2511.06605.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.strategies import heuristics
from c3sim.strategies.dma_variants import recommended_variants, with_variants
from c3sim.strategies.masks import memory_bound_streams, reserved, splits, withheld
from c3sim.strategies.rewrites import baseline, collectives, compute_tasks, on_dma, prioritised


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rewritten workload; *name* is the strategy with its number, *detail* what led to it."""

    name: str
    workload: Workload
    detail: Mapping[str, Any] = field(default_factory=dict)


Rewrite = Callable[[Workload, Node, int | None], tuple[Candidate, ...]]


@dataclass(frozen=True, slots=True)
class Strategy:
    """*rewrite(workload, node, number)*; *numbered*: whether a number may follow the name."""

    rewrite: Rewrite
    help: str
    numbered: bool = False

    def __call__(
        self, workload: Workload, node: Node, number: int | None = None
    ) -> tuple[Candidate, ...]:
        return self.rewrite(workload, node, number)


def _base(workload: Workload, node: Node, _number: int | None) -> tuple[Candidate, ...]:
    return (Candidate("base", baseline(workload, node)),)


def _sp(workload: Workload, node: Node, _number: int | None) -> tuple[Candidate, ...]:
    return (Candidate("sp", prioritised(baseline(workload, node), node)),)


def _rp(workload: Workload, node: Node, number: int | None) -> tuple[Candidate, ...]:
    base = baseline(workload, node)
    counts = splits(node) if number is None else (number,)
    return tuple(Candidate(f"rp:{count}", _reserved("rp", base, node, count)) for count in counts)


def _sp_rp(workload: Workload, node: Node, number: int | None) -> tuple[Candidate, ...]:
    base = baseline(workload, node)
    counts = splits(node) if number is None else (number,)
    return tuple(
        Candidate(f"sp_rp:{count}", prioritised(_reserved("sp_rp", base, node, count), node))
        for count in counts
    )


def _conccl(workload: Workload, node: Node, _number: int | None) -> tuple[Candidate, ...]:
    _need_collective("conccl", workload)
    return (Candidate("conccl", on_dma(baseline(workload, node), node)),)


def _conccl_rp(workload: Workload, node: Node, _number: int | None) -> tuple[Candidate, ...]:
    _need_collective("conccl_rp", workload)
    moved = on_dma(baseline(workload, node), node)
    return (Candidate("conccl_rp", withheld(moved, node, memory_bound_streams(moved, node))),)


def _conccl_latte(workload: Workload, node: Node, _number: int | None) -> tuple[Candidate, ...]:
    _need_collective("conccl_latte", workload)
    moved = on_dma(baseline(workload, node), node)
    choice = recommended_variants(moved, node)
    detail = {
        "variants": {name: variant.name for name, variant in choice.variants.items()},
        "alone_s": {name: dict(times) for name, times in choice.alone.items()},
    }
    return (Candidate("conccl_latte", with_variants(moved, choice.variants), detail),)


def _auto(workload: Workload, node: Node, _number: int | None) -> tuple[Candidate, ...]:
    base = baseline(workload, node)
    if not (compute_tasks(base) and collectives(base)):
        return (Candidate("base", base, {"chosen": "base"}),)
    choice = heuristics.choose(base, node, splits(node))
    (found,) = candidates_of(choice.strategy, workload, node)
    detail = {"chosen": choice.strategy, "estimated_s": dict(choice.estimates)}
    return (Candidate(found.name, found.workload, detail),)


STRATEGIES: dict[str, Strategy] = {
    "as_written": Strategy(
        lambda workload, _node, _number: (Candidate("as_written", workload),),
        "the workload as it is",
    ),
    "base": Strategy(_base, "compute kernels launched first, collectives on compute units"),
    "sp": Strategy(_sp, "schedule prioritisation: the kernel with fewer workgroups launched first"),
    "rp": Strategy(
        _rp, "CUs reserved for the collective: rp:32, or the best of 1 to 16 per die", numbered=True
    ),
    "sp_rp": Strategy(
        _sp_rp, "sp and rp together: sp_rp:32, or the best of 1 to 16 per die", numbered=True
    ),
    "conccl": Strategy(
        _conccl,
        "collectives on DMA engines (all_gather and all_to_all; reductions where engines can)",
    ),
    "conccl_rp": Strategy(
        _conccl_rp, "conccl, and one CU per die withheld from memory-bound GEMMs"
    ),
    "conccl_latte": Strategy(
        _conccl_latte, "conccl, with the DMA variant and prelaunch that isolated times recommend"
    ),
    "auto": Strategy(
        _auto,
        "chosen by heuristics from isolated times; the loss against the best choice is reported",
    ),
}


def candidates_of(name: str, workload: Workload, node: Node) -> tuple[Candidate, ...]:
    """The candidates of strategy *name* (``sp``, ``rp:32``). Raises InputError: unknown, or it
    cannot apply.
    """
    word, colon, text = name.partition(":")
    if word not in STRATEGIES:
        raise InputError(unknown("strategy", name, STRATEGIES))
    strategy, number = STRATEGIES[word], None
    if colon:
        limit = node.gpu.compute_unit_count - 1
        if not strategy.numbered:
            raise InputError(f"strategy {name!r}: {word} takes no number; write {word!r}")
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= limit):
            raise InputError(
                f"strategy {name!r}: {text!r} compute units; must be 1 to {limit}, as in '{word}:32'"
            )
        number = int(text)
    return strategy(workload, node, number)


def exhaustive(workload: Workload, node: Node) -> tuple[Candidate, ...]:
    """Every candidate of every strategy that can apply and does not choose itself; what ``auto`` is
    compared with.
    """
    found: list[Candidate] = []
    for name in STRATEGIES:
        if name not in ("as_written", "auto", "conccl_latte"):
            try:
                found += candidates_of(name, workload, node)
            except InputError:
                continue  # cannot apply: nothing to compare with
    return tuple(found)


def _reserved(name: str, workload: Workload, node: Node, count: int) -> Workload:
    _need_collective(name, workload)
    return reserved(workload, node, count)


def _need_collective(name: str, workload: Workload) -> None:
    if not collectives(workload):
        raise InputError(
            f"strategy {name!r} needs a collective; workload {workload.name!r} has none"
        )

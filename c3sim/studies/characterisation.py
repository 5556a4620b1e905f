"""Isolated behaviour that publications report beside their means: each figure predicted, next to
the published one.

Nothing here runs two tasks at once. GEMMs and sizes are those of the study's own scenarios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from c3sim.simulation.runs import isolated
from c3sim.specs.workload import Workload
from c3sim.strategies.masks import is_memory_bound, reserved, withheld
from c3sim.strategies.rewrites import baseline, on_dma, streams_of, with_tasks
from c3sim.studies.cases import Case, gather_of, gemm_of

CHANNELS = range(4, 129, 4)
SATURATED = 1.05  # within 5 % of the best
SMALL = tuple(2.0**power for power in range(20, 25))  # 1 to 16 MiB: below 32 MB
LARGE = 2.0**27  # bytes


@dataclass(frozen=True, slots=True)
class Figure:
    """A prediction: *value*, and the *lowest* and *highest* of what it is the mean or the extreme
    of.
    """

    value: float
    lowest: float
    highest: float


def characterise(cases: Sequence[Case], published: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of name, predicted, published, flag and unit. *published*: key -> value, flag, note."""
    gemms = {
        (gemm.m, gemm.n, gemm.k, gemm.dtype): case for case in cases for gemm in (gemm_of(case)[1],)
    }
    compute = [case for case in gemms.values() if not is_memory_bound(case.node, gemm_of(case)[1])]
    memory = [case for case in gemms.values() if is_memory_bound(case.node, gemm_of(case)[1])]
    rows: list[dict[str, Any]] = []

    def add(key: str, name: str, unit: str, figure: Figure | None) -> None:
        theirs = published.get(key, {})
        if figure is not None:
            rows.append(
                {
                    "name": name,
                    "predicted": figure.value,
                    "range": [figure.lowest, figure.highest],
                    "published": theirs.get("value"),
                    "flag": theirs.get("flag"),
                    "note": theirs.get("note", ""),
                    "unit": unit,
                }
            )

    for count in (32, 64):
        slower = _mean([_taken(case, count) for case in compute])
        add(
            f"compute_bound_{count}",
            f"compute-bound GEMM, {count} CUs taken away: slower by",
            "1",
            slower,
        )
    add(
        "memory_bound_8",
        "memory-bound GEMM, one CU per die taken away: faster by",
        "1",
        _highest([1 / (1 + _one_per_die(case)) - 1 for case in memory]),
    )
    by_op: dict[str, Case] = {}
    for case in sorted(cases, key=lambda case: gather_of(case)[1].size):
        by_op[gather_of(case)[1].op] = case  # the largest of each operation stays
    for op, case in by_op.items():
        add(
            f"saturation_{op}",
            f"{op} on CUs: channels within 5 % of the best",
            "CUs",
            _saturation(case),
        )
    ratios = [_dma_ratio(case, size) for case in by_op.values() for size in SMALL]
    add("dma_small", "DMA against CUs, 1 to 16 MiB: time ratio", "x", _highest(ratios))
    large = sorted({gather_of(case)[1].size for case in cases if gather_of(case)[1].size >= LARGE})
    gains = [1 / _dma_ratio(case, size) - 1 for case in by_op.values() for size in large]
    add("dma_large", "DMA against CUs, from 128 MiB: faster by", "1", _highest(gains))
    return rows


def _base(case: Case) -> Workload:
    return baseline(case.workload, case.node)


def _taken(case: Case, count: int) -> float:
    """How much longer the GEMM takes alone with *count* CUs fewer, as a fraction."""
    name, base = gemm_of(case)[0], _base(case)
    fewer = reserved(base, case.node, count)
    return isolated(case.node, fewer, name).end / isolated(case.node, base, name).end - 1


def _one_per_die(case: Case) -> float:
    name, base = gemm_of(case)[0], _base(case)
    fewer = withheld(base, case.node, streams_of(base, (name,)))
    return isolated(case.node, fewer, name).end / isolated(case.node, base, name).end - 1


def _saturation(case: Case) -> Figure:
    """The smallest number of channels asked for that comes within 5 % of the best time."""
    name, base = gather_of(case)[0], _base(case)
    times = {
        count: isolated(case.node, with_tasks(base, {name: {"channels": count}}), name).end
        for count in CHANNELS
        if count <= case.node.gpu.compute_unit_count
    }
    enough = float(
        min(count for count, time in times.items() if time <= SATURATED * min(times.values()))
    )
    return Figure(enough, enough, enough)


def _dma_ratio(case: Case, size: float) -> float:
    """Time alone on DMA engines over time alone on compute units, of *size* bytes."""
    name, base = gather_of(case)[0], with_tasks(_base(case), {gather_of(case)[0]: {"size": size}})
    return (
        isolated(case.node, on_dma(base, case.node), name).end / isolated(case.node, base, name).end
    )


def _mean(values: Sequence[float]) -> Figure | None:
    return Figure(fmean(values), min(values), max(values)) if values else None


def _highest(values: Sequence[float]) -> Figure | None:
    return Figure(max(values), min(values), max(values)) if values else None

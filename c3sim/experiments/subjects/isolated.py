"""Isolated behaviour that publications report beside their means: each figure beside theirs.

Nothing here runs two tasks at once. GEMMs and sizes are those of the study's own scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from c3sim.evaluation.strategies.rewrites import (
    baseline,
    is_memory_bound,
    on_dma,
    reserved,
    streams_of,
    with_tasks,
    withheld,
)
from c3sim.experiments.cases import Case, collective_of, gemm_of
from c3sim.experiments.study import Row
from c3sim.kit.text import size as of_bytes
from c3sim.simulation.runs import isolated
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import plan

CHANNELS = range(4, 129, 4)
SATURATED = 1.05  # within 5 % of the best
SMALL = tuple(2.0**power for power in range(20, 25))  # 1 to 16 MiB: below 32 MB
LARGE = 2.0**27  # bytes


def characterise(cases: Sequence[Case], published: Mapping[str, Any]) -> list[Row]:
    """The figures that *cases* allow. *published*: key -> value, flag and note."""
    figures: list[Row] = []

    def add(
        key: str,
        name: str,
        values: Mapping[str, float],
        *,
        unit: str = "1",
        reduce: Callable[[Sequence[float]], float] = max,
    ) -> None:
        """*reduce* of *values* by what they are of, if there are any, beside what is published as
        *key*.
        """
        if values:
            figures.append(_figure(name, values, reduce, published.get(key, {}), unit))

    compute, memory = _gemms(cases)
    for count in (32, 64):
        name = f"compute-bound GEMM, {count} CUs taken away: slower by"
        slower = {case.label: _taken(case, count) for case in compute}
        add(f"compute_bound_{count}", name, slower, reduce=fmean)
    name = "memory-bound GEMM, one CU per die taken away: faster by"
    add("memory_bound_8", name, {each.label: 1 / (1 + _taken(each)) - 1 for each in memory})
    largest = _largest_of_operations(cases)
    for op, case in largest.items():
        name = f"{op} on CUs: CUs held within 5 % of the best"
        add(f"saturation_{op}", name, {case.label: _saturation(case)}, unit="CUs")
    ratios = _dma_ratios(largest, SMALL)
    add("dma_small", "DMA against CUs, 1 to 16 MiB: time ratio", ratios, unit="x")
    sizes = {collective_of(case)[1].size for case in cases}
    large = [size for size in sorted(sizes) if size >= LARGE]
    gains = {what: 1 / ratio - 1 for what, ratio in _dma_ratios(largest, large).items()}
    add("dma_large", "DMA against CUs, from 128 MiB: faster by", gains)
    return figures


def _figure(
    name: str,
    values: Mapping[str, float],
    reduce: Callable[[Sequence[float]], float],
    published: Mapping[str, Any],
    unit: str,
) -> Row:
    """A figure [*unit*] beside the published one: the mean or an extreme of *values*."""
    least, most = (of(values, key=values.__getitem__) for of in (min, max))
    ends = f"least {least}, most {most}" if least != most else least
    return Row(
        name=name,
        predicted=reduce([*values.values()]),
        range=[values[least], values[most]],
        decides=ends,
        published=published.get("value"),
        flag=published.get("flag"),
        note=published.get("note", ""),
        unit=unit,
    )


def _gemms(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """A case for each different GEMM: compute-bound ones, memory-bound ones."""
    by_shape: dict[tuple[int, int, int, str], Case] = {}
    for case in cases:
        gemm = gemm_of(case)[1]
        by_shape[gemm.m, gemm.n, gemm.k, gemm.dtype] = case
    bound = [(case, is_memory_bound(case.node, gemm_of(case)[1])) for case in by_shape.values()]
    compute = [case for case, memory in bound if not memory]
    return compute, [case for case, memory in bound if memory]


def _largest_of_operations(cases: Sequence[Case]) -> dict[str, Case]:
    largest: dict[str, Case] = {}
    for case in sorted(cases, key=lambda case: collective_of(case)[1].size):
        largest[collective_of(case)[1].op] = case
    return largest


def _base(case: Case) -> Workload:
    return baseline(case.workload, case.node)


def _taken(case: Case, count: int | None = None) -> float:
    """The fraction by which a GEMM takes longer alone with *count* CUs fewer, or one per die, as a
    fraction.
    """
    name, base, node = gemm_of(case)[0], _base(case), case.node
    if count is None:
        fewer = withheld(base, node, streams_of(base, (name,)))
    else:
        fewer = reserved(base, node, count)
    return isolated(node, fewer, name).end / isolated(node, base, name).end - 1


def _saturation(case: Case) -> float:
    """The fewest CUs that channels hold, of numbers asked for, within 5 % of the best time."""
    name, base = collective_of(case)[0], _base(case)
    times = {
        count: isolated(case.node, with_tasks(base, {name: {"channels": count}}), name).end
        for count in CHANNELS
        if count <= case.node.gpu.compute_unit_count
    }
    best = min(times.values())
    enough = min(count for count, time in times.items() if time <= SATURATED * best)
    asked = with_tasks(base, {name: {"channels": enough}})
    return float(plan(asked, case.node).shapes[name].workgroups)


def _dma_ratios(largest: Mapping[str, Case], sizes: Sequence[float]) -> dict[str, float]:
    """The ratio of each operation and size."""
    return {
        f"{op} of {of_bytes(size)}": _dma_ratio(case, size)
        for op, case in largest.items()
        for size in sizes
    }


def _dma_ratio(case: Case, size: float) -> float:
    """Time alone on DMA engines over time alone on compute units, of *size* bytes."""
    name = collective_of(case)[0]
    base = with_tasks(_base(case), {name: {"size": size}})
    on_engines = isolated(case.node, on_dma(base, case.node), name).end
    return on_engines / isolated(case.node, base, name).end

"""How much a mean owes to the choice of pairs: the means over other tables drawn by the same rule.

The pool is a study of its own (``NAME-pool``: GEMMs crossed with sizes and operations). A pair is admissible if its
ratio of isolated times lies within that of the study's own pairs. A table has as many pairs of each kind (memory- or
compute-bound) and class as the study's, drawn without repetition; each pair counts once for every operation. Pairs
are simulated once and tables drawn from their rows, with a fixed seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean, quantiles
from typing import Any

from c3sim.strategies.masks import is_memory_bound
from c3sim.studies.c3.summary import classify, isolated_pair
from c3sim.studies.cases import Case, gather_of, gemm_of
from c3sim.studies.rows import Progress, Row, evaluate

TABLES = 300
SEED = 20241218
Group = tuple[bool, str]  # memory-bound, class
Pair = tuple[int, int, int, float]  # m, n, k, bytes


def bands(
    fixed: Sequence[Case],
    pool: Sequence[Case],
    strategies: Sequence[str],
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[str, list[float]]:
    """Per strategy the 5th and 95th percentile of the mean fraction of ideal over the drawn tables."""
    ratios = [gemm_s / comm_s for gemm_s, comm_s in map(isolated_pair, fixed)]
    wanted = Counter(_groups(fixed).values())
    admissible = [case for case in pool if min(ratios) <= _ratio(case) <= max(ratios)]
    groups = {pair: group for pair, group in _groups(admissible).items() if group in wanted}
    used = [case for case in admissible if _pair(case) in groups]
    rows = evaluate(used, strategies, what="other tables", n_jobs=n_jobs, progress=progress)
    fractions = _fractions(used, rows)
    found = {}
    for name in strategies:
        means = sorted(_means(fractions, groups, wanted, name))
        if len(means) > 1:
            cuts = quantiles(means, n=20, method="inclusive")
            found[name] = [cuts[0], cuts[-1]]
    return found


def _pair(case: Case) -> Pair:
    gemm = gemm_of(case)[1]
    return gemm.m, gemm.n, gemm.k, gather_of(case)[1].size


def _ratio(case: Case) -> float:
    gemm_s, comm_s = isolated_pair(case)
    return gemm_s / comm_s


def _groups(cases: Sequence[Case]) -> dict[Pair, Group]:
    """Kind and class of each pair; the class by the first operation listed."""
    groups: dict[Pair, Group] = {}
    for case in cases:
        kind = is_memory_bound(case.node, gemm_of(case)[1])
        groups.setdefault(_pair(case), (kind, classify(*isolated_pair(case))))
    return groups


def _fractions(
    cases: Sequence[Case], rows: Sequence[Sequence[Row]]
) -> dict[Pair, dict[str, list[float]]]:
    """Fractions of ideal of each pair and strategy, one per operation."""
    found: dict[Pair, dict[str, list[float]]] = {}
    for case, entries in zip(cases, rows, strict=True):
        for row in entries:
            values = found.setdefault(_pair(case), {}).setdefault(row["strategy"], [])
            if row["fraction_of_ideal"] is not None:
                values.append(row["fraction_of_ideal"])
    return found


def _means(
    fractions: Mapping[Pair, Mapping[str, Sequence[float]]],
    groups: Mapping[Pair, Group],
    wanted: Mapping[Group, int],
    strategy: str,
) -> list[float]:
    """The mean of *strategy* over each drawn table; the same tables for every strategy."""
    random = Random(SEED)
    choices: dict[Group, list[Any]] = {}
    for pair, group in groups.items():
        choices.setdefault(group, []).append(pair)
    means = []
    for _ in range(TABLES):
        table = [
            pair
            for group, count in sorted(wanted.items())
            for pair in random.sample(
                choices.get(group, []), min(count, len(choices.get(group, [])))
            )
        ]
        values = [value for pair in table for value in fractions[pair][strategy]]
        if values:
            means.append(fmean(values))
    return means

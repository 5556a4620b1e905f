"""Pairs of a GEMM and a collective: their classes, and how much a mean owes to the choice of pairs,
by the means over other tables drawn by the same rule.

Classes by the isolated times Tg of the GEMM and Tc of the collective (arXiv 2412.14335):

    G-long    Tg > 1.15 Tc
    C-long    Tc > 1.15 Tg
    GC-equal  otherwise

- The pool is a study of its own: GEMMs crossed with sizes and operations (``pool`` of the file).
- A pair is admissible if its ratio of isolated times lies within that of the study's own pairs.
- A table has as many pairs of each kind (memory- or compute-bound) and class as the study's, drawn
  without repetition. Each pair counts once for every operation.
- Pairs are simulated once, and tables drawn from their rows with a fixed seed. A stratum of the
  pool gives at most CHOICE times as many pairs as a table needs of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import fmean

from c3sim.evaluation.strategies.rewrites import baseline, is_memory_bound
from c3sim.experiments.cases import Case, collective_of, gemm_of
from c3sim.experiments.study import grouped
from c3sim.simulation.runs import isolated

MARGIN = 1.15
TABLES = 300
SEED = 20241218
EVERY = 2  # of so many pairs a half has one
CHOICE = 2  # keeps the runs few
Stratum = tuple[bool, str]  # memory-bound, class
Pair = tuple[int, int, int, float]  # m, n, k, bytes
Fractions = Mapping[str, float | None]  # of ideal, by strategy


def classify(gemm_s: float, comm_s: float) -> str:
    if gemm_s > MARGIN * comm_s:
        return "G-long"
    return "C-long" if comm_s > MARGIN * gemm_s else "GC-equal"


def isolated_pair(case: Case) -> tuple[float, float]:
    """Times alone [s] of the GEMM, and of the collective on compute units."""
    base = baseline(case.workload, case.node)
    return (
        isolated(case.node, base, gemm_of(case)[0]).end,
        isolated(case.node, base, collective_of(case)[0]).end,
    )


def other_means(
    names: Sequence[str],
    own: Sequence[Case],
    pool: Sequence[Case],
    run: Callable[[Sequence[Case]], Sequence[Fractions]],
) -> dict[str, list[float]]:
    """Per strategy of *names* the mean fraction of ideal over each of the drawn tables; *own* are
    the cases of the study; *run* gives the fractions of cases of the *pool*.
    """
    ratios = [_ratio(case) for case in own]
    wanted = Counter(_strata(own).values())
    admissible = [case for case in pool if min(ratios) <= _ratio(case) <= max(ratios)]
    strata = _some(_strata(admissible), wanted)
    used = [case for case in admissible if _pair(case) in strata]
    fractions: dict[tuple[Pair, str], list[float]] = {}
    for case, found in zip(used, run(used), strict=True):
        for strategy, fraction in found.items():
            values = fractions.setdefault((_pair(case), strategy), [])
            if fraction is not None:
                values.append(fraction)
    tables = _draw_tables(strata, wanted)
    return {name: _means(tables, fractions, name) for name in names}


def in_turns(cases: Sequence[Case]) -> list[list[Case]]:
    """Parts of *cases*, as many as operations. Each has every pair once, under the operations in
    turns, along the pairs by kind and ratio of isolated times; all parts together are *cases*.
    """
    pairs = [*grouped(cases, lambda case: (_pair(case), tuple(case.point.items()))).values()]
    pairs.sort(key=lambda of: (is_memory_bound(of[0].node, gemm_of(of[0])[1]), _ratio(of[0])))
    return [
        [of[(place + turn) % len(of)] for place, of in enumerate(pairs)]
        for turn in range(max(map(len, pairs), default=1))
    ]


def halves_of(turns: Sequence[Sequence[Case]]) -> list[list[Case]]:
    """Of the parts *turns* every EVERYth pair, the next one under the next operation: from each of
    the first pairs and each operation on. All of them together have each case once.
    """
    return [
        [
            turns[(turn + number) % len(turns)][place]
            for number, place in enumerate(range(first, len(turns[0]), EVERY))
        ]
        for turn in range(len(turns))
        for first in range(min(EVERY, len(turns[0])))
    ]


def _some(strata: Mapping[Pair, Stratum], wanted: Mapping[Stratum, int]) -> dict[Pair, Stratum]:
    """Pairs drawn from each stratum, as many as *wanted* at most."""
    random = Random(SEED)
    kept = set[Pair]()
    for stratum, pairs in grouped(strata, lambda pair: strata[pair]).items():
        kept.update(random.sample(pairs, min(CHOICE * wanted.get(stratum, 0), len(pairs))))
    return {pair: stratum for pair, stratum in strata.items() if pair in kept}


def _pair(case: Case) -> Pair:
    gemm = gemm_of(case)[1]
    return gemm.m, gemm.n, gemm.k, collective_of(case)[1].size


def _ratio(case: Case) -> float:
    gemm_s, comm_s = isolated_pair(case)
    return gemm_s / comm_s


def _strata(cases: Sequence[Case]) -> dict[Pair, Stratum]:
    """Kind and class of each pair; the class by the first operation listed."""
    strata: dict[Pair, Stratum] = {}
    for case in cases:
        kind = is_memory_bound(case.node, gemm_of(case)[1])
        strata.setdefault(_pair(case), (kind, classify(*isolated_pair(case))))
    return strata


def _draw_tables(strata: Mapping[Pair, Stratum], wanted: Mapping[Stratum, int]) -> list[list[Pair]]:
    """Tables with as many pairs of each stratum as *wanted*, or as there are."""
    random = Random(SEED)
    pairs_of = grouped(strata, lambda pair: strata[pair])
    strata_of = [(pairs_of.get(stratum, []), count) for stratum, count in sorted(wanted.items())]
    return [
        [
            pair
            for pairs, count in strata_of
            for pair in random.sample(pairs, min(count, len(pairs)))
        ]
        for _ in range(TABLES)
    ]


def _means(
    tables: Sequence[Sequence[Pair]],
    fractions: Mapping[tuple[Pair, str], Sequence[float]],
    strategy: str,
) -> list[float]:
    means = []
    for table in tables:
        values = [value for pair in table for value in fractions[pair, strategy]]
        if values:
            means.append(fmean(values))
    return means

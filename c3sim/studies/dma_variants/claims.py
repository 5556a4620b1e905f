"""Published claims about DMA variants beside the same ratios here.

Small is below 32 MiB and large from there on, as in arXiv 2511.06605. All are ratios of times,
means are geometric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from c3sim.studies.dma_variants.row import Row

SMALL = 32 * 2**20  # bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A ratio of times: its key in the study file, in words, and both values."""

    claim: str
    what: str
    published: float
    simulated: float


def _geometric_mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


@dataclass(frozen=True, kw_only=True, slots=True)
class Ratio:
    """*over* / *under* of the rows of one operation (*of*; empty: all), small ones or *large*.

    *reduce*: their geometric mean, or their maximum.
    """

    what: str
    over: Callable[[Row], float]
    under: Callable[[Row], float]
    of: str = ""
    large: bool = False
    reduce: Callable[[Sequence[float]], float] = _geometric_mean

    def values(self, rows: Sequence[Row]) -> list[float]:
        """The ratio of each row that it is about."""
        return [
            self.over(row) / self.under(row)
            for row in rows
            if self.of in ("", row.collective) and (row.size_bytes >= SMALL) is self.large
        ]


def claims(rows: Sequence[Row], published: Mapping[str, float]) -> list[Claim]:
    """A claim for each of *published* (key -> ratio) that *rows* can answer."""
    found = []
    for key, theirs in published.items():
        ratio = RATIOS[key]
        values = ratio.values(rows)
        if values:
            ours = ratio.reduce(values)
            found.append(Claim(claim=key, what=ratio.what, published=theirs, simulated=ours))
    return found


def _best(row: Row) -> float:
    return row.variants[row.best].time_us


def _pcpy(row: Row) -> float:
    return row.variants["pcpy"].time_us


def _rccl(row: Row) -> float:
    return row.rccl.time_us


RATIOS = {
    "best_over_pcpy": Ratio(
        what="best variant, speedup over pcpy, small, mean", over=_pcpy, under=_best
    ),
    "best_over_pcpy_most": Ratio(
        what="best variant, speedup over pcpy, small, most", over=_pcpy, under=_best, reduce=max
    ),
    "all_gather_before": Ratio(
        what="all-gather, pcpy / compute units, small", over=_pcpy, under=_rccl, of="all_gather"
    ),
    "all_to_all_before": Ratio(
        what="all-to-all, pcpy / compute units, small", over=_pcpy, under=_rccl, of="all_to_all"
    ),
    "all_gather_after": Ratio(
        what="all-gather, best / compute units, small", over=_best, under=_rccl, of="all_gather"
    ),
    "all_to_all_after": Ratio(
        what="all-to-all, best / compute units, small", over=_best, under=_rccl, of="all_to_all"
    ),
    "large": Ratio(what="compute units / best, large", over=_rccl, under=_best, large=True),
}

"""What a study of DMA variants says of the claims published for them: means over small sizes,
ratios to compute units.

Small is below 32 MiB and large from there on, as in arXiv 2511.06605. All are ratios of times, means are geometric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, log
from typing import Any

SMALL = 32 * 2**20
Row = Mapping[str, Any]


def claims(rows: Sequence[Row], published: Mapping[str, float]) -> list[dict[str, Any]]:
    """One entry for each of *published* (key -> ratio) that *rows* can answer: ``{"claim", "what",
    "published", "simulated"}``.
    """
    found = []
    for key, theirs in published.items():
        what, values = _ANSWERS[key]
        ratios = values(rows)
        if ratios:
            ours = (
                max(ratios) if key.endswith("_most") else exp(sum(map(log, ratios)) / len(ratios))
            )
            found.append({"claim": key, "what": what, "published": theirs, "simulated": ours})
    return found


def _best(row: Row) -> float:
    return float(row["variants"][row["best"]]["time_us"])


def _pcpy(row: Row) -> float:
    return float(row["variants"]["pcpy"]["time_us"])


def _over(
    first: Callable[[Row], float],
    second: Callable[[Row], float],
    operation: str = "",
    *,
    large: bool = False,
) -> Callable[[Sequence[Row]], list[float]]:
    """Ratios *first* / *second* of the rows of *operation* (all: ``""``) that are small, or
    *large*.
    """

    def ratios(rows: Sequence[Row]) -> list[float]:
        chosen = [row for row in rows if operation in ("", row["collective"])]
        return [first(row) / second(row) for row in chosen if (row["size_bytes"] >= SMALL) is large]

    return ratios


def _on_units(row: Row) -> float:
    return float(row["rccl"]["time_us"])


_ANSWERS: dict[str, tuple[str, Callable[[Sequence[Row]], list[float]]]] = {
    "best_over_pcpy": ("best variant, speedup over pcpy, small, mean", _over(_pcpy, _best)),
    "best_over_pcpy_most": ("best variant, speedup over pcpy, small, most", _over(_pcpy, _best)),
    "all_gather_before": (
        "all-gather, pcpy / compute units, small",
        _over(_pcpy, _on_units, "all_gather"),
    ),
    "all_to_all_before": (
        "all-to-all, pcpy / compute units, small",
        _over(_pcpy, _on_units, "all_to_all"),
    ),
    "all_gather_after": (
        "all-gather, best / compute units, small",
        _over(_best, _on_units, "all_gather"),
    ),
    "all_to_all_after": (
        "all-to-all, best / compute units, small",
        _over(_best, _on_units, "all_to_all"),
    ),
    "large": ("compute units / best, large", _over(_on_units, _best, large=True)),
}

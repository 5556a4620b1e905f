"""Tables of a study of kind ``pieces``: speedups and losses of schedules, the heuristic, claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, percent
from c3sim.studies.pieces.outcomes import FOUR, SERIAL, SHARDS, Outcome, Row
from c3sim.studies.pieces.study import PiecesResult, Score
from c3sim.studies.show import grouped, remarks

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

MOVES = {"dma": "by engines", "kernels": "by kernels"}


def tables(study: PiecesResult) -> list[RenderableType]:
    from rich.text import Text

    groups = grouped(study.scenarios, lambda row: (row.node, row.collective, row.by))
    parts: list[RenderableType] = [
        group_table(f"{collective} on {node}, {MOVES[by]}", rows)
        for (node, collective, by), rows in groups.items()
    ]
    return [*parts, heuristic_table(study), Text("\n".join(_claims(study)))]


def group_table(where: str, rows: Sequence[Row]) -> Group:
    """A row per GEMM: serial time, ideal, speedup of each schedule with its pieces and losses."""
    names = [SHARDS, *FOUR]
    headers = ["serial\n(ms)", "ideal\n(x)", *(f"{_broken(name)}\n(x)" for name in names)]
    table = make_table(["GEMM"], [*headers, "best", "heuristic", "loss\n(%)"])
    for row in rows:
        cells = [_cell(row.schedules.get(name)) for name in names]
        add_row(
            table,
            row.gemm if row.fits else f"{row.gemm} (too large)",
            f"{1e3 * row.schedules[SERIAL].time_s:.4g}",
            f"{row.ideal_speedup:.2f}",
            *cells,
            row.best,
            (row.heuristic or MISSING) + ("*" if row.fitted else ""),
            MISSING if row.loss is None else percent(row.loss),
        )
    return stack(
        f"{where}: speedup over serial (pieces; lost to decomposition/contention, % of serial)",
        table,
        "ideal: serial over the longer of GEMM and collective alone; *: fitted on this GEMM",
    )


def heuristic_table(study: PiecesResult) -> Group:
    """A row per mover: how often the heuristic is right on GEMMs that it has not seen."""
    headers = ["scenarios", "right\n(%)", "loss where\nwrong (%)"]
    table = make_table(["moved", "chooser", "rule"], headers)
    for by, score in study.heuristics.items():
        scenarios = str(score.scenarios)
        cells = (percent(score.hit_rate), _loss(score.mean_loss))
        add_row(table, MOVES[by], "static sizes", score.rule, scenarios, *cells)
        swapped = (percent(score.swapped_hit_rate), _loss(score.swapped_mean_loss))
        add_row(table, "", "halves swapped", "", scenarios, *swapped)
        fixed = (percent(score.fixed_hit_rate), _loss(score.fixed_mean_loss))
        add_row(table, "", "always the same", score.fixed, scenarios, *fixed)
    return stack(
        "which of the four, from static sizes alone: fitted on every second GEMM, scored on the"
        " others",
        table,
        "intensity: FLOP per byte; footprint: MK + KN + MN; aspect: M / K",
    )


def _claims(study: PiecesResult) -> list[str]:
    ours: dict[str, str] = {
        "ideal": f"{study.max_ideal_speedup:.2f}x",
        "speedup": f"{study.max_speedup:.2f}x",
        "heuristic": _scored(study.heuristic),
        "shards": MISSING if study.shards_slower is None else f"{study.shards_slower:.1f}x",
    }
    claims = [
        f"{claim['text']}: published {claim['value']}, here {ours[claim['of']]}"
        for claim in study.published.get("claims", ())
    ]
    return [*claims, *remarks(study.published)]


def _scored(score: Score | None) -> str:
    if score is None:
        return MISSING
    return f"{percent(score.hit_rate)} %, loss {_loss(score.mean_loss)} %"


def _loss(loss: float | None) -> str:
    return MISSING if loss is None else percent(loss, 1)


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return MISSING
    losses = f"{percent(outcome.decomposition_loss)}/{percent(outcome.contention_loss)}"
    return f"{outcome.speedup:.2f} ({outcome.pieces}; {losses})"


def _broken(name: str) -> str:
    return name.replace("-", "-\n", 1)

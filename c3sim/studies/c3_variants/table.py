"""Tables of a study of kind ``c3_variants``: best variants, wall times, regrets of choosers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Literal

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, figures, percent, size, time_unit
from c3sim.studies.c3_variants.study import C3VariantsResult, Row
from c3sim.studies.show import grouped, remarks

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

#: Variants among which one wins: all, or those that are not prelaunched.
Among = Literal["good", "good_not_prelaunched"]

_WORDS = {
    "conccl_latte": "the strategy: times alone and memory traffic",
    "alone": "the quickest alone, same host",
    "one_thread": "the quickest alone, one thread for all GPUs",
    "pcpy_pl": "always",
    "pcpy": "always",
}


def tables(study: C3VariantsResult) -> list[RenderableType]:
    from rich.text import Text

    parts: list[RenderableType] = []
    for (host, operation), rows in settings(study).items():
        where = f"{operation} on {study.about.node}, {host}"
        parts.append(wall_table(where, rows))
        parts += [winner_table(where, rows, "good_not_prelaunched"), winner_table(where, rows)]
    lines = _remarks(study)
    return [*parts, chooser_table(study), *([Text("\n".join(lines))] if lines else [])]


def settings(study: C3VariantsResult) -> dict[tuple[str, str], list[Row]]:
    return grouped(study.rows, lambda row: (row.host, row.collective))


def winner_table(where: str, rows: Sequence[Row], among: Among = "good") -> Group:
    """A row per size, a column per GEMM: the first variant that is as good as the best of those
    *among* which it wins, and what pcpy loses.
    """
    gemms = {row.label: row.gemm_isolated_s for row in rows}
    table = make_table(["size", *(_header(*item) for item in gemms.items())], [])
    for size_bytes, of_size in by_size(rows):
        cells = {row.label: _winner(row, among) for row in of_size}
        add_row(table, size(size_bytes), *(cells.get(label, MISSING) for label in gemms))
    what = "best variant" if among == "good" else "best variant without prelaunch"
    return stack(
        f"{where}: {what} beside each GEMM (its time alone)",
        table,
        "the first one within 0.2 % of the best wall time; behind it, how much longer pcpy makes"
        " the wall time (%)",
    )


def wall_table(where: str, rows: Sequence[Row]) -> Group:
    """A row per size: wall time over the ideal one by strategy and variant, GEMM slowdowns."""
    strategies, variants = list(rows[0].strategies), list(rows[0].variants)
    same = "conccl" in strategies and "pcpy" in variants
    names = [*strategies, *(name for name in variants if name != "pcpy" or not same)]
    headers = [f"{_broken(name)}\n(x)" for name in names]
    headers += [f"GEMM\n{_broken(name)}\n(x)" for name in strategies]
    table = make_table(["size", "ends\nsoonest"], headers)
    for size_bytes, of_size in by_size(rows):
        soonest = ",\n".join(dict.fromkeys(row.soonest for row in of_size))
        walls = (geometric_mean(over_ideal(row, name) for row in of_size) for name in names)
        slow = (fmean(row.strategies[name].gemm_slowdown for row in of_size) for name in strategies)
        cells = [*(f"{wall:.2f}" for wall in walls), *(f"{slowdown:.3f}" for slowdown in slow)]
        add_row(table, size(size_bytes), soonest, *cells)
    return stack(
        f"{where}: wall time over the ideal one (x), slowdown of the GEMM (x)",
        table,
        "ideal: the longer one of the GEMM and of the collective on compute units, alone; means"
        " over the GEMMs; ends soonest: the collective, beside any of them"
        f"{'; conccl: pcpy' * same}",
    )


def chooser_table(study: C3VariantsResult) -> Group:
    """A row per host and way to choose a variant: its regret."""
    headers = ["mean\n(%)", "p90\n(%)", "max\n(%)", "within\n0.2 %"]
    table = make_table(["host", "chooser", "what it is"], headers)
    last = None
    for row in study.choosers:
        shares = (percent(share, 2) for share in (row.mean, row.p90, row.max))
        host = row.host if row.host != last else ""
        last = row.host
        words = _WORDS.get(row.chooser, "")
        add_row(table, host, row.chooser, words, *shares, f"{row.good_in} of {row.of}")
    return stack(
        f"{study.title}: regret of ways to choose a variant (%)",
        table,
        "regret: wall time with the variant chosen over that with the best one, less 1",
    )


def over_ideal(row: Row, name: str) -> float:
    """Wall time over the longest isolated time, of strategy or variant *name*."""
    outcome = row.strategies.get(name) or row.variants[name]
    return outcome.wall_s / max(row.gemm_isolated_s, row.comm_isolated_s)


def winner(row: Row, among: Among) -> str:
    """The first variant that is as good as the best."""
    return row.good[0] if among == "good" else row.good_not_prelaunched[0]


def pcpy_loss(row: Row, among: Among) -> float:
    """How much longer pcpy makes the wall time than the best variant does, as a fraction."""
    walls = row.walls
    rivals = (wall for name, wall in walls.items() if among == "good" or not name.endswith("_pl"))
    return walls["pcpy"] / min(rivals) - 1


def by_size(rows: Sequence[Row]) -> list[tuple[int, list[Row]]]:
    return sorted(grouped(rows, lambda row: row.size_bytes).items())


def _winner(row: Row, among: Among) -> str:
    name = winner(row, among)
    return name + (f" {percent(pcpy_loss(row, among))}" if name != "pcpy" else "")


def _broken(name: str) -> str:
    return name.replace("conccl_", "conccl_\n").replace("_pl", "\n_pl")


def _header(label: str, seconds: float) -> str:
    unit, length = time_unit(seconds)
    return label.replace(", ", ",\n") + f"\n{figures(seconds / length)} {unit}"


def _remarks(study: C3VariantsResult) -> list[str]:
    largest = [
        f"largest regret of conccl_latte, {row.host}: {percent(row.max, 2)} %, {row.worst}:"
        f" {row.worst_chosen} instead of {row.worst_best}"
        for row in study.choosers
        if row.chooser == "conccl_latte" and row.max > 0
    ]
    return [*remarks(study.published), *largest]

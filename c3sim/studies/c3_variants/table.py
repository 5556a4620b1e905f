"""Tables of a study of DMA variants beside a GEMM: which wins, what each costs, and the regret of
ways to choose.

A *study* is ``{"rows": [{"label", "host", "collective", "size_bytes", "gemm_isolated_s", "comm_isolated_s", "strategies":
{NAME: {"wall_s", "gemm_slowdown", "collective_s", "fraction_of_ideal"}}, "variants": {NAME: the same and "alone_s"}, "best",
"soonest", "good": [NAME], "good_not_prelaunched": [NAME], "chosen": {CHOOSER: NAME}, "regret": {CHOOSER: share}}],
"choosers": [{"host", "chooser", "mean", "p90", "max", "good_in", "of", "worst", "worst_chosen", "worst_best"}]}``. ``name``,
``node`` and ``published`` may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any

from c3sim.output.layout import add_row, make_table, stack
from c3sim.output.text import MISSING, figures, percent, size, time_unit

if TYPE_CHECKING:
    from rich.console import Group

Study = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]

_WORDS = {
    "conccl_latte": "the strategy: times alone and memory traffic",
    "alone": "the quickest alone, same host",
    "one_thread": "the quickest alone, one thread for all GPUs",
    "pcpy_pl": "always",
    "pcpy": "always",
}


def c3_variant_parts(study: Study) -> list[Any]:
    """All that is printed of *study*, what matters most last."""
    tables = []
    for where in settings(study):
        later = winner_table(study, *where, "good_not_prelaunched")
        tables += [wall_table(study, *where), later, winner_table(study, *where)]
    return [*tables, chooser_table(study), *_remarks(study)]


def settings(study: Study) -> list[tuple[str, str]]:
    """Every host and operation of *study*, in order."""
    return list(dict.fromkeys((row["host"], row["collective"]) for row in study["rows"]))


def winner_table(study: Study, host: str, operation: str, which: str = "good") -> Group:
    """A row per size, a column per GEMM: the first variant that is as good as the best, and what
    pcpy loses by it; of all variants (*which* = ``good``) or of those ``good_not_prelaunched``.
    """
    rows = _of(study, host, operation)
    gemms = {row["label"]: row["gemm_isolated_s"] for row in rows}
    table = make_table(["size", *(_header(*item) for item in gemms.items())], [])
    for bytes_, found in _by_size(rows):
        cells = {row["label"]: _winner(row, which) for row in found}
        add_row(table, size(bytes_), *(cells.get(label, MISSING) for label in gemms))
    among = "best variant" if which == "good" else "best variant without prelaunch"
    return stack(
        f"{_where(study, host, operation)}: {among} beside each GEMM (its time alone)",
        table,
        "the first one within 0.2 % of the best wall time; behind it, how much longer pcpy makes the wall time (%)",
    )


def wall_table(study: Study, host: str, operation: str) -> Group:
    """A row per size: wall time over the ideal one under each strategy and with each variant, and
    slowdowns of the GEMM.
    """
    rows = _of(study, host, operation)
    strategies, variants = list(rows[0]["strategies"]), list(rows[0]["variants"])
    same = "conccl" in strategies and "pcpy" in variants
    heads = [*strategies, *(name for name in variants if name != "pcpy" or not same)]
    slow = [f"GEMM\n{_broken(name)}\n(x)" for name in strategies]
    table = make_table(
        ["size", "ends\nsoonest"], [f"{_broken(name)}\n(x)" for name in heads] + slow
    )
    for bytes_, found in _by_size(rows):
        soonest = ",\n".join(dict.fromkeys(row["soonest"] for row in found))
        walls = (f"{geometric_mean(over_ideal(row, name) for row in found):.2f}" for name in heads)
        lost = (
            fmean(row["strategies"][name]["gemm_slowdown"] for row in found) for name in strategies
        )
        add_row(table, size(bytes_), soonest, *walls, *(f"{slowdown:.3f}" for slowdown in lost))
    return stack(
        f"{_where(study, host, operation)}: wall time over the ideal one (x), slowdown of the GEMM (x)",
        table,
        "ideal: the longer one of the GEMM and of the collective on compute units, alone; means over the GEMMs; ends soonest:"
        f" the collective, beside any of them{'; conccl: pcpy' * same}",
    )


def chooser_table(study: Study) -> Group:
    """A row per host and way to choose a variant: its regret."""
    headers = ["mean\n(%)", "p90\n(%)", "max\n(%)", "within\n0.2 %"]
    table = make_table(["host", "chooser", "what it is"], headers)
    last = None
    for row in study["choosers"]:
        shares = (percent(row[key], 2) for key in ("mean", "p90", "max"))
        host = row["host"] if row["host"] != last else ""
        last = row["host"]
        words = _WORDS.get(row["chooser"], "")
        add_row(table, host, row["chooser"], words, *shares, f"{row['good_in']} of {row['of']}")
    node = f" on {study['node']}" if study.get("node") else ""
    return stack(
        f"{study.get('name', 'study')}{node}: regret of ways to choose a variant (%)",
        table,
        "regret: wall time with the variant chosen over that with the best one, less 1",
    )


def over_ideal(row: Mapping[str, Any], name: str) -> float:
    """Wall time over the longest isolated time, of strategy or variant *name*."""
    found = row["strategies"].get(name) or row["variants"][name]
    return float(found["wall_s"] / max(row["gemm_isolated_s"], row["comm_isolated_s"]))


def pcpy_loss(row: Mapping[str, Any], which: str) -> float:
    """How much longer pcpy makes the wall time than the best variant does, of all or of those not
    prelaunched.
    """
    walls = {name: entry["wall_s"] for name, entry in row["variants"].items()}
    least = min(wall for name, wall in walls.items() if which == "good" or not name.endswith("_pl"))
    return float(walls["pcpy"] / least - 1)


def _of(study: Study, host: str, operation: str) -> Rows:
    return [row for row in study["rows"] if (row["host"], row["collective"]) == (host, operation)]


def _by_size(rows: Rows) -> Iterator[tuple[int, Rows]]:
    for bytes_ in sorted({row["size_bytes"] for row in rows}):
        yield bytes_, [row for row in rows if row["size_bytes"] == bytes_]


def _winner(row: Mapping[str, Any], which: str) -> str:
    name = str(row[which][0])
    return name + (f" {percent(pcpy_loss(row, which))}" if name != "pcpy" else "")


def _broken(name: str) -> str:
    return name.replace("conccl_", "conccl_\n").replace("_pl", "\n_pl")


def _header(label: str, seconds: float) -> str:
    unit, length = time_unit(seconds)
    return label.replace(", ", ",\n") + f"\n{figures(seconds / length)} {unit}"


def _where(study: Study, host: str, operation: str) -> str:
    node = f" on {study['node']}" if study.get("node") else ""
    return f"{operation}{node}, {host}"


def _remarks(study: Study) -> list[Any]:
    from rich.text import Text

    published = study.get("published") or {}
    lines = [
        " ".join(str(published[key]).split()) for key in ("source", "note") if published.get(key)
    ]
    lines += [
        f"largest regret of conccl_latte, {row['host']}: {percent(row['max'], 2)} %, {row['worst']}: {row['worst_chosen']}"
        f" instead of {row['worst_best']}"
        for row in study["choosers"]
        if row["chooser"] == "conccl_latte" and row["max"] > 0
    ]
    return [Text("\n".join(lines))] if lines else []

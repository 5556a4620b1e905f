"""What a study prints: scenarios, isolated behaviour, strategies beside published figures; or plain
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c3sim.output.layout import add_row, make_table, stack
from c3sim.output.text import MISSING, figures, percent, times
from c3sim.studies.c3.table import scenario_table, study_table
from c3sim.studies.c3_variants.table import c3_variant_parts
from c3sim.studies.dma_variants.table import variant_parts
from c3sim.studies.kv_fetch.table import kv_parts

_FLAGS = {"Q": "quoted", "S": "second-hand"}
_UNITS = {"1": ("%", 100.0), "x": ("x", 1.0)}  # how figures of that unit are shown


def report(study: Mapping[str, Any]) -> list[Any]:
    """The tables of *study*, what matters most last."""
    if "phases" in study:
        return variant_parts(study)
    if "claims" in study:
        return kv_parts(study)
    if "choosers" in study:
        return c3_variant_parts(study)
    if "strategies" not in study:
        return [_rows_table(study)]
    parts = [scenario_table(study)]
    if study.get("characterisation"):
        parts.append(_characterisation(study))
    return [*parts, study_table(study), _remarks(study)]


def report_text(study: Mapping[str, Any], width: int = 160) -> str:
    """The same as plain text."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    console = Console(file=text, width=width, color_system=None)
    for part in report(study):
        console.print(part)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _characterisation(study: Mapping[str, Any]) -> Any:
    """Isolated behaviour, predicted beside published."""
    table = make_table(["alone", "unit"], ["simulated", "range", "published", "difference"])
    for row in study["characterisation"]:
        unit, scale = _UNITS.get(row["unit"], (row["unit"], 1.0))
        shown, theirs = row["predicted"] * scale, row["published"]
        digits = 0 if unit == "CUs" else 1
        span = " to ".join(f"{edge * scale:.{digits}f}" for edge in row["range"])
        flag = f" ({_FLAGS[row['flag']]})" if row["flag"] in _FLAGS else ""
        note = f"{row['note']} " if row["note"] else ""
        known = MISSING if theirs is None else f"{note}{theirs * scale:.{digits}f}{flag}"
        off = MISSING if theirs is None else f"{shown - theirs * scale:+.{digits}f}"
        add_row(table, row["name"], unit, f"{shown:.{digits}f}", span, known, off)
    return stack("isolated behaviour beside published figures", table)


def _remarks(study: Mapping[str, Any]) -> Any:
    """Lines under the strategies: published speedups, the heuristics' loss, what the study is
    checked against.
    """
    lines, published = [], study.get("published") or {}
    for key, words in (("mean_speedup", "mean speedup"), ("max_speedup", "largest speedup")):
        for name, theirs in (published.get(key) or {}).items():
            if name in study["strategies"]:
                ours = study["strategies"][name][key]
                lines.append(
                    f"{words}, {name}: {times(ours)}; published {times(theirs)}, off by {ours - theirs:+.2f}"
                )
    if study.get("auto"):
        lines.append(_auto(study["auto"]))
    if published.get("note"):
        lines.append(" ".join(str(published["note"]).split()))
    from rich.text import Text

    return Text("\n".join(lines))


def _auto(auto: Mapping[str, Any]) -> str:
    chosen = ", ".join(f"{name} {count}x" for name, count in auto["chosen"].items())
    return (
        f"auto, from isolated times: best choice in {auto['best_in']} of {auto['of']} scenarios, "
        f"loss {percent(auto['mean_loss'])} % mean, {percent(auto['max_loss'])} % at most; chose {chosen}"
    )


def _rows_table(study: Mapping[str, Any]) -> Any:
    """A study without a summary: a row per case and strategy."""
    rows = study["rows"]
    columns = list(rows[0]) if rows else []
    words = [name for name in columns if any(isinstance(row[name], str) for row in rows)]
    numbers = [name for name in columns if name not in words]
    table = make_table(words, numbers)
    for row in rows:
        cells = (MISSING if row[name] is None else figures(row[name], 4) for name in numbers)
        add_row(table, *(str(row[name]) for name in words), *cells)
    return stack(f"{study['name']} on {study['node']}", table, "_s: seconds; _j: joules")

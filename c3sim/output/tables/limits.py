"""The table of what binds each time of an explanation (evaluation/limiter.py)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from c3sim.evaluation.limit_words import in_words
from c3sim.evaluation.limiter import MOST, STEP, Limit
from c3sim.kit.layout import add_row, make_table, stack
from c3sim.kit.text import MISSING, percent

if TYPE_CHECKING:
    from rich.console import Group

EXPLAINED = (
    f"follows: part of the time that follows the number, simulated with one {STEP:g} times as good"
    " (a bandwidth larger, a latency shorter); more than 100 %: the time is a rest of others."
)
FROM = " from: the number binds next once the first is so many times as good"
NO_NEXT = " --full: what binds next"


#: Characters of a path on a line.
LINE = 44


def limits_table(limits: Mapping[str, Limit]) -> Group:
    """Two rows per time: the number that binds it, and below it the one that binds next; one where
    that was looked for of no time.
    """
    further = any(limit.factor is not None for limit in limits.values())
    heads = ["time", *(("bound by, and next", "from") if further else ("bound by",))]
    table, gap = make_table(heads, ["follows\n(%)"]), [""] * further
    for name, limit in limits.items():
        path = broken(limit.path)
        add_row(table, name, path, *gap, percent(limit.part) if limit.path else MISSING)
        if limit.factor is not None:
            up_to = limit.factor >= MOST
            then = "none" if up_to else broken(limit.then)
            add_row(table, "", then, f"up to {MOST:g}x" if up_to else f"{limit.factor:.2g}x", "")
    return stack("what binds", table, EXPLAINED + (FROM if further else NO_NEXT))


def broken(path: str) -> str:
    """*path* over lines of up to LINE characters that end at a dot, so that it can be read, and
    what it limits below.
    """
    if not path:
        return "no single number"
    lines = [""]
    for step in path.split("."):
        if lines[-1] and len(lines[-1]) + len(step) + 1 > LINE:
            lines.append("")
        lines[-1] += f"{step}."
    lines[-1] = lines[-1][:-1]
    meant = in_words(path)
    return "\n".join([*lines, *(textwrap.wrap(f"({meant})", LINE) if meant else [])])

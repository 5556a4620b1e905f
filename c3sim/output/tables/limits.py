"""The table of what binds each time of an explanation (evaluation/limiter.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from c3sim.evaluation.limiter import MOST, STEP, Limit
from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, percent

if TYPE_CHECKING:
    from rich.console import Group

EXPLAINED = (
    f"follows: part of the time that follows the number, simulated with one {STEP:g} times as good"
    " (a bandwidth larger, a latency shorter); more than 100 %: the time is a rest of others."
    " next: binds once the first is so many times as good"
)


def limits_table(limits: Mapping[str, Limit]) -> Group:
    """A row per time: the number that binds it, and the one that binds next."""
    table = make_table(["time", "bound by", "next", "from"], ["follows\n(%)"])
    for name, limit in limits.items():
        part = percent(limit.part) if limit.path else MISSING
        add_row(table, name, limit.path or "no single number", *_next(limit), part)
    return stack("what binds", table, EXPLAINED)


def _next(limit: Limit) -> tuple[str, str]:
    """The number that binds next, and from how many times on."""
    if limit.factor is None:
        return MISSING, MISSING
    if limit.factor >= MOST:
        return "none", f"up to {MOST:g}x"
    return limit.then or "no single number", f"{limit.factor:.2g}x"

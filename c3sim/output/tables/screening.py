"""The table of ``sensitivity --screen``: which parameter should be measured first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from c3sim.kit.layout import add_row, make_table, stack
from c3sim.output.tables.sweep import shown
from c3sim.spec.units import format_si

if TYPE_CHECKING:
    from c3sim.experiments.screening import Group, Screening

SHOWN = 12  # parameters, and groups
NOTHING = "nothing yet"
UNKNOWN = {"swing": None, "share": None}  # of a run that failed


def known(each: Group) -> bool:
    """True if both of its runs succeeded."""
    return None not in each.ends


def to_dict(result: Screening) -> dict[str, Any]:
    """Plain data for ``--json``."""
    return {
        "output": result.output,
        "strategy": result.strategy,
        "base": result.base,
        "spread": result.spread,
        "runs": result.runs,
        "looks": result.looks,
        "idle": result.idle,
        "parameters": [
            {"path": each.name, **result.row(each), **({} if known(each) else UNKNOWN)}
            for each in result.single
        ],
        "groups": [
            {
                "paths": [one.path for one in each.parameters],
                "swing": each.swing if known(each) else None,
            }
            for each in result.groups
        ],
    }


def screening_table(result: Screening) -> Any:
    """The answer in a sentence, parameters that were told apart, and groups that were not."""
    name = result.output
    table = make_table(["parameter", "interval"], ["moved by", "variance", "seen by"])
    for each in sorted((*result.single, *result.groups), key=lambda group: -group.swing)[:SHOWN]:
        add_row(table, *_row(result, each))
    lines = []
    rest = len(result.single) + len(result.groups) - SHOWN
    if rest > 0:
        lines.append(f"{rest} more rows move it less")
    runs = "first looks, which simulate few layers: --screen RUNS runs it whole"
    lines.append(
        f"{result.idle} of {result.count} parameters do not move it; {result.runs}"
        f" {runs if result.looks else 'runs'}.\n"
        "A row with * has so many parameters, moved together: more --screen RUNS tell them apart;\n"
        "--screen 0: indices and band"
    )
    lines.append(
        f"{name} within its intervals: about {shown(name, result.base)} +-"
        f" {shown(name, 2 * result.spread)} (two standard deviations, if effects add)"
    )
    lines.append(
        "seen by: suites of records that fitted or notice it ('c3sim validate --coverage')"
    )
    title = f"{result.about}, strategy {result.strategy}"
    return stack(title, _answer(result), table, *lines)


def _row(result: Screening, each: Group) -> tuple[str, ...]:
    one = each.parameters[0]
    interval, seen = "", ""
    if len(each.parameters) == 1:
        interval = f"{format_si(one.low, one.unit)} to {format_si(one.high, one.unit)}"
        seen = _suites(result.measured.get(one.path, ()))
    if not known(each):
        return each.name, interval, "does not run", "", seen
    return (
        each.name,
        interval,
        shown(result.output, each.swing),
        f"{result.share(each):.0%}",
        seen,
    )


def _suites(names: Sequence[str]) -> str:
    """The first suite, and how many more."""
    if not names:
        return NOTHING
    return names[0] + (f" +{len(names) - 1}" if len(names) > 1 else "")


def _answer(result: Screening) -> str:
    name = result.output
    told = [each for each in (*result.single, *result.groups) if known(each)]
    if not told:
        return f"{name} is {shown(name, result.base)}; no parameter was told apart"
    first = max(told, key=lambda each: each.swing)
    if len(first.parameters) > 1:
        return (
            f"no single parameter yet: {first.name} move {name} ({shown(name, result.base)}) by"
            f" {shown(name, first.swing)} together,\n{result.share(first):.0%} of the variance;"
            f" --screen {2 * result.runs} tells more of them apart"
        )
    suites = result.measured.get(first.name, ())
    how = f"as suite {suites[0]} does" if suites else "which no suite does yet"
    return (
        f"measure {first.name} first, {how}: it moves {name} ({shown(name, result.base)}) by"
        f" {shown(name, first.swing)},\n{result.share(first):.0%} of the variance"
    )

"""Tables of the band of a study of kind ``c3``: what moves the means, the order, the verdict.

All of them fit into a hundred columns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, percent
from c3sim.studies.c3.answer import Answer, Drawn, Moved, Order

if TYPE_CHECKING:
    from rich.console import Group

#: Characters of a condition beside many numbers and beside fewer, and of a line.
NARROW, WIDE, LINE = 28, 46, 98
HARD_SPACE = "\xa0"  # between a parameter and its value
VERDICTS = {True: "inside", False: "outside", None: MISSING}


def answer_tables(title: str, answer: Answer) -> list[Group]:
    """The tables of *answer*, the verdict last."""
    tables = [assumption_table(answer.drawn), change_table(title, answer)]
    if answer.order is not None:
        tables.append(order_table(title, answer.order))
    return [*tables, band_table(title, answer)]


def assumption_table(drawn: Drawn) -> Group:
    table = make_table(["assumption", "usual condition"], [])
    for condition in drawn.assumptions:
        add_row(table, condition.name, condition.usual)
    return stack("not known about the published runs, so drawn", table)


def change_table(title: str, answer: Answer) -> Group:
    """A row per change, a column per strategy."""
    names = list(answer.strategies)
    table = make_table(["alone otherwise"], [name.replace("_", "_\n") for name in names])
    for change in answer.changes:
        if change.kind == "parameter" and not any(map(_points_of, change.by.values())):
            continue
        cells = (_points(change.by.get(name)) for name in names)
        add_row(table, _broken(_what(change.name, change.value), WIDE), *cells)
    skipped = ", ".join(answer.drawn.skipped)
    explained = (
        "of the parameters those that move a mean or an order most, at the ends of their intervals"
    )
    left_out = f"\nmeans without {skipped}, which take too long" if skipped else ""
    return stack(
        f"{title}: one thing at a time, change of the mean fraction of ideal (points)",
        table,
        explained + left_out,
    )


def order_table(title: str, order: Order) -> Group:
    """A row per pair of strategies that the published order has an opinion on."""
    numbers = ["as run\n(points)", "5 %\n(points)", "95 %\n(points)", "holds in\n(%)"]
    words = ["published order", "moved most by"]
    table = make_table(words, ["by\n(points)", *numbers])
    for margin in order.margins:
        add_row(
            table,
            f"{margin.lower} < {margin.higher}",
            _narrow(margin.most),
            _points(margin.most.by if margin.most else None),
            _points(margin.usual),
            _points(margin.low),
            _points(margin.high),
            percent(margin.holds, 0),
        )
    return stack(
        f"{title}: does the published order hold?",
        table,
        "points: mean fraction of ideal of the higher strategy less that of the lower one",
    )


def band_table(title: str, answer: Answer) -> Group:
    """A row per strategy with its band, the published mean and the verdict."""
    numbers = ["as run\n(%)", "5 %\n(%)", "median\n(%)", "95 %\n(%)", "published\n(%)"]
    table = make_table(
        ["strategy", "published\nmean is", "moved most by"], ["by\n(points)", *numbers]
    )
    for name, band in answer.strategies.items():
        shares = (band.usual, band.low, band.median, band.high, band.published)
        by = _points(band.most.by if band.most else None)
        verdict = VERDICTS[band.inside]
        add_row(table, name, verdict, _narrow(band.most), by, *(percent(each) for each in shares))
    return stack(f"{title}: the answer as a band", table, "\n".join(verdict_lines(answer)))


def verdict_lines(answer: Answer) -> list[str]:
    """What the band is of, and what it says, in sentences."""
    drawn = answer.drawn
    lines = [f"band: 5 % to 95 % of {_sums(drawn)}"]
    if drawn.draws:
        lines.append(
            f"a draw: {drawn.parameters} parameters within their intervals, and each of"
            f" {len(drawn.assumptions)} assumptions as usual or otherwise"
        )
    if drawn.failed:
        lines.append(f"{drawn.failed} more draws have values that exclude each other")
    known = [band.inside for band in answer.strategies.values() if band.inside is not None]
    if known:
        lines.append(f"verdict: {sum(known)} of {len(known)} published means lie inside the band")
    if answer.order is not None:
        lines += _order_lines(answer.order)
    return lines


def _order_lines(order: Order) -> list[str]:
    groups = " < ".join(", ".join(group) for group in order.groups)
    weakest = order.weakest
    lines = [f"verdict: the published order, {groups}, holds in {percent(order.holds, 0)} %"]
    if order.holds == 1:
        return lines
    least = f"{weakest.lower} < {weakest.higher}, in {percent(weakest.holds, 0)} %"
    lines.append(f"least often: {least}")
    most, best = weakest.most, weakest.best
    if most is not None:
        what = f"what decides it: {_what(most.name, most.value)}, {_points(most.by)} points"
        lines.append(_broken(what, LINE))
    if weakest.usual <= 0:
        text = f"missing: {_points(-weakest.usual)} points"
        if best is not None:
            text += f"; {_what(best.name, best.value)} adds most, {_points(best.by)}"
        lines.append(_broken(text, LINE))
    return lines


def _sums(drawn: Drawn) -> str:
    draws = f"{drawn.draws} draws" if drawn.draws else ""
    if draws and drawn.yardsticks > 1:
        draws += f" by {drawn.yardsticks} yardsticks"
    tables = f"{drawn.tables} other tables of pairs" if drawn.tables else ""
    return ", each with ".join(part for part in (draws, tables) if part) or "the study alone"


def _points(share: float | None) -> str:
    if share is None:
        return MISSING
    points = _points_of(share)
    return f"{points:+.1f}" if points else "0.0"


def _points_of(share: float) -> float:
    """As shown."""
    return round(100 * share, 1)


def _what(name: str, value: str) -> str:
    """A parameter has a path and a value, an assumption a name and an alternative."""
    hard = f"{name} = {value}".replace(" ", HARD_SPACE)
    return hard if "." in name else f"{name}: {value}"


def _narrow(moved: Moved | None) -> str:
    return MISSING if moved is None else _broken(_what(moved.name, moved.value), NARROW)


def _broken(text: str, width: int) -> str:
    """*text* in lines of at most *width* characters, as far as it has dots of a path and blanks."""
    lines = [""]
    for part in re.split(r"(?<=\.)(?=[a-z])|(?<= )", text):
        if lines[-1] and len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip(" ") for line in lines).replace(HARD_SPACE, " ")

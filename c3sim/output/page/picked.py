"""The points that are simulated again: all of a small sweep, the best and worst of a large one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from c3sim.output.results.choice import front, objectives, preferred
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable

ENDS = 5  # best, and worst, of each scenario and strategy


def picked(table: ResultTable, most: int) -> list[int]:
    """Positions of at most *most* points that did not fail.

    First the best and the worst of each scenario and strategy by the preferred output, then the
    Pareto fronts of the objectives (or of time against energy), then points spread evenly over the
    rest.
    """
    good = [row for row, error in enumerate(table.errors) if not error]
    if len(good) <= most:
        return good
    chosen = dict.fromkeys([*_ends(table, good), *_fronts(table.keep(good), good)])
    rest = [row for row in good if row not in chosen]
    free = max(most - len(chosen), 0)
    spread = [rest[number * len(rest) // free] for number in range(min(free, len(rest)))]
    return [*chosen, *spread][:most]


def _ends(table: ResultTable, good: Sequence[int]) -> Iterator[int]:
    """The best and the worst of every group, then the second best and worst of every group, ..."""
    output = preferred(table)
    groups: dict[tuple[str, ...], list[int]] = {}
    names = [column.name for column in table.having("group")]
    for row in good:
        if output.values[row] is not None:
            group = tuple(table.columns[name].values[row] for name in names)
            groups.setdefault(group, []).append(row)
    ordered = [
        sorted(rows, key=lambda row: _worth(output, row), reverse=True) for rows in groups.values()
    ]
    for place in range(ENDS):
        for rows in ordered:
            if place < len(rows):
                yield rows[place]
                yield rows[-1 - place]


def _worth(output: Column, row: int) -> float:
    value = float(output.values[row])
    return -value if output.better == "lower" else value


def _fronts(table: ResultTable, rows: Sequence[int]) -> Iterator[int]:
    """Points on a front; *table* holds the points *rows* of the whole table."""
    named = objectives(table) or [
        table.columns[name] for name in ("wall_s", "energy_j") if name in table.columns
    ]
    for x, y in combinations(named, 2):
        best = front(
            x.values, y.values, x_higher=x.better == "higher", y_higher=y.better == "higher"
        )
        yield from (rows[place] for place in best)

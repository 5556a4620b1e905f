"""The gain of a search over what is there: the best design of each objective beside the node and
the workload as their files have them, and how sure the difference is.

Both are run with the same draws of all that is uncertain, so that what is unknown in both cancels.
A knob keeps the value of its design; in what is there it is drawn as any other number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from c3sim.experiments.axes import Settings
from c3sim.experiments.bands import parameters_of, settings_drawn, spread
from c3sim.experiments.points import Row
from c3sim.spec.reading.loading import LoadedNode

DRAWS = 32
SAME = 1e-9  # relative
Design = tuple[str, Settings]  # strategy, settings
Rows = Callable[[Sequence[Design]], list[Row]]


@dataclass(frozen=True, kw_only=True)
class Gain:
    """*best*, of the design of that number, and what is *there* under the *strategy* that is best
    so; None where nothing there can be run. *band*: 5th percentile, median and 95th of best less
    there over so many *draws*.
    """

    design: int
    best: float
    there: float | None
    strategy: str
    more: bool  # is better
    band: Mapping[str, float]
    draws: int

    @property
    def change(self) -> float | None:
        """Best less there; positive where more is better and there is something to gain."""
        return None if self.there is None else self.best - self.there

    @property
    def verdict(self) -> str:
        """``gained``, ``nothing`` (what is there is as good), ``open`` (the band has both signs,
        or there is none).
        """
        if self.there is None:
            return "open"
        sign = 1 if self.more else -1
        if sign * (self.best - self.there) <= SAME * abs(self.there):
            return "nothing"
        if not self.band:
            return "open"
        worst = self.band["p5"] if self.more else -self.band["p95"]
        return "gained" if worst > 0 else "open"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"change": self.change, "verdict": self.verdict}


def gains(
    objectives: Mapping[str, bool],
    settings: Sequence[Settings],
    rows: Sequence[Row],
    strategies: Sequence[str],
    node: LoadedNode | None,
    run: Rows,
) -> dict[str, Gain]:
    """The gain in each of the *objectives* of the designs with *settings* and *rows*; *strategies*:
    of what is there; *node*: where intervals stand, None where nobody knows them. *run* gives rows
    of designs.
    """
    plain = run([(strategy, ()) for strategy in strategies])
    found = {}
    for name, more in objectives.items():
        at = _best(rows, name, more)
        if at is None:
            continue
        place = _best(plain, name, more)
        design = (rows[at]["strategy"], settings[at])
        there = None if place is None else (strategies[place], ())
        changes = [] if node is None or there is None else _changes(node, there, design, name, run)
        found[name] = Gain(
            design=at,
            best=rows[at][name],
            there=None if place is None else plain[place][name],
            strategy="" if place is None else strategies[place],
            more=more,
            band=spread(changes) if changes else {},
            draws=len(changes),
        )
    return found


def _best(rows: Sequence[Row], name: str, more: bool) -> int | None:
    known = [n for n, row in enumerate(rows) if row["error"] is None and row[name] is not None]
    sign = -1 if more else 1
    return min(known, key=lambda number: sign * rows[number][name], default=None)


def _changes(node: LoadedNode, there: Design, best: Design, name: str, run: Rows) -> list[float]:
    """Best less there, of each draw that both can be run with."""
    fixed = dict(best[1])
    drawn = settings_drawn(parameters_of(node), DRAWS, seed=1)
    kept = [tuple(pair for pair in draw if pair[0] not in fixed) for draw in drawn]
    rows = run(
        [*((there[0], draw) for draw in drawn), *((best[0], (*draw, *best[1])) for draw in kept)]
    )
    pairs = zip(rows[: len(drawn)], rows[len(drawn) :], strict=True)
    return [
        now[name] - was[name]
        for was, now in pairs
        if was["error"] is None and now["error"] is None and None not in (was[name], now[name])
    ]

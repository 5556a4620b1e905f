"""Published claims beside the same figures here, and whether they hold: one list of any study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from c3sim.kit.grid import Table
from c3sim.kit.text import MISSING

#: Unit -> half of the last digit that is shown: a published figure is no more exact than that.
ROUNDED = {"x": 0.005, "%": 0.0005}
#: Distance by which a figure without a band may be off, relative to the published one.
NEAR = 0.1
#: The column of what decides a claim.
DECIDES = "decides as decided by"
FIRST, SECOND = "first hand", "second hand"


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A published figure, from *low* to *high* (None: no bound), and what comes out here.

    *standing*: how it is known; *band*: what *ours* may be; *unit* of all of them ("%": fractions);
    *decides*: what moves *ours* most, where that is known.
    """

    what: str
    ours: float | None
    low: float | None = None
    high: float | None = None
    unit: str = "x"
    standing: str = ""
    band: tuple[float, float] | None = None
    decides: str = ""

    @property
    def holds(self) -> bool | None:
        """True if the published figure, as exact as it is shown, meets *ours*: its band, or a tenth
        around it; None where either is not known.
        """
        if self.ours is None or (self.low is None and self.high is None):
            return None
        least, most = self.band or sorted((self.ours * (1 - NEAR), self.ours * (1 + NEAR)))
        half = ROUNDED.get(self.unit, 0.0)
        if self.high is None or self.low is None:  # a bound: nothing around it
            least, most, half = self.ours, self.ours, 0.0
        low, high = self.low, self.high
        return (low is None or most >= low - half) and (high is None or least <= high + half)

    def to_dict(self) -> dict[str, Any]:
        return {
            "claim": self.what,
            "published": [self.low, self.high],
            "standing": self.standing,
            "ours": self.ours,
            "unit": "1" if self.unit == "%" else self.unit,
            "band": list(self.band) if self.band else None,
            "holds": self.holds,
            "decides": self.decides,
        }


def claim(
    what: str,
    ours: float | None,
    published: Any,
    *,
    band: Sequence[float] | None = None,
    **more: Any,
) -> Claim:
    """A claim of which a figure is *published*, or its two ends, or nothing."""
    ends = published if isinstance(published, list | tuple) else (published, published)
    low, high = ends
    within = (band[0], band[1]) if band else None
    return Claim(what=what, ours=ours, low=low, high=high, band=within, **more)


def standing_of(published: Mapping[str, Any], what: str) -> str:
    """The standing of the claim *what*: first hand where ``first_hand`` has its beginning."""
    return FIRST if what.startswith(tuple(published.get("first_hand", ()))) else SECOND


def with_standing(claims: Callable[[Any], Iterable[Claim]]) -> Callable[[Any], list[Claim]]:
    """*claims* of a result, each with its standing, where it says none itself."""

    def stated(found: Any) -> list[Claim]:
        known = found.get("published", {})
        return [
            replace(each, standing=each.standing or standing_of(known, each.what))
            for each in claims(found)
        ]

    return stated


def brief(table: Table, rows: int = 15) -> Table:
    """*table* with no more than so many *rows*, and how many more there are."""
    more = len(table.rows) - rows
    note = f"{more} more rows: --full\n{table.note}" if more > 0 else table.note
    left = [each for each in table.columns if each not in ("standing", DECIDES)]
    return table._replace(rows=table.rows[:rows], columns=left, note=note)


def verdicts(title: str, claims: Iterable[Claim], source: str = "") -> Table:
    """A row per claim: the published figure, ours, the band, whether it holds, what decides."""
    found = list(claims)
    rows = []
    for each in found:
        ends = [end for end in (each.low, each.high) if end is not None]
        words = {False: "no", True: "yes", None: MISSING}
        rows.append(
            {
                "claim": each.what,
                "published": _cell(ends, each.unit),
                "here": _cell([each.ours], each.unit),
                "band": _cell(each.band or (), each.unit),
                "holds": words[each.holds],
                "standing": each.standing.removesuffix(" hand") if ends else "",
                "decides": each.decides,
            }
        )
    known = [each.holds for each in found if each.holds is not None]
    note = (
        f"{sum(known)} of {len(known)} hold: within the band, or within a tenth where there is none"
    )
    columns = ["claim", "published", "here", "holds"]
    columns += ["band"] if any(each.band for each in found) else []
    columns += ["standing"] if any(each.standing for each in found) else []
    columns += [DECIDES] if any(each.decides for each in found) else []
    title = f"{title}: published figures beside those here"
    note += "; standing: the published figure is known first or second hand"
    return Table(title, rows, columns, f"{note}\n{source}")


def _cell(values: Iterable[float | None], unit: str) -> str:
    """*values* from one to the other, with their unit."""
    from c3sim.kit.grid import shown

    known = dict.fromkeys(shown(each, unit) for each in values)
    text = " to ".join(known)
    if text in ("", MISSING):
        return text
    return f"{text}x" if unit == "x" else f"{text} {unit}".rstrip()

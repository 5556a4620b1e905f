"""Results as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from c3sim.studies.plain import ENTRIES, IF_KNOWN, KEY, to_plain


@dataclass(frozen=True, kw_only=True)
class Inner:
    x: int


@dataclass(frozen=True, kw_only=True)
class Outer:
    before: Inner = field(metadata=ENTRIES)
    named: str = field(metadata={KEY: "class"})
    values: dict[str, float | None] = field(metadata=ENTRIES)
    inner: tuple[Inner, ...]
    unknown: int | None
    absent: int | None = field(default=None, metadata=IF_KNOWN)


def test_fields_become_entries_in_their_order() -> None:
    outer = Outer(
        before=Inner(x=1), named="a", values={"y": 2.0}, inner=(Inner(x=3),), unknown=None
    )
    plain = {"x": 1, "class": "a", "y": 2.0, "inner": [{"x": 3}], "unknown": None}
    assert to_plain(outer) == plain and list(to_plain(outer)) == list(plain)


def test_what_is_known_is_shown() -> None:
    outer = Outer(before=Inner(x=1), named="a", values={}, inner=(), unknown=0, absent=4)
    assert to_plain(outer)["absent"] == 4

"""CU masks: which compute units a stream may use."""

from __future__ import annotations

import re

from c3sim.errors import InputError

_RANGE = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?")


def parse_cu_mask(mask: str | int | None, cus: int) -> tuple[int, ...]:
    """Bits of a CU mask, sorted: a count (the first n), ranges such as ``"0-271,280"``, or None
    (all *cus*).

    Raises InputError for an empty mask, bits that are not there, and text that is no ranges.
    """
    allowed = f"bits are 0 to {cus - 1}, as in '0-{cus - 1}'"
    if mask is None:
        return tuple(range(cus))
    if isinstance(mask, int):
        if not 1 <= mask <= cus:
            raise InputError(f"mask of {mask} compute units; must be 1 to {cus}")
        return tuple(range(mask))
    bits: set[int] = set()
    if not mask.strip():
        raise InputError(f"mask {mask!r} has no compute unit; {allowed}")
    for part in mask.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise InputError(f"{part!r} in mask {mask!r} is no bit or range; {allowed}")
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise InputError(f"{part!r} in mask {mask!r} runs backwards; {allowed}")
        if last >= cus:
            raise InputError(
                f"{part!r} in mask {mask!r} is beyond the last compute unit; {allowed}"
            )
        bits.update(range(first, last + 1))
    return tuple(sorted(bits))

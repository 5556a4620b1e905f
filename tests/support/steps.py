"""The cost of a call in steps: counts that do not depend on the machine or on what runs beside."""

from __future__ import annotations

import sys
from collections.abc import Callable


def steps(work: Callable[[], object]) -> int:
    """The number of functions that *work* calls, those of libraries included."""
    count = 0

    def one_more(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(one_more)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count

"""The words for a name that does not exist: the nearest one, or all there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def unknown(what: str, name: object, allowed: Iterable[object]) -> str:
    """``unknown WHAT 'name'; did you mean 'near'?``, or all that is allowed if nothing is near."""
    options = [str(option) for option in allowed]
    near = difflib.get_close_matches(str(name), options, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "allowed: " + (", ".join(options) or "none")
    return f"unknown {what} {str(name)!r}; {hint}"

"""The words for a name that does not exist: the nearest one, or all there are."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator

from c3sim.errors import InputError


def unknown(what: str, name: object, allowed: Iterable[object]) -> str:
    """``unknown WHAT 'name'; did you mean 'near'?``, or all that is allowed if nothing is near."""
    options = [str(option) for option in allowed]
    near = difflib.get_close_matches(str(name), options, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "allowed: " + (", ".join(options) or "none")
    return f"unknown {what} {str(name)!r}; {hint}"


def unknown_errors(
    what: str, name: object, allowed: Collection[object], path: str
) -> Iterator[InputError]:
    """An error at *path* unless *name* is None or *allowed*."""
    if name is not None and name not in allowed:
        yield InputError(unknown(what, name, allowed), path)

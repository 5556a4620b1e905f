"""The words for a name that does not exist: the nearest one, what a user's word means, or all there
are.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator

from c3sim.errors import InputError
from c3sim.input.synonyms import word


def unknown(what: str, name: object, allowed: Iterable[object]) -> str:
    """``unknown WHAT 'name'; did you mean 'near'?``, and what a word of users means; all that is
    allowed if there is neither.
    """
    options = [str(option) for option in allowed]
    near = difflib.get_close_matches(str(name), options, n=1)
    known = word(name)
    hints = [f"did you mean {near[0]!r}?"] if near else []
    hints += [f"here that is {known.means}"] if known else []
    return f"unknown {what} {str(name)!r}; " + (
        " ".join(hints) or "allowed: " + (", ".join(options) or "none")
    )


def unknown_errors(
    what: str, name: object, allowed: Collection[object], path: str
) -> Iterator[InputError]:
    """An error at *path* unless *name* is None or *allowed*."""
    if name is not None and name not in allowed:
        yield InputError(unknown(what, name, allowed), path)

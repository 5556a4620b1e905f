"""Hashes that tell one sweep from another: of its data, and of the code that it runs."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

_SHOWS_ONLY = ("cli", "output")  # packages that show results and compute none


def hash_of(data: Any) -> str:
    """The hash of plain data, whatever the order of its mappings."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


@cache
def code_hash() -> str:
    """The hash of every Python file of the package that a result can depend on."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        inner = path.relative_to(root)
        if inner.parts[0] not in _SHOWS_ONLY:
            digest.update(inner.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]

"""Hashes that tell one sweep from another: of its data, and of the code that it runs."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

# packages that show results and compute none; and the data folders, which a wheel has inside the
# package and a checkout beside it (data that a result depends on have hashes of their own)
_NO_PART = ("cli", "output", "hwmodels", "validation", "workloads")


def hash_of(data: Any) -> str:
    """The hash of plain data, whatever the order of its mappings."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


@cache
def code_hash() -> str:
    """The hash of every Python file of the package that a result can depend on."""
    return hash_of_code(Path(__file__).parent.parent)


def hash_of_code(root: Path) -> str:
    """The same of the package in the folder *root*, whether a wheel or a checkout."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        inner = path.relative_to(root)
        if inner.parts[0] not in _NO_PART:
            digest.update(inner.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]

"""rocblas-bench: CSV lines in its log. They do not tell the data type: the command above them does,
or the user.
"""

from __future__ import annotations

from ..result import Given, ImportResult
from .reader import read_bench


def read(text: str, given: Given) -> ImportResult:
    """A record for each line of values."""
    return read_bench(text, given, format="rocblas-bench", library="rocblas")

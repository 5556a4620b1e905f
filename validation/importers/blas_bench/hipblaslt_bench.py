"""hipblaslt-bench: CSV lines in its log, with kernel names where ``--print_kernel_info`` wrote
them.
"""

from __future__ import annotations

from ..result import Given, ImportResult
from .reader import read_bench


def read(text: str, given: Given) -> ImportResult:
    """A record for each line of values."""
    return read_bench(text, given, format="hipblaslt-bench", library="hipblaslt")

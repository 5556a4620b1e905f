"""hipblaslt-bench: CSV lines in its log, with kernel names where ``--print_kernel_info`` wrote them."""

from __future__ import annotations

from .bench_records import read_bench
from .result import Given, ImportResult

__all__ = ["read"]


def read(text: str, given: Given) -> ImportResult:
    """A record for each line of values."""
    return read_bench(text, given, format="hipblaslt-bench", library="hipblaslt")

"""A task of a trace in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..names import OP_WORDS, size_text

ISOLATED_NOTE = "kernel time, without launch; caches as the run left them"


def what(task: Mapping[str, Any] | None) -> str:
    """``GEMM 4096x4096x4096 bf16``, ``all-gather 128 MiB``; empty for None."""
    if task is None:
        return ""
    if task["kind"] == "gemm":
        batch = f" x{task['batch']}" if "batch" in task else ""
        return f"GEMM {task['m']}x{task['n']}x{task['k']}{batch} {task['dtype']}"
    return f"{OP_WORDS[task['op']]} {size_text(task['size'])}"

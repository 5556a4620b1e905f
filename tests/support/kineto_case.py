"""What tests of profiler traces look for in one."""

from __future__ import annotations


def kernels(document: dict, part: str) -> list[dict]:
    """The kernels of a trace with *part* in their name."""
    return [
        event
        for event in document["traceEvents"]
        if event.get("cat") == "kernel" and part in event["name"]
    ]

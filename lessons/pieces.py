"""Lesson 5: an all-gather in pieces, and a GEMM for each."""

from __future__ import annotations

import c3sim


def in_pieces(pieces: int, mebibytes: float) -> c3sim.Result:
    """An all-gather in *pieces* chunks, and a GEMM for each that waits for it."""
    gather = {
        "kind": "collective",
        "op": "all_gather",
        "size": f"{mebibytes} MiB",
        "stream": "communication",
    }
    tasks: dict[str, object] = {"gather": gather | ({"chunks": pieces} if pieces > 1 else {})}
    for number in range(pieces):
        tasks[f"gemm{number}"] = {
            "kind": "gemm",
            "m": 8192 // pieces,
            "n": 8192,
            "k": 8192,
            "stream": "compute",
            "after": [f"gather.chunk[{number}]" if pieces > 1 else "gather"],
        }
    return c3sim.run({"name": f"{pieces} pieces", "tasks": tasks})

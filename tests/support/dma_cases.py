"""Workloads of DMA engines at command level, for the laws: submission, variants, programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["dma_cases"]


def dma_cases(gather: Mapping[str, Any], peer: int) -> dict[str, Any]:
    """Name -> tasks, or a workload. *gather*: an all-gather; *peer*: a peer's offset that the node
    has.
    """
    return {
        "DMA all_gather in a batch": {
            "tasks": {"gather": {**gather, "backend": "dma"}},
            "host": {"submission": "batch"},
        },
        "DMA all_gather by broadcasts, direct": {
            "tasks": {"gather": {**gather, "backend": "dma", "variant": "bcst"}},
            "host": {"submission": "direct"},
        },
        "DMA all_to_all by swaps, direct": {
            "tasks": {"swap": {**gather, "op": "all_to_all", "backend": "dma", "variant": "swap"}},
            "host": {"submission": "direct"},
        },
        "DMA all_gather back to back, one thread": {
            "tasks": {"gather": {**gather, "backend": "dma", "variant": "b2b"}},
            "host": {"submission": "direct", "threads": "single"},
        },
        "pull behind a poll": {
            "tasks": {"pull": {"kind": "copy", "bytes": "1 MiB", "direction": "pull"}},
            "host": {"prelaunched": True},
        },
        "DMA all_gather by pulls": {"gather": {**gather, "backend": "dma", "direction": "pull"}},
        "copies within every GPU": {
            "copy": {
                "kind": "copy",
                "bytes": "64 MiB",
                "source": "gpu",
                "destination": "gpu",
                "gpus": "all",
            }
        },
        "copies from the host to every GPU": {
            "copy": {
                "kind": "copy",
                "bytes": "64 MiB",
                "source": "host",
                "destination": "gpu",
                "gpus": "all",
            }
        },
        "small blocks from the host in one call": {
            "tasks": {
                "copy": {
                    "kind": "copy",
                    "bytes": "8 KiB",
                    "source": "host",
                    "destination": "gpu",
                    "repeat": 4,
                }
            },
            "host": {"submission": "batch"},
        },
        "DMA program": {
            "program": {
                "kind": "commands",
                "program": [
                    {"op": "poll", "on": "ready", "engine": 1},
                    {"op": "copy", "bytes": "1 MiB", "peer": 1, "engine": 1},
                    {"op": "copy", "bytes": "2 MiB", "peer": peer, "engine": 0},
                    {"op": "atomic", "on": "ready", "engine": 0},
                ],
            }
        },
        "DMA program of every kind of packet": {
            "tasks": {
                "program": {
                    "kind": "commands",
                    "program": [
                        {"op": "timestamp", "on": "begin", "engine": 0},
                        {
                            "op": "broadcast",
                            "bytes": "1 MiB",
                            "peers": [1, peer] if peer > 1 else [1],
                            "engine": 0,
                        },
                        {
                            "op": "copy",
                            "bytes": "1 MiB",
                            "peer": 1,
                            "direction": "pull",
                            "engine": 0,
                        },
                        {"op": "timestamp", "on": "end", "engine": 0},
                        {"op": "atomic", "on": "moved", "peer": 1, "engine": 0},
                        {"op": "poll", "on": "moved", "engine": 1},
                        {"op": "copy", "bytes": "1 MiB", "peer": 1, "engine": 1},
                        {"op": "fence", "on": "done", "engine": 1, "value": 7},
                        {"op": "poll", "on": "done", "engine": 0, "value": 7},
                        {"op": "copy", "bytes": "1 MiB", "peer": "host", "engine": 0},
                    ],
                }
            },
            "host": {"submission": "direct"},
        },
        "two queues of a DMA engine": {
            "tasks": {
                "program": {
                    "kind": "commands",
                    "program": [
                        {"op": "copy", "bytes": "1 MiB", "peer": 1, "engine": 0, "queue": queue}
                        for queue in (0, 1, 0, 1)
                    ],
                }
            },
            "host": {"submission": "direct", "prelaunched": True},
        },
        "a program of one GPU that swaps": {
            "tasks": {
                "program": {
                    "kind": "commands",
                    "gpus": "first",
                    "program": [{"op": "swap", "bytes": "1 MiB", "peer": 1}],
                }
            },
            "host": {"submission": "direct", "prelaunched": True},
        },
    }

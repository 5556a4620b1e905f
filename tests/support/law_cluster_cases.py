"""What the laws are tried on where there are several nodes: algorithms, phases, engines with NICs,
copies by NICs.
"""

from __future__ import annotations

from typing import Any

from c3sim.specs.hardware import Node

__all__ = ["across_nodes"]

GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 512}
STREAM = {"kind": "stream", "pattern": "copy", "bytes": "32 MiB"}
GATHER = {"kind": "collective", "op": "all_gather", "size": "8 MiB"}
REDUCE = {**GATHER, "op": "all_reduce"}
SWAP = {**GATHER, "op": "all_to_all"}
ALGORITHMS = {
    "all_reduce": ("hierarchical", "ring", "direct"),
    "all_gather": ("hierarchical", "ring", "direct"),
    "reduce_scatter": ("hierarchical", "ring", "direct"),
    "all_to_all": ("hierarchical", "direct"),
}


def across_nodes(node: Node) -> dict[str, dict[str, Any]]:
    """Small workloads that between them use everything that lies between nodes."""
    far = {"kind": "copy", "bytes": "4 MiB", "executor": "nic", "peer": node.gpus}
    by_engines = {**GATHER, "backend": "dma"}
    cases: dict[str, Any] = {
        "phases one after the other": {
            "gather": {**GATHER, "algorithm": "hierarchical", "pipeline": 1}
        },
        "chunks of a hierarchical all_gather release gemms": {
            "gather": {**GATHER, "algorithm": "hierarchical", "chunks": 2, "repeat": 2},
            "gemm": {**GEMM, "after": ["gather.chunk[0]"]},
        },
        "DMA all_gather": {"gather": by_engines},
        "DMA all_gather in four parts": {"gather": {**by_engines, "pipeline": 4}},
        "DMA all_gather in a batch": {
            "tasks": {"gather": by_engines},
            "host": {"submission": "batch"},
        },
        "DMA all_gather, prelaunched": {
            "tasks": {"gather": {**by_engines, "size": "64 KiB"}},
            "host": {"prelaunched": True},
        },
        "DMA all_gather, pull, one thread": {
            "tasks": {"gather": {**by_engines, "direction": "pull"}},
            "host": {"threads": "single"},
        },
        "gemm beside DMA all_to_all": {"gemm": GEMM, "swap": {**SWAP, "backend": "dma"}},
        "DMA all_to_all, straight": {"swap": {**SWAP, "backend": "dma", "algorithm": "direct"}},
        "copy to another node": {"copy": far},
        "copies to another node, in turn, beside stream": {
            "copy": {**far, "gpus": "all", "repeat": 3},
            "stream": STREAM,
        },
        "copy to another node beside all_reduce": {"copy": far, "reduce": REDUCE},
        "copies to the host beside all_gather": {
            "copy": {**far, "executor": "dma", "destination": "host", "peer": 1, "gpus": "all"},
            "gather": GATHER,
        },
        "small all_reduce, eager": {
            "tasks": {"reduce": {**REDUCE, "size": "64 KiB"}},
            "host": {"launch": "eager"},
        },
        "gemm then all_reduce": {"gemm": GEMM, "reduce": REDUCE},
        "all_to_all then gemm": {"swap": SWAP, "gemm": GEMM},
    }
    for op, algorithms in ALGORITHMS.items():
        task = {**GATHER, "op": op}
        cases |= {f"{op}, {name}": {op: {**task, "algorithm": name}} for name in algorithms}
        phased = {**task, "algorithm": "hierarchical", "pipeline": 3}
        cases[f"gemm beside {op} in three parts"] = {op: phased, "gemm": GEMM}
    return {name: case if "tasks" in case else {"tasks": case} for name, case in cases.items()}

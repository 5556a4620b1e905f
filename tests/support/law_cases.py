"""What the laws are tried on: every packaged node, every packaged workload that it can run, and
small ones made here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from dma_cases import dma_cases
from law_cluster_cases import across_nodes
from law_exceptions import EXCEPTIONS, MISTAKES
from law_nodes import at_most

from c3sim.errors import InputErrors
from c3sim.input import library
from c3sim.input.loading import load_hardware, open_workload, parse_workload
from c3sim.schedules import expanded
from c3sim.simulation.run import Run
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

REL = 1e-9  # what rounding may do to a time, a rate or a sum of bytes
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
GEMM = {"kind": "gemm", "m": 2048, "n": 2048, "k": 1024}
BIG = {"kind": "gemm", "m": 4096, "n": 4096, "k": 512}
STREAM = {"kind": "stream", "pattern": "copy", "bytes": "32 MiB"}
COPY = {"kind": "copy", "bytes": "4 MiB"}
GATHER = {"kind": "collective", "op": "all_gather", "size": "8 MiB"}
#: Nodes with the GPU, the links and the host of another one, with fewer of them or a lower clock.
ALIKE = ("h200-4", "mi350x-8", "mi355x-2", "mi355x-4")
NODES: dict[str, Node] = {
    name: at_most(2, 4, load_hardware(name).node)
    for name in library.names("node")
    if name not in ALIKE
}


def made(node: Node) -> dict[str, dict[str, Any]]:
    """Workloads that between them use every mechanism; sizes are small, names say what runs beside
    what.
    """
    units = node.gpu.compute_unit_count
    half, peer = units // 2, min(2, node.gpus - 1)
    masks = {"a": {"compute_units": half}, "b": {"compute_units": f"{half}-{units - 1}"}}
    resident = {"kind": "gemm", "m": 2000, "n": 1800, "k": 1024}  # sizes that no tile divides
    swap, reduce = {**GATHER, "op": "all_to_all"}, {**GATHER, "op": "all_reduce"}
    cases: dict[str, Any] = {
        "gemm": {"gemm": GEMM},
        "gemm in fp8, batched": {"gemm": {**GEMM, "m": 256, "batch": 6, "dtype": "fp8"}},
        "gemm of small tiles": {
            "gemm": {**GEMM, "m": 512, "n": 512, "k": 8192, "macro_tile": [16, 16]}
        },
        "stream": {"stream": STREAM},
        "stream, warm": {"stream": {**STREAM, "pattern": "read", "inputs": "warm"}},
        "stream of many passes over a few KiB": {
            "stream": {**STREAM, "bytes": "256 KiB", "passes": 50}
        },
        "stream of passes beside all_gather": {"stream": {**STREAM, "passes": 3}, "gather": GATHER},
        "stream that computes": {
            "stream": {**STREAM, "pattern": "read", "passes": 2, "flops_per_byte": 64}
        },
        "held units beside gemm": {
            "hold": {"kind": "hold", "workgroups": 4, "time": "300 us"},
            "gemm": BIG,
        },
        "held units alone": {"hold": {"kind": "hold", "workgroups": units + 1, "time": "30 us"}},
        "copy to a peer by DMA": {"copy": {**COPY, "peer": peer}},
        "copy from a peer by DMA": {"copy": {**COPY, "source": "peer", "destination": "gpu"}},
        "copy by the peer's engines": {"copy": {**COPY, "direction": "pull", "engines": 2}},
        "DMA all_gather, pull": {"gather": {**GATHER, "backend": "dma", "direction": "pull"}},
        "stream beside DMA all_to_all, two engines to a peer": {
            "stream": STREAM,
            "swap": {**swap, "backend": "dma", "engines": 2},
        },
        "all_gather of a few KiB": {"gather": {**GATHER, "size": "16 KiB"}},
        "DMA all_gather, prelaunched": {
            "tasks": {"gather": {**GATHER, "size": "64 KiB", "backend": "dma"}},
            "host": {"prelaunched": True},
        },
        "copy to a peer on compute units": {
            "copy": {**COPY, "executor": "kernel", "workgroups": 1}
        },
        "local copy on compute units": {
            "copy": {**COPY, "destination": "gpu", "executor": "kernel", "workgroups": 4}
        },
        "copy to the host on compute units": {
            "copy": {**COPY, "destination": "host", "executor": "kernel", "workgroups": 4}
        },
        "copy from the host on compute units": {
            "copy": {
                **COPY,
                "source": "host",
                "destination": "gpu",
                "executor": "kernel",
                "workgroups": 8,
            }
        },
        "copies from the host in a batch": {
            "tasks": {
                "copy": {
                    **COPY,
                    "bytes": "64 KiB",
                    "source": "host",
                    "destination": "gpu",
                    "repeat": 8,
                }
            },
            "host": {"submission": "batch"},
        },
        "copy to the host beside stream": {
            "stream": STREAM,
            "copy": {**COPY, "destination": "host"},
        },
        "gemm beside DMA all_gather": {"gemm": GEMM, "gather": {**GATHER, "backend": "dma"}},
        "gemm beside DMA all_to_all": {"gemm": GEMM, "swap": {**swap, "backend": "dma"}},
        "masked streams": {
            "tasks": {"one": {**STREAM, "stream": "a"}, "two": {**STREAM, "stream": "b"}},
            "streams": masks,
        },
        "masked gemm beside all_reduce": {
            "tasks": {"gemm": {**BIG, "stream": "a"}, "reduce": {**reduce, "stream": "b"}},
            "streams": masks,
        },
        "repeated streams beside gemm": {
            "gemm": BIG,
            "stream": {**STREAM, "bytes": "4 MiB", "repeat": 3},
        },
        "persistent gemm beside all_reduce": {
            "reduce": reduce,
            "gemm": {**resident, "schedule": "persistent"},
        },
        "stream_k gemm beside all_reduce": {
            "reduce": reduce,
            "gemm": {**resident, "schedule": "stream_k"},
        },
        "work_stealing gemm beside all_reduce": {
            "reduce": reduce,
            "gemm": {**resident, "schedule": "work_stealing"},
        },
        "tile groups release copies": {
            "gemm": GEMM,
            "half": {**COPY, "gpus": "all", "after": ["gemm.tiles[50%]"]},
            "rest": {**COPY, "peer": peer, "gpus": "all", "after": ["gemm.tiles[100%]"]},
        },
        "chunks release gemms": {
            "gather": {**GATHER, "chunks": 2},
            "first": {**GEMM, "after": ["gather.chunk[0]"]},
            "second": {**GEMM, "after": ["gather.chunk[1]", "first"]},
        },
        "three kernels, one stream eager": {
            "tasks": {
                "one": {**GEMM, "stream": "s"},
                "two": {**STREAM, "stream": "s"},
                "three": STREAM,
            },
            "host": {"launch": "eager"},
        },
        "eager all_gather": {"tasks": {"gather": GATHER}, "host": {"launch": "eager"}},
        **dma_cases(GATHER, peer),
        "host step before gemm": {
            "think": {"kind": "host", "time": "20 us"},
            "gemm": {**GEMM, "after": ["think"]},
        },
    }
    for name in node.gpu.gemm_libraries:
        cases[f"gemm of library {name}"] = {"gemm": {**GEMM, "library": name}}
    for name in node.collective_libraries:
        small = {**GATHER, "size": "64 KiB", "backend": name}
        cases[f"all_gather of library {name}"] = {
            "gather": {**GATHER, "backend": name, "channels": 4}
        }
        cases[f"small all_gather of library {name}, eager"] = {
            "tasks": {"gather": small},
            "host": {"launch": "eager"},
        }
    for protocol in node.collective_library(None).protocols:
        cases[f"small all_gather, {protocol}"] = {
            "gather": {**GATHER, "size": "64 KiB", "protocol": protocol}
        }
    for op in COLLECTIVES:
        task = {**GATHER, "op": op}
        cases[op] = {op: task}
        cases[f"gemm then {op}"] = {"gemm": GEMM, op: task}
        cases[f"{op} then gemm"] = {op: task, "gemm": GEMM}
    return {name: case if "tasks" in case else {"tasks": case} for name, case in cases.items()}


def parsed(name: str, case: Mapping[str, Any]) -> Workload:
    return parse_workload({"schema": 1, "name": name, **case})


def _packaged(node: Node) -> dict[str, Workload]:
    found = {}
    for name in library.names("workload"):
        if node.nodes > 1 and library.find("workload", name).parent.name == "layers":
            # large kernels, which meet the same GPU on one node, and an all-gather as others have
            continue
        loaded = open_workload(name)
        try:
            loaded.check_on(node)
        except InputErrors:
            continue  # it is for another node
        found[f"packaged {name}"] = expanded(loaded.workload, node)
    return found


def workloads(node: Node) -> dict[str, Workload]:
    """Of several nodes those that use the network; the others see what they see on one."""
    cases = made(node) if node.nodes == 1 else across_nodes(node)
    found = {name: parsed(name, case) for name, case in cases.items()} | _packaged(node)
    able = {name: case for name, case in found.items() if _multiplies(node, case)}
    return {name: case for name, case in able.items() if node.nodes == 1 or _talks(case)}


def _multiplies(node: Node, workload: Workload) -> bool:
    """Whether the matrix units of *node* know the data types of *workload*."""
    known = node.gpu.compute_units.flops_per_cycle
    return all(getattr(task, "dtype", None) in {None, *known} for task in workload.tasks.values())


def _talks(workload: Workload) -> bool:
    return any(
        task.kind == "collective" or getattr(task, "executor", "") == "nic"
        for task in workload.tasks.values()
    )


@dataclass(frozen=True)
class Case:
    node_name: str
    name: str
    workload: Workload = field(compare=False)

    @property
    def node(self) -> Node:
        return NODES[self.node_name]

    def __str__(self) -> str:
        return f"{self.node_name}: {self.name}"


# Nodes on which the laws are part of a quick run, but for large layers; all else is marked slow.
QUICK = ("h200-2", "teaching-4", "teaching-cluster")

CASES = [
    Case(node, name, workload)
    for node in NODES
    for name, workload in workloads(NODES[node]).items()
]


def every_case(law: str, keep: Callable[[Case], bool] = lambda case: True) -> pytest.MarkDecorator:
    """Parametrise over the cases to *keep*, those with a known mistake marked as such."""

    def marks(case: Case) -> list[pytest.MarkDecorator]:
        reasons = [MISTAKES.get((law, name)) for name in (str(case), case.name)]
        mistakes = [pytest.mark.xfail(reason=reason, strict=True) for reason in reasons if reason]
        quick = case.node_name in QUICK and not case.name.startswith("packaged llama3")
        return mistakes if quick else [*mistakes, pytest.mark.slow]

    return pytest.mark.parametrize(
        "case",
        [pytest.param(case, marks=marks(case), id=str(case)) for case in CASES if keep(case)],
    )


def as_expected(law: str, case: Case, holds: bool) -> bool:
    """Whether *case* does what is expected: the law, or the exception that the table names."""
    return holds != any((law, name) in EXCEPTIONS for name in (str(case), case.name))


def only(workload: Workload, name: str) -> Workload:
    """*workload* with task *name* alone, which waits for nothing."""
    task = workload.tasks[name].model_copy(update={"after": ()})
    host = workload.host.model_copy(update={"order": ()})
    return workload.model_copy(update={"tasks": {name: task}, "host": host})


def ends(outcome: Run) -> dict[tuple[str, int], float]:
    return {key: times.end for key, times in outcome.times.items() if times.end is not None}


def as_json(outcome: Run) -> str:
    """Everything a run says about time, to the last bit."""
    times = [[*key, t.ready, t.start, t.end, t.detail] for key, t in outcome.times.items()]
    timeline = () if outcome.timeline is None else outcome.timeline.spans
    spans = [[s.track, s.name, s.task, s.start, s.end, dict(s.detail)] for s in timeline]
    return json.dumps([times, spans, outcome.end, outcome.events])

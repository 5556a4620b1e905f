"""What the laws are tried on: every packaged node, every packaged workload that it can run, and small ones made here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from c3sim import library
from c3sim.engine.fluid import Flow
from c3sim.errors import InputErrors
from c3sim.loading import load_hardware, open_workload, parse_workload
from c3sim.models.memory import memory_given
from c3sim.simulation import Outcome, simulate
from c3sim.specs.hardware import Node
from c3sim.specs.quantities import Unit
from c3sim.specs.workload import Workload

REL = 1e-9  # what rounding may do to a time, a rate or a sum of bytes
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
GEMM = {"kind": "gemm", "m": 2048, "n": 2048, "k": 1024}
BIG = {"kind": "gemm", "m": 4096, "n": 4096, "k": 512}
STREAM = {"kind": "stream", "pattern": "copy", "bytes": "32 MiB"}
GATHER = {"kind": "collective", "op": "all_gather", "size": "8 MiB"}
NODES: dict[str, Node] = {name: load_hardware(name).node for name in library.names("node")}


def made(node: Node) -> dict[str, dict[str, Any]]:
    """Workloads that between them use every mechanism; sizes are small, names say what runs beside what."""
    units = node.gpu.compute_unit_count
    half = units // 2
    masks = {"a": {"compute_units": half}, "b": {"compute_units": f"{half}-{units - 1}"}}
    resident = {"kind": "gemm", "m": 2000, "n": 1800, "k": 1024}  # sizes that no tile divides
    cases: dict[str, Any] = {
        "gemm": {"gemm": GEMM},
        "gemm in fp8, batched": {"gemm": {**GEMM, "m": 256, "batch": 6, "dtype": "fp8"}},
        "gemm of small tiles": {"gemm": {**GEMM, "m": 512, "n": 512, "k": 8192, "macro_tile": [16, 16]}},
        "stream": {"stream": STREAM},
        "stream, warm": {"stream": {**STREAM, "pattern": "read", "inputs": "warm"}},
        "copy to a peer by DMA": {"copy": {"kind": "copy", "bytes": "4 MiB", "peer": 2}},
        "copy to a peer on compute units": {
            "copy": {"kind": "copy", "bytes": "4 MiB", "executor": "kernel", "workgroups": 1}
        },
        "local copy on compute units": {
            "copy": {"kind": "copy", "bytes": "4 MiB", "destination": "gpu", "executor": "kernel", "workgroups": 4}
        },
        "copy to the host on compute units": {
            "copy": {"kind": "copy", "bytes": "4 MiB", "destination": "host", "executor": "kernel", "workgroups": 4}
        },
        "copy to the host beside stream": {
            "stream": STREAM, "copy": {"kind": "copy", "bytes": "4 MiB", "destination": "host"},
        },
        "gemm beside DMA all_gather": {"gemm": GEMM, "gather": {**GATHER, "backend": "dma"}},
        "gemm beside DMA all_to_all": {"gemm": GEMM, "swap": {**GATHER, "op": "all_to_all", "backend": "dma"}},
        "masked streams": {"tasks": {"one": {**STREAM, "stream": "a"}, "two": {**STREAM, "stream": "b"}}, "streams": masks},
        "masked gemm beside all_reduce": {
            "tasks": {"gemm": {**BIG, "stream": "a"}, "reduce": {**GATHER, "op": "all_reduce", "stream": "b"}},
            "streams": masks,
        },
        "repeated streams beside gemm": {"gemm": BIG, "stream": {**STREAM, "bytes": "4 MiB", "repeat": 3}},
        "persistent gemm beside all_reduce": {
            "reduce": {**GATHER, "op": "all_reduce"}, "gemm": {**resident, "schedule": "persistent"},
        },
        "stream_k gemm beside all_reduce": {
            "reduce": {**GATHER, "op": "all_reduce"}, "gemm": {**resident, "schedule": "stream_k"},
        },
        "work_stealing gemm beside all_reduce": {
            "reduce": {**GATHER, "op": "all_reduce"}, "gemm": {**resident, "schedule": "work_stealing"},
        },
        "tile groups release copies": {
            "gemm": GEMM,
            "half": {"kind": "copy", "bytes": "2 MiB", "gpus": "all", "after": ["gemm.tiles[50%]"]},
            "rest": {"kind": "copy", "bytes": "2 MiB", "peer": 2, "gpus": "all", "after": ["gemm.tiles[100%]"]},
        },
        "chunks release gemms": {
            "gather": {**GATHER, "chunks": 2},
            "first": {**GEMM, "after": ["gather.chunk[0]"]},
            "second": {**GEMM, "after": ["gather.chunk[1]", "first"]},
        },
        "three kernels, one stream eager": {
            "tasks": {"one": {**GEMM, "stream": "s"}, "two": {**STREAM, "stream": "s"}, "three": STREAM},
            "host": {"launch": "eager"},
        },
        "eager all_gather": {"tasks": {"gather": GATHER}, "host": {"launch": "eager"}},
        "DMA all_gather in a batch": {
            "tasks": {"gather": {**GATHER, "backend": "dma"}}, "host": {"submission": "batch"},
        },
        "DMA program": {
            "program": {
                "kind": "commands",
                "program": [
                    {"op": "wait", "on": "ready", "engine": 1},
                    {"op": "copy", "bytes": "1 MiB", "peer": 1, "engine": 1},
                    {"op": "copy", "bytes": "2 MiB", "peer": 2, "engine": 0},
                    {"op": "signal", "on": "ready", "engine": 0},
                ],
            },
        },
        "host step before gemm": {"think": {"kind": "host", "time": "20 us"}, "gemm": {**GEMM, "after": ["think"]}},
    }  # fmt: skip
    for library in node.gpu.gemm_libraries:
        cases[f"gemm of library {library}"] = {"gemm": {**GEMM, "library": library}}
    for protocol in node.collective_libraries["rccl"].protocols:
        cases[f"small all_gather, {protocol}"] = {"gather": {**GATHER, "size": "64 KiB", "protocol": protocol}}
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
        loaded = open_workload(name)
        try:
            loaded.check_on(node)
        except InputErrors:
            continue  # it is for another node
        found[f"packaged {name}"] = loaded.workload
    return found


def workloads(node: Node) -> dict[str, Workload]:
    return {name: parsed(name, case) for name, case in made(node).items()} | _packaged(node)


@dataclass(frozen=True)
class Case:
    node_name: str
    name: str
    workload: Workload

    @property
    def node(self) -> Node:
        return NODES[self.node_name]

    def __str__(self) -> str:
        return f"{self.node_name}: {self.name}"


# Known exceptions: (law, case or workload) -> the mechanism that explains it. An entry no longer needed fails.
EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "more_bandwidth_or_less_latency_never_makes_the_only_task_slower",
        "teaching-4: DMA all_gather in a batch",
    ): "a copy submitted earlier shares a link earlier with the copy before it, which ends later, and so does the copy "
    "that waits behind that one in its engine (2 engines serve 3 peers)",
}

# Mistakes of the simulator that a law has found: (law, case or workload) -> what is wrong. Strict: a fix fails here.
MISTAKES: dict[tuple[str, str], str] = {
    ("integral_of_rate_equals_work", "teaching-4: masked gemm beside all_reduce"): "rounds ahead repeat tiles",
    ("integral_of_rate_equals_work", "teaching-4: packaged gemms-wait-for-chunks"): "rounds ahead repeat tiles",
    ("declaration_order_changes_only_ties", "mi300x-8: tile groups release copies"): (
        "shares of tiles reached at one instant fire as declared, not by share"
    ),
}

CASES = [Case(node, name, workload) for node in NODES for name, workload in workloads(NODES[node]).items()]


def every_case(law: str, keep: Callable[[Case], bool] = lambda case: True) -> pytest.MarkDecorator:
    """Parametrise over the cases to *keep*, those with a known mistake marked as such."""

    def marks(case: Case) -> list[pytest.MarkDecorator]:
        reasons = [MISTAKES.get((law, name)) for name in (str(case), case.name)]
        return [pytest.mark.xfail(reason=reason, strict=True) for reason in reasons if reason]

    return pytest.mark.parametrize(
        "case", [pytest.param(case, marks=marks(case), id=str(case)) for case in CASES if keep(case)]
    )


def as_expected(law: str, case: Case, holds: bool) -> bool:
    """Whether *case* does what is expected of it: the law, or the exception that the table names."""
    return holds != any((law, name) in EXCEPTIONS for name in (str(case), case.name))


def only(workload: Workload, name: str) -> Workload:
    """*workload* with task *name* alone, which waits for nothing."""
    task = workload.tasks[name].model_copy(update={"after": ()})
    host = workload.host.model_copy(update={"order": ()})
    return workload.model_copy(update={"tasks": {name: task}, "host": host})


def ends(outcome: Outcome) -> dict[tuple[str, int], float]:
    return {key: times.end for key, times in outcome.times.items() if times.end is not None}


def as_json(outcome: Outcome) -> str:
    """Everything a run says about time, to the last bit."""
    times = [[*key, t.ready, t.start, t.end, t.detail] for key, t in outcome.times.items()]
    spans = [[s.track, s.name, s.task, s.start, s.end, dict(s.detail)] for s in outcome.spans]
    return json.dumps([times, spans, outcome.end, outcome.events])


def scaled(model: Any, factor: Callable[[str, str], float], path: str = "") -> Any:
    """*model* with every dimensional number multiplied by *factor(path, SI unit)*, wherever the schema has one."""
    update = {}
    for name, info in type(model).model_fields.items():
        value, here = getattr(model, name), f"{path}.{name}".strip(".")
        unit = next((mark.si for mark in info.metadata if isinstance(mark, Unit)), None)
        if isinstance(value, float) and unit:
            update[name] = value * factor(here, unit)
        elif isinstance(value, BaseModel):
            update[name] = scaled(value, factor, here)
        elif isinstance(value, dict):
            update[name] = {
                key: scaled(entry, factor, f"{here}.{key}") if isinstance(entry, BaseModel) else entry
                for key, entry in value.items()
            }
    return model.model_copy(update=update)


def without_power_limit(node: Node) -> Node:
    return scaled(node, lambda path, unit: 1e9 if path == "gpu.clock.power_limit" else 1.0)


# What an observer can know ----------------------------------------------------------------------------------------------


@dataclass
class Snapshot:
    """All flows in progress at one instant, with their rates: [(flow, rate)], and the domains' states."""

    time: float
    rates: list[tuple[Flow, float]]
    states: dict[str, Any]


@dataclass
class Recorder:
    """Writes down what the fluid layer announces; keeps its own integral of every flow's rate."""

    snapshots: list[Snapshot] = field(default_factory=list)
    ended_flows: list[tuple[Flow, float]] = field(default_factory=list)  # flow, integral of its rate
    _now: dict[Flow, tuple[float, float, float]] = field(default_factory=dict)  # since, rate, integral until then

    def _integral(self, flow: Flow, time: float) -> float:
        since, rate, integral = self._now.get(flow, (time, 0.0, 0.0))
        return integral + rate * (time - since)

    def rates(self, time: float, flows: Iterable[Flow], states: dict[str, Any]) -> None:
        for flow in flows:
            self._now[flow] = (time, flow.rate, self._integral(flow, time))
        active = [(flow, rate) for flow, (_, rate, _) in self._now.items()]
        self.snapshots.append(Snapshot(time, active, dict(states)))

    def ended(self, time: float, flow: Flow) -> None:
        self.ended_flows.append((flow, self._integral(flow, time)))
        self._now.pop(flow, None)

    def moved(self) -> dict[str, float]:
        """Bytes drawn on each capacity, integrated from the rates."""
        total: dict[str, float] = {}
        for flow, work in self.ended_flows:
            for capacity, amount in flow.amounts:
                total[capacity] = total.get(capacity, 0.0) + work * amount
        return total


def observed(case: Case, *, fold: bool | None = None) -> tuple[Outcome, Recorder]:
    recorder = Recorder()
    return simulate(case.node, case.workload, observers=[recorder], fold=fold), recorder


def limit(node: Node, capacity: str, users: list[Flow]) -> float:
    """What *capacity* gives [B/s], reckoned from the node's file, not read from the engine."""
    part = capacity.partition(".")[2]
    gpu = node.gpu
    if part == "hbm":
        reads, writes = sum(f.tags.reads for f in users), sum(f.tags.writes for f in users)
        return memory_given(gpu, writes / (reads + writes) if reads + writes else 0.0)
    if part == "memory_cache":
        assert gpu.memory_cache is not None
        return gpu.memory_cache.bandwidth
    if part == "l2":
        return gpu.l2.bandwidth * gpu.dies.count * gpu.clock.maximum
    if part.startswith("dma["):
        return gpu.dma_engines.bandwidth
    if part.startswith("host."):
        return node.host.link_bandwidth
    assert part.startswith(("link[", "port.")), f"a capacity the laws do not know: {capacity}"
    return node.links.bandwidth * node.links.per_peer

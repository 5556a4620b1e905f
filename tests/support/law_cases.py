"""Cases of the laws: every packaged node, every packaged workload that it can run, and small ones
of law_cases.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations_with_replacement
from pathlib import Path
from string import Template
from typing import Any
from zlib import crc32

import yaml
from law_nodes import at_most
from made_workload import workload_of

from c3sim.errors import C3simError, InputErrors
from c3sim.spec.hardware import Node
from c3sim.spec.reading import library
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node, open_workload
from c3sim.spec.schedules import expanded
from c3sim.spec.workload import Workload

FILE = Path(__file__).with_name("law_cases.yaml")
ALGORITHMS = {
    "all_reduce": ("hierarchical", "ring", "direct"),
    "all_gather": ("hierarchical", "ring", "direct"),
    "reduce_scatter": ("hierarchical", "ring", "direct"),
    "all_to_all": ("hierarchical", "direct"),
}
#: Nodes with the GPU, links and host of another one, with other numbers of them, or a clock or
#: memory of their own.
ALIKE = (
    *("gb200-72", "h100-8", "h100-cluster", "h200-4"),
    *("mi325x-8", "mi350x-8", "mi355x-2", "mi355x-4"),
)
NODES: dict[str, Node] = {
    name: at_most(2, 4, load_node(name)) for name in library.names("node") if name not in ALIKE
}
#: A test run tries every workload on the first that can run it; on others a :func:`cover`.
TEACHING = ("teaching-4", "teaching-cluster")


@dataclass(frozen=True)
class Case:
    node_name: str
    name: str
    workload: Workload = field(compare=False)

    @property
    def node(self) -> Node:
        return NODES[self.node_name]

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Mechanisms that meet in the workload, and each by itself."""
        return frozenset(combinations_with_replacement(sorted(mechanisms(self.workload)), 2))

    @property
    def kinds(self) -> set[str]:
        return {task.kind for task in self.workload.tasks.values()}

    def __str__(self) -> str:
        return f"{self.node_name}: {self.name}"


def _written(node: Node) -> dict[str, Any]:
    """The workloads of the file, and one for each library, protocol and operation of *node*."""
    units, peer = node.gpu.compute_unit_count, max(1, min(2, node.gpus - 1))
    places = {
        "more": units + 1,
        "lower": units // 2,
        "upper": f"{units // 2}-{units - 1}",
        "peer": peer,
        "peers": [1, peer] if peer > 1 else [1],
        "far": node.gpus,
    }
    text = Template(FILE.read_text(encoding="utf-8")).safe_substitute(places)
    read = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    gemm, big, gather = (read["shared"][name] for name in ("gemm", "big", "gather"))
    small = {**gather, "size": "64 KiB"}
    if node.nodes > 1:
        cases = read["several nodes"]
        for op, algorithms in ALGORITHMS.items():
            task = {**gather, "op": op}
            cases |= {f"{op}, {way}": {op: {**task, "algorithm": way}} for way in algorithms}
            parts = {**task, "algorithm": "hierarchical", "pipeline": 3}
            cases[f"gemm beside {op} in three parts"] = {op: parts, "gemm": big}
        return cases
    cases = read["one node"]
    for name in node.gpu.gemm_libraries:
        cases[f"gemm of library {name}"] = {"gemm": {**gemm, "library": name}}
    for name, of in node.collective_libraries.items():
        op = "all_gather" if "all_gather" in of.algorithms else next(iter(of.algorithms))
        task = {**gather, "op": op, "backend": name, "channels": 4}
        short = {**small, "op": op, "backend": name}
        eager = {"tasks": {"gather": short}, "host": {"launch": "eager"}}
        cases[f"{op} of library {name}"] = {"gather": task}
        cases[f"small {op} of library {name}, eager"] = eager
    for protocol in node.collective_library(None).protocols:
        cases[f"small all_gather, {protocol}"] = {"gather": {**small, "protocol": protocol}}
    for op in ALGORITHMS:
        task = {**gather, "op": op}
        cases[op] = {op: task}
        cases[f"gemm then {op}"] = {"gemm": gemm, op: task}
        cases[f"{op} then gemm"] = {op: task, "gemm": gemm}
    return cases


def parsed(name: str, case: Mapping[str, Any]) -> Workload:
    """The workload of *case*: its tasks, or tasks with streams and a host."""
    whole = case if "tasks" in case else {"tasks": case}
    return workload_of(name=name, **whole)


def _packaged(node: Node) -> Iterator[tuple[str, Workload]]:
    for name in library.names("workload"):
        if node.nodes > 1 and library.find("workload", name).parent.name == "layers":
            # large kernels, which meet the same GPU on one node, and an all-gather as others have
            continue
        loaded = open_workload(name)
        try:
            loaded.check_on(node)
        except InputErrors:
            continue  # it is for another node
        yield f"packaged {name}", expanded(loaded.workload, node)


def _able(node: Node, workload: Workload) -> bool:
    """True if the matrix units of *node* know the data types and, of several nodes, the workload
    uses the network: the others see there what they see on one.
    """
    tasks, known = workload.tasks.values(), node.gpu.compute_units.flops_per_cycle
    talks = any(t.kind == "collective" or getattr(t, "executor", "") == "nic" for t in tasks)
    dtypes = {getattr(task, "dtype", None) for task in tasks}
    if node.ranks == 1:  # no peer
        try:
            check_on_node(workload, node)
        except C3simError:
            return False
    return dtypes <= {None, *known} and (node.nodes == 1 or talks)


def _cases() -> Iterator[Case]:
    for name, node in NODES.items():
        written = {of: parsed(of, case) for of, case in _written(node).items()}
        for of, workload in (written | dict(_packaged(node))).items():
            if _able(node, workload):
                yield Case(name, of, workload)


def mechanisms(workload: Workload) -> set[str]:
    """The mechanisms that *workload* uses: every field of its tasks and of its host that is not the
    default, a word with its value, of what it waits for the kind, of commands the operation.
    """
    found = {f"host.{used}" for used in _used(workload.host.model_dump(exclude_defaults=True))}
    for task in workload.tasks.values():
        given = task.model_dump(exclude_defaults=True)
        waits = {re.sub(r"^[^.]*|\[.*", "", each) for each in map(str, given.pop("after", ()))}
        packets = {used for each in given.pop("program", ()) for used in _used(each)}
        own = {*_used(given), *packets, *(f"after{kind}" for kind in waits)}
        found |= {f"{task.kind}.{used}" for used in own} | {task.kind}
    return found


def _used(fields: Mapping[str, Any]) -> Iterator[str]:
    names = ("stream", "on", "order")  # given by whoever writes
    for name, value in fields.items():
        named = isinstance(value, str | bool) and name not in names
        if value is not None:
            yield f"{name}={value}" if named else name


def _pairs(case: Case) -> frozenset[tuple[str, str]]:
    return case.pairs


def cover(
    cases: Iterable[Case], shown: Callable[[Case], frozenset[tuple[str, str]]] = _pairs
) -> list[Case]:
    """Few of *cases*, which have all that is *shown* by one of them: every two mechanisms that meet
    there. Workloads of few tasks first, others on every node.
    """
    cases, chosen = list(cases), []
    left = {each for case in cases for each in shown(case)}

    def gain(case: Case) -> tuple[float, int]:
        new = len(shown(case) & left)
        return new / len(case.workload.tasks), crc32(str(case).encode())

    while left:
        chosen.append(max(cases, key=gain))
        left -= shown(chosen[-1])
    return [case for case in cases if case in chosen]


@cache
def sample() -> list[Case]:
    """Every workload on the first teaching node that can run it, or on one other where those
    cannot; on each other node a cover.
    """
    found: set[Case] = set()
    for name in NODES:
        found |= {*cover(case for case in CASES if case.node_name == name)}
    first = {case.name: case for case in reversed(CASES)}
    for name in reversed(TEACHING):
        first |= {case.name: case for case in CASES if case.node_name == name}
    found |= {*first.values()}
    return [case for case in CASES if case in found]


def on_real_nodes(cases: Iterable[Case]) -> list[Case]:
    """A cover of those of *cases* that are on real nodes: every two mechanisms that meet on one of
    them, and every kind of task on each.
    """
    return cover(
        (case for case in cases if case.node_name not in TEACHING),
        lambda case: case.pairs.union((case.node_name, kind) for kind in case.kinds),
    )


def on_teaching_nodes() -> list[Case]:
    """A cover of the cases on the teaching nodes."""
    return cover(case for case in CASES if case.node_name in TEACHING)


CASES = list(_cases())

"""Nodes of a Chakra trace as the events of a profiler trace, and what its kernels wait for.

Each node of a GPU becomes a kernel and, where shapes are known, the operator that it is part of.
Dependencies on other nodes of the GPU are followed through those of the host. A trace without start
times is laid out one node after the other, in an order that keeps to its dependencies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from c3sim.errors import InputError
from c3sim.specs.task import DTYPE_BYTES

from ..names import dtype_of
from .reader import Node
from .side import NodeSide, Side

_OPERATION = {
    "ALL_REDUCE": "AllReduce",
    "ALL_GATHER": "AllGather",
    "REDUCE_SCATTER": "ReduceScatter",
    "REDUCE_SCATTER_BLOCK": "ReduceScatter",
    "ALL_TO_ALL": "AllToAll",
}
_NO_KERNELS = (("Memset", "gpu_memset"), ("Memcpy", "gpu_memcpy"))
SHORTEST = 0.5  # us: durations are in whole ones, and 0 is less than one
_TYPE_NAMES = {"bf16": "c10::BFloat16", "fp16": "c10::Half", "fp32": "float"}


@dataclass(frozen=True, kw_only=True)
class Events:
    """*awaits*: number of a kernel's event -> those it waits for; *timed*: the trace has start
    times; *remarks*: what was taken for granted.
    """

    events: Sequence[Mapping[str, Any]]
    awaits: Mapping[int, Sequence[int]]
    timed: bool
    remarks: Sequence[str]


def events_of(nodes: Sequence[Node], side: Side, ranks: int, file: str) -> Events:
    """*ranks*: GPUs of a group of which *side* says nothing. Raises InputError: dependencies in a
    circle, or nothing for a GPU to do.
    """
    by_id = {node.id: node for node in nodes}
    own = [node for node in nodes if node.on_gpu]
    if not own:
        raise InputError("no node of it runs on a GPU", file=file)
    number = {node.id: place for place, node in enumerate(own, 1)}
    awaits = {node.id: _on_gpu(node, by_id) for node in own}
    timed = any(node.start for node in own)
    order = _order(own, awaits, file) if not timed else own
    remarks = []
    if not timed and side.durations != "alone":
        remarks.append(
            "no start times, so nobody knows what ran beside a node: durations are left out (a side"
            " file with durations: alone takes them)"
        )
    events: list[Mapping[str, Any]] = []
    clock = 0.0
    for node in order:
        told = side.of(node.name)
        duration = 0.0
        if timed or side.durations == "alone":
            duration = float(node.duration) or (SHORTEST if timed else 0.0)
        if told.time is not None:
            duration = 1e6 * told.time
        start = float(node.start) if timed else clock
        clock += duration
        place = (number[node.id], start, duration)
        events += _events(node, _caller(node, by_id), told, side, ranks, *place)
    return Events(
        events=events,
        awaits={
            number[each]: [number[other] for other in others] for each, others in awaits.items()
        },
        timed=timed,
        remarks=remarks,
    )


def _on_gpu(node: Node, by_id: Mapping[int, Node]) -> list[int]:
    """The nodes of the GPU that *node* waits for, through those of the host."""
    found: dict[int, None] = {}
    seen = {node.id}
    ahead = list(node.awaits)
    while ahead:
        each = ahead.pop()
        other = by_id.get(each)
        if each in seen or other is None:
            continue
        seen.add(each)
        if other.on_gpu:
            found[each] = None
        else:
            ahead += other.awaits
    return sorted(found)


def _order(nodes: Sequence[Node], awaits: Mapping[int, Sequence[int]], file: str) -> list[Node]:
    """As in the file, but behind what they wait for."""
    sorter = TopologicalSorter(awaits)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = ", ".join(str(each) for each in error.args[1][:8])
        raise InputError(f"nodes wait for each other in a circle: {circle}", file=file) from None
    place = {node.id: index for index, node in enumerate(nodes)}
    ready, ordered = sorted(sorter.get_ready(), key=place.__getitem__), list[Node]()
    while ready:
        first = ready.pop(0)
        ordered.append(nodes[place[first]])
        sorter.done(first)
        ready = sorted([*ready, *sorter.get_ready()], key=place.__getitem__)
    return ordered


def _caller(node: Node, by_id: Mapping[int, Node]) -> str:
    """Name of the host's operator that *node* is part of; else its own."""
    callers = (by_id.get(each) for each in node.callers)
    return next((each.name for each in callers if each is not None and not each.on_gpu), node.name)


def _events(
    node: Node,
    caller: str,
    told: NodeSide,
    side: Side,
    ranks: int,
    number: int,
    start: float,
    duration: float,
) -> list[Mapping[str, Any]]:
    """The kernel's event and its operator's."""
    moves = node.type.startswith("COMM_")
    stream = told.stream or str(node.attributes.get("stream", "comm" if moves else "compute"))
    args: dict[str, Any] = {"device": 0, "correlation": number, "External id": number}
    args["stream"] = stream
    name = node.name
    if node.type == "COMM_COLL_NODE" and node.collective in _OPERATION:
        name = f"ncclDevKernel_{_OPERATION[node.collective]}"
        args |= _message(node, told, side, ranks)
    elif moves:
        name = f"nccl {node.name}"
    common = {"ph": "X", "pid": 0, "ts": start}
    category = next((each for word, each in _NO_KERNELS if name.startswith(word)), "kernel")
    kernel = {**common, "cat": category, "name": name, "dur": duration, "tid": stream, "args": args}
    shapes, types = _shapes(node, told)
    if not shapes or category != "kernel":
        return [kernel]
    operator = "aten::mm" if told.gemm else caller
    about = {"External id": number, "Input Dims": shapes, "Input type": types}
    called = {**common, "cat": "cpu_op", "name": operator, "dur": 0.0}
    return [kernel, {**called, "tid": f"node {number}", "args": about}]


def _message(node: Node, told: NodeSide, side: Side, ranks: int) -> dict[str, Any]:
    """What a profiler says of a collective."""
    _, types = _shapes(node, told)
    dtype = next((found for each in types if (found := dtype_of(each))), told.dtype)
    group = str(node.attributes.get("pg_name", ""))
    gpus = side.groups.get(group, ranks)
    elements = round(float(node.attributes.get("comm_size", 0)) / DTYPE_BYTES[dtype])
    grows = node.collective == "ALL_GATHER" and side.sizes == "input"
    return {
        "Collective name": _OPERATION[node.collective],
        "In msg nelems": elements,
        "Out msg nelems": elements * (gpus if grows else 1),
        "dtype": dtype,
        "Group size": gpus,
        "Process Group Name": group,
    }


def _shapes(node: Node, told: NodeSide) -> tuple[list[Any], list[str]]:
    """Shapes and types of what goes into *node*."""
    if told.gemm:
        m, n, k = told.gemm
        return [[m, k], [k, n]], [_TYPE_NAMES.get(told.dtype, told.dtype)] * 2
    return _list(node.shapes), [str(each) for each in _list(node.types)]


def _list(text: str) -> list[Any]:
    """A list as Python or JSON writes it; empty where *text* is none."""
    try:
        found = json.loads(text.replace("'", '"'))
    except (ValueError, RecursionError):
        return []
    return [_tensor(each) for each in found] if isinstance(found, list) else []


def _tensor(each: Any) -> Any:
    """A type as PyTorch's profiler writes it: Chakra has ``Tensor(c10::BFloat16)``."""
    if isinstance(each, str) and each.startswith("Tensor("):
        return each.removeprefix("Tensor(").removesuffix(")")
    return each

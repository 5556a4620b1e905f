"""The nodes of a Chakra trace: protobuf messages, each behind its length, or their JSON form."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from c3sim.errors import InputError
from c3sim.importers.chakra_schema import COLLECTIVES, NODE_TYPES, TYPE_NAMES, messages, unpacked
from c3sim.importers.kineto import gemm_shape
from c3sim.importers.traces import classify
from c3sim.importers.values import dtype_of
from c3sim.spec.base import Spec
from c3sim.spec.quantities import Count, Extent, Time
from c3sim.spec.reading.loading import load_file
from c3sim.spec.task import DTYPE_BYTES, Dtype, Operator

_RANK = re.compile(r"\.(\d+)\.(?:et|json)(?:\.gz)?$")
_MARKS = ("ctrlDeps", "dataDeps", "ctrl_deps", "data_deps", "COMP_NODE", "COMM_COLL_NODE")


@dataclass(frozen=True, kw_only=True)
class Node:
    """*start*, *duration* [us]; *attributes* by name; nodes that it depends on: *data*, and
    *callers*, those that its control comes from.
    """

    id: int
    name: str
    type: str
    data: tuple[int, ...]
    callers: tuple[int, ...]
    start: int
    duration: int
    shapes: str
    types: str
    attributes: Mapping[str, Any]

    @property
    def awaits(self) -> tuple[int, ...]:
        """All nodes that it depends on."""
        return (*self.data, *self.callers)

    @property
    def on_gpu(self) -> bool:
        """True if a GPU runs it: what communicates, and computation that no host is said to do."""
        if self.type.startswith("COMM_"):
            return True
        return self.type == "COMP_NODE" and not self.attributes.get("is_cpu_op", False)

    @property
    def collective(self) -> str:
        """Name of its collective; empty: it is none that the schema knows."""
        given = self.attributes.get("comm_type", -1)
        if isinstance(given, str):
            return given.upper() if given.upper() in COLLECTIVES else ""
        return COLLECTIVES[given] if 0 <= given < len(COLLECTIVES) else ""


def is_chakra(data: bytes) -> bool:
    """True if unpacked *data* looks like a Chakra trace, not like one of a profiler."""
    head = data[:4096]
    if head.lstrip()[:1] not in (b"{", b"["):
        return b"\0" in head or not _is_text(head)
    return b"traceEvents" not in data and any(mark.encode() in data for mark in _MARKS)


def _is_text(head: bytes) -> bool:
    return all(byte >= 32 or byte in b"\t\r\n" for byte in head)


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A trace of one *rank*, None where nothing tells it; *attributes* of its metadata by name."""

    version: str
    attributes: Mapping[str, Any]
    nodes: Sequence[Node]
    rank: int | None


def read_graph(data: bytes, file: str) -> Graph:
    """From unpacked *data*; the rank by metadata, or by a name such as ``step.3.et``. Raises
    InputError: no such trace, or cut off.
    """
    text = data.lstrip()[:1] in (b"{", b"[")
    version, attributes, nodes = "", dict[str, Any](), list[Node]()
    try:
        for place, message in enumerate(_of_json(data) if text else unpacked(data)):
            if place == 0 and not hasattr(message, "duration_micros"):
                version, attributes = message.version, _attributes(message)
            else:
                nodes.append(_node(message))
    except (ValueError, IndexError, RecursionError) as error:
        raise InputError(f"is no whole Chakra trace: {error}", file=file) from None
    except Exception as error:  # what protobuf raises of damaged messages
        raise InputError(f"is no Chakra trace: {type(error).__name__}", file=file) from None
    if not nodes:
        raise InputError("is no Chakra trace: it has no nodes", file=file)
    named = _RANK.search(file)
    rank = attributes.get("rank", int(named[1]) if named else None)
    return Graph(version=version, attributes=attributes, nodes=nodes, rank=rank)


def _of_json(data: bytes) -> Iterator[Any]:
    """Objects one after the other, as Chakra's own tool writes them, or in a list or ``nodes``."""
    from google.protobuf.json_format import ParseDict

    metadata, node = messages()
    for each in _objects(data.decode("utf-8-sig")):
        if "version" in each and "id" not in each and "type" not in each:
            yield ParseDict(each, metadata(), ignore_unknown_fields=True)
        else:
            yield ParseDict(each, node(), ignore_unknown_fields=True)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder, place = json.JSONDecoder(), 0
    while (begin := len(text) - len(text[place:].lstrip())) < len(text):
        found, place = decoder.raw_decode(text, begin)
        if isinstance(found, dict) and isinstance(found.get("nodes"), list):
            found = found["nodes"]
        yield from found if isinstance(found, list) else [found]


def _attributes(message: Any) -> dict[str, Any]:
    return {
        each.name: getattr(each, kind)
        for each in message.attr
        if (kind := each.WhichOneof("value")) is not None
    }


def _node(message: Any) -> Node:
    return Node(
        id=message.id,
        name=message.name,
        type=NODE_TYPES[message.type] if message.type < len(NODE_TYPES) else NODE_TYPES[0],
        data=tuple(message.data_deps),
        callers=tuple(message.ctrl_deps),
        start=message.start_time_micros,
        duration=message.duration_micros,
        shapes=message.inputs.shapes,
        types=message.inputs.types,
        attributes=_attributes(message),
    )


# Nodes of a Chakra trace as the events of a profiler trace, and what its kernels wait for.
#
# Each node of a GPU becomes a kernel and, where shapes are known, the operator that it is part of.
# Dependencies on other nodes of the GPU are followed through those of the host. A trace without
# start times is laid out one node after the other, in an order that keeps to its dependencies.


_OPERATION = {
    "ALL_REDUCE": "AllReduce",
    "ALL_GATHER": "AllGather",
    "REDUCE_SCATTER": "ReduceScatter",
    "REDUCE_SCATTER_BLOCK": "ReduceScatter",
    "ALL_TO_ALL": "AllToAll",
}
_NO_KERNELS = (("Memset", "gpu_memset"), ("Memcpy", "gpu_memcpy"))
#: Attributes of a node: FLOP, and bytes that it touches.
COSTS = ("num_ops", "tensor_size")
SHORTEST = 0.5  # us: durations are in whole ones, and 0 is less than one


@dataclass(frozen=True, kw_only=True)
class Events:
    """*awaits*: number of a kernel's event -> those it waits for, None: the trace has no edges;
    *timed*: it has start times; *remarks*: what was taken for granted.
    """

    events: Sequence[Mapping[str, Any]]
    awaits: Mapping[int, Sequence[int]] | None
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
    linked = any(awaits.values())
    if not linked and len(own) > 1:
        remarks.append("no dependencies between its nodes: work is chained by stream")
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
        awaits={number[each]: [number[o] for o in others] for each, others in awaits.items()}
        if linked
        else None,
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
    """Nodes in the order of the file, each behind all that it waits for."""
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
    args |= {key: node.attributes[key] for key in COSTS if key in node.attributes}
    name = node.name
    if node.type == "COMM_COLL_NODE" and node.collective in _OPERATION:
        name = f"ncclDevKernel_{_OPERATION[node.collective]}"
        args |= _message(node, told, side, ranks)
    elif moves:
        name = f"nccl {node.name}"
    shapes, types = _shapes(node, told)
    product = told.gemm is not None or _multiplies(node, shapes)
    if product and classify(name).library == "triton":
        name = f"product {name}"  # a bare word is no name of a kernel here
    common = {"ph": "X", "pid": 0, "ts": start}
    category = next((each for word, each in _NO_KERNELS if name.startswith(word)), "kernel")
    kernel = {**common, "cat": category, "name": name, "dur": duration, "tid": stream, "args": args}
    if not shapes or category != "kernel":
        return [kernel]
    operator = "aten::mm" if product else caller
    about = {"External id": number, "Input Dims": shapes, "Input type": types}
    called = {**common, "cat": "cpu_op", "name": operator, "dur": 0.0}
    return [kernel, {**called, "tid": f"node {number}", "args": about}]


def _multiplies(node: Node, shapes: Sequence[Any]) -> bool:
    """True if the FLOP of *node* are those of the product of its first two inputs."""
    found = gemm_shape(list(shapes), 0, transposed=False)
    flops = 2 * math.prod(found.values()) if found else 0
    return flops > 0 and node.attributes.get("num_ops") == flops


def _message(node: Node, told: NodeSide, side: Side, ranks: int) -> dict[str, Any]:
    """Collective as a profiler's events tell it."""
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
        return [[m, k], [k, n]], [TYPE_NAMES.get(told.dtype, told.dtype)] * 2
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


# The parts that a Chakra trace lacks, from a file beside it.


class NodeSide(Spec):
    """Facts on the nodes whose name has *name* (a regular expression); the first that fits
    counts.
    """

    name: str
    time: Time | None = None
    """alone"""
    gemm: tuple[Extent, Extent, Extent] | None = None
    """M, N, K"""
    dtype: Dtype = "bf16"
    """of the GEMM, or of a collective"""
    operator: Operator | None = None
    """class in a model"""
    stream: str | None = None


class Side(Spec):
    """Facts on a whole trace."""

    schema_version: Literal[1] = Field(1, alias="schema")
    kind: Literal["chakra"] = "chakra"
    durations: Literal["alone", "beside_others"] = "beside_others"
    """alone: each node's duration is that of a run in which nothing ran beside it; beside_others:
    those count that, by their start times, nothing ran beside"""
    sizes: Literal["input", "buffer"] = "input"
    """what comm_size is: bytes that go in on a GPU, as PyTorch's converter writes, or the full
    buffer"""
    groups: dict[str, Count] = Field({})
    """process group -> its GPUs; left out: all of the node"""
    nodes: tuple[NodeSide, ...] = ()

    def of(self, name: str) -> NodeSide:
        """Entry of the node *name*."""
        return next((each for each in self.nodes if re.search(each.name, name)), _NOTHING)


_NOTHING = NodeSide(name="")


def read_side(path: Path | None) -> Side:
    """Raises InputError or InputErrors: a mistake in it."""
    if path is None:
        return Side()
    side = load_file(path, Side)
    for each in side.nodes:
        try:
            re.compile(each.name)
        except re.error as error:
            message = f"{each.name!r} is no regular expression ({error})"
            raise InputError(message, "nodes", str(path)) from None
    return side

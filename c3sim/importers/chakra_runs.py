"""A run as Chakra traces, one a rank, which other simulators replay; and the workload back of them.

A node is a task; of one that is repeated, one time. Its attributes are those that the converters of
mlc-chakra 1.0.0 write (``is_cpu_op``, ``stream``, ``comm_type``, ``comm_size``, ``pg_name``: the
ranks of its group) and those by which ASTRA-sim takes compute nodes and messages (``num_ops``,
``tensor_size``, ``comm_src``, ``comm_dst``, ``comm_tag``; Chakra's feeder, et_feeder_node). Its
edges are the task before it on its stream, and ``after``; of a share of a task's tiles, the task.

What the schema has no word for stands in attributes of c3sim: ``c3sim.task`` of a node and
``c3sim.workload`` of the metadata. From them the workload comes back, with the edges of the nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from c3sim.importers.chakra import Graph
from c3sim.importers.chakra_schema import (
    COLLECTIVES,
    TYPE_NAMES,
    Attributes,
    add,
    messages,
    new_node,
    packed,
)
from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.schedules import expanded
from c3sim.spec.task import DTYPE_BYTES, Kernel, TaskBase
from c3sim.spec.workload import (
    Collective,
    Copy,
    Gemm,
    HostTask,
    StreamKernel,
    Workload,
    parse_after,
    task_order,
)

VERSION = "1.0.0"
TASK, WORKLOAD = "c3sim.task", "c3sim.workload"
FIRST = 1  # us: a start of 0 would say that there is none


def chakra_traces(node: Node, workload: Workload) -> Iterator[bytes]:
    """The trace of each rank of *workload*, run on *node*; a schedule in pieces is written out."""
    workload = expanded(workload, node)
    run = simulate(node, workload)
    head = {**_plain(workload), "node": node.name}
    del head["tasks"]
    for rank in range(node.ranks):
        metadata = messages()[0](version=VERSION)
        add(metadata, {"rank": rank, WORKLOAD: json.dumps(head)})
        yield packed([metadata, *_Nodes(node, workload, run, rank).all()])


def _plain(model: Workload | TaskBase) -> dict[str, Any]:
    """*model* as a file has it, in SI units, without what is left out."""
    plain: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return plain


class _Nodes:
    """The nodes of one rank; *of* each task: numbers of its own, and behind them of what it
    receives.
    """

    def __init__(self, node: Node, workload: Workload, run: Run, rank: int):
        self.node, self.workload, self.run, self.rank = node, workload, run, rank
        self.of: dict[str, range] = {}
        free = 1
        for name in task_order(workload):
            task = workload.tasks[name]
            count = task.repeat + (_sender(task, node, rank) is not None)
            self.of[name] = range(free, free + count)
            free += count

    def all(self) -> Iterator[Any]:
        """Nodes of each task, in order of launch."""
        last: dict[str, str] = {}
        streams: dict[str, int] = {}
        for name in self.of:
            task = self.workload.tasks[name]
            queue = name if task.stream is None else f"stream {task.stream}"
            number = streams.setdefault(queue, len(streams))
            awaited = [last[queue]] if queue in last else []
            awaited += [parse_after(entry).task for entry in (*task.after, *task.awaited)]
            yield from self._of_task(name, task, number, awaited)
            last[queue] = name

    def _of_task(
        self, name: str, task: TaskBase, stream: int, awaited: Iterable[str]
    ) -> Iterator[Any]:
        edges, hosts = self._ends(awaited), self._ends(task.launch_after)
        ours = json.dumps(_own(task))
        times = self.run.times.get((name, self.rank)) or self.run.task(name)
        duration = 1e6 * (times.end - times.start) / task.repeat
        start = 1e6 * (times.start + self.run.begins.get(self.rank, 0.0))
        for turn, number in enumerate(self.of[name][: task.repeat]):
            kind, facts = _facts(task, self.node, self.rank)
            facts["attr"] |= {"stream": stream, TASK: "" if turn else ours}
            facts["data_deps"] = [number - 1] if turn else edges
            facts["ctrl_deps"] = [] if turn else hosts
            yield _timed(new_node(number, name, kind, **facts), start + turn * duration, duration)
        if (sender := _sender(task, self.node, self.rank)) is not None:
            assert isinstance(task, Copy)
            attr: Attributes = {"is_cpu_op": False, "comm_size": round(task.bytes), TASK: ""}
            attr |= {"comm_src": sender, "comm_dst": self.rank, "comm_tag": 0, "stream": stream}
            received = new_node(self.of[name][-1], name, "COMM_RECV_NODE", attr=attr)
            yield _timed(received, start, duration)

    def _ends(self, tasks: Iterable[str]) -> list[int]:
        """The last node of each of *tasks*, and what it receives."""
        ends = (self.of[name][self.workload.tasks[name].repeat - 1 :] for name in tasks)
        return list(dict.fromkeys(number for each in ends for number in each))


def _timed(node: Any, start: float, duration: float) -> Any:
    """*node* with its times [us], in whole ones as the schema has them."""
    node.start_time_micros, node.duration_micros = FIRST + round(start), round(duration)
    return node


def _sender(task: TaskBase, node: Node, rank: int) -> int | None:
    """The rank from which the copy *task* comes to *rank*; None: none does."""
    if not isinstance(task, Copy) or task.destination != "peer":
        return None
    others = [0] if task.of_first_gpu else range(node.ranks)
    return next((each for each in others if _peer(node, each, task.peer) == rank), None)


def _own(task: TaskBase) -> dict[str, Any]:
    """Fields of *task* that its edges do not say."""
    plain = _plain(task)
    parts = [entry for entry in task.after if parse_after(entry).task != entry]
    plain.pop("after", None)
    return plain | ({"after": parts} if parts else {})


def _peer(node: Node, rank: int, offset: int) -> int:
    """The rank that is *offset* further round its node, or in another one (see ``Copy``)."""
    gpus, nodes = node.gpus, node.ranks // node.gpus
    further, round_ = divmod(offset, gpus)
    return (rank // gpus + further) % nodes * gpus + (rank % gpus + round_) % gpus


def _facts(task: TaskBase, node: Node, rank: int) -> tuple[str, dict[str, Any]]:
    """Type of the node of *task* on *rank*, and fields that say what it does."""
    attr: Attributes = {"is_cpu_op": isinstance(task, HostTask)}
    if isinstance(task, Collective):
        return "COMM_COLL_NODE", _collective(task, node, rank)
    if isinstance(task, Copy):
        size = round(task.bytes)
        if "host" in (task.source, task.destination):
            kind = "MEM_LOAD_NODE" if task.source == "host" else "MEM_STORE_NODE"
            return kind, {"attr": attr | {"tensor_size": size}}
        if task.destination == "peer":
            attr |= {"comm_size": size, "comm_src": rank, "comm_dst": _peer(node, rank, task.peer)}
            return "COMM_SEND_NODE", {"attr": attr | {"comm_tag": 0}}
        return "COMP_NODE", {"attr": attr | {"tensor_size": 2 * size}}
    if isinstance(task, Gemm):
        batch = [task.batch] if task.batch > 1 else []
        flops = 2 * task.m * task.n * task.k * task.batch
        return "COMP_NODE", {
            "attr": attr | {"num_ops": flops, "tensor_size": round(task.operand_bytes)},
            "shapes": [[*batch, task.m, task.k], [*batch, task.k, task.n]],
            "types": [TYPE_NAMES.get(task.dtype, task.dtype)] * 2,
        }
    if isinstance(task, Kernel):
        attr |= {"num_ops": round(task.flops), "tensor_size": round(task.read + task.stored)}
    elif isinstance(task, StreamKernel):
        size = round(task.operand_bytes * task.passes)
        attr |= {"num_ops": round(task.flops_per_byte * size), "tensor_size": size}
    return "COMP_NODE", {"attr": attr}


def _collective(task: Collective, node: Node, rank: int) -> dict[str, Any]:
    """Attributes of a collective; its size is the input of a GPU, as PyTorch's converter has it."""
    group = task.group or node.ranks
    size = round(task.size / (group if task.op == "all_gather" else 1))
    span = group * task.stride
    first = rank // span * span + rank % task.stride
    members = range(first, first + span, task.stride)
    attr: Attributes = {"is_cpu_op": False, "comm_size": size}
    attr |= {
        "comm_type": COLLECTIVES.index(task.op.upper()),
        "pg_name": ",".join(map(str, members)),
    }
    elements = size // DTYPE_BYTES[task.dtype]
    types = [TYPE_NAMES.get(task.dtype, task.dtype)]
    return {"attr": attr, "shapes": [[elements]], "types": types}


# Back: the workload of a trace that c3sim wrote.


def workload_of(graph: Graph) -> Mapping[str, Any] | None:
    """The workload as a file has it, in SI units; None: another program wrote the trace, or nodes
    of it.
    """
    told = [node.attributes.get(TASK) for node in graph.nodes]
    if WORKLOAD not in graph.attributes or None in told:
        return None
    content: dict[str, Any] = json.loads(graph.attributes[WORKLOAD])
    names = {node.id: node.name for node in graph.nodes}
    tasks: dict[str, dict[str, Any]] = {}
    last: dict[str, str] = {}
    for node, text in zip(graph.nodes, told, strict=True):
        if not text:
            continue  # a repeat, or the other side of a copy
        task: dict[str, Any] = json.loads(text)
        parts = task.pop("after", [])
        known = {parse_after(entry).task for entry in parts} | {*task.get("awaits", ())}
        queue = task.get("stream", f"of {node.name}")
        known.add(last.get(queue, ""))
        edges = dict.fromkeys(names[each] for each in node.data if each in names)
        if after := [*parts, *(name for name in edges if name not in known)]:
            task["after"] = after
        last[queue] = node.name
        tasks[node.name] = task
    return {**content, "tasks": tasks}

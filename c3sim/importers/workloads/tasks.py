"""Each kernel of a trace as a task: GEMM, collective, or a kernel of any kind."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputErrors
from c3sim.importers.chakra import COSTS
from c3sim.importers.kineto import identify
from c3sim.importers.values import OP_WORDS
from c3sim.importers.workloads.alone import Alone
from c3sim.importers.workloads.trace import Trace, Work
from c3sim.importers.workloads.waits import Meeting
from c3sim.models.memory import memory_given
from c3sim.simulation.runs import isolated
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.workload import Workload

LARGE = 1 << 20  # bytes: a copy from or to the host of no more is a kernel of its time
TRIES, EXACT = 6, 0.002  # of the search of a speed; relative error of its time
MOST_OFF = 20.0  # a speed no further from the model's: latencies do not follow it
LATE = 5.0  # us: less is no waiting for peers
#: Pieces that a workgroup of a kernel takes whose grid is made to fill the GPU once. A guess.
PIECES = 16
WAITED = 1.5  # times the model: a collective alone that took longer waited for its peers

Task = dict[str, Any]


@dataclass
class Guesses:
    """Guesses for facts that the trace lacked, with counts."""

    found: Counter[str]

    def add(self, what: str) -> None:
        self.found[what] += 1

    def lines(self) -> list[str]:
        return [f"{what} ({count})" if count > 1 else what for what, count in self.found.items()]


class Tasks:
    """Tasks of one trace on *node*; by id of a work: *alone*, *meetings* of collectives, *clocked*,
    the part of its time that follows the clock.
    """

    def __init__(
        self,
        trace: Trace,
        node: Node,
        alone: Mapping[int, Alone],
        meetings: Mapping[int, Meeting],
        guesses: Guesses,
        clocked: Mapping[int, float],
    ):
        self.trace, self.node, self.alone, self.meetings = trace, node, alone, meetings
        self.clocked = clocked
        self.guesses = guesses
        self.bandwidth = memory_given(node.gpu, 0.5)
        self._models: dict[str, tuple[Task, float] | None] = {}
        self._kernels = Counter(
            _call_of(work) for work in trace.works if work.operator and work.category == "kernel"
        )
        self._meeting_times = self._from_last_arrival()

    def task(self, work: Work) -> Task:
        """*work* as a task, without its place among others."""
        task: Task | None = None
        if work.kind.kind == "gemm":
            task = self._gemm(work)
        elif work.is_collective:
            task = self._collective(work)
        return self._kernel(work) if task is None else task

    def _gemm(self, work: Work) -> Task | None:
        found, _, missing = identify(work.kind, work.args, self.trace.links)
        if found is None:
            self.guesses.add(f"GEMMs without a shape are kernels of their time: {missing}")
            return None
        modelled = self._model(dict(found))
        if modelled is None:
            self.guesses.add("GEMMs that the node's library cannot do are kernels of their time")
            return None
        task, model = modelled
        time = self.alone[id(work)].time
        if time is None:
            self.guesses.add("GEMMs that never ran alone take the model's time")
            return task
        return self._as_fast(task, model, time * 1e-6)

    def _as_fast(self, task: Task, model: float, time: float) -> Task:
        """*task* with the speed at which it takes *time* [s] alone, *model* [s] being that of the
        model: a faster one may meet the limit of power and has to be faster still.
        """
        speed = model / time
        for _ in range(TRIES):
            tried = self._model({**task, "speed": speed})
            if tried is None or abs(tried[1] / time - 1.0) < EXACT:
                break
            speed = min(max(speed * tried[1] / time, 1 / MOST_OFF), MOST_OFF)
        return {**task, "speed": round(speed, 4)}

    def _collective(self, work: Work) -> Task | None:
        found, gpus, missing = identify(work.kind, work.args, self.trace.links)
        if found is None:
            self.guesses.add(f"collectives that the schema lacks are kernels: {missing}")
            return None
        if gpus is not None and gpus != self.node.ranks:
            found |= self._in_groups(gpus)
        modelled = self._model({**found, "backend": self.trace.backend})
        if modelled is None:
            self.guesses.add("collectives that the node's library cannot do are kernels")
            return None
        task, model = modelled
        return self._met(work, task, 1e6 * model)

    def _in_groups(self, gpus: int) -> Task:
        """The field of a collective of fewer GPUs than the node has, if they divide them."""
        if 1 < gpus < self.node.ranks and self.node.ranks % gpus == 0:
            self.guesses.add(f"a collective of {gpus} GPUs is of GPUs that follow each other")
            return {"group": gpus}
        self.guesses.add(f"a collective of {gpus} GPUs is taken to be of all {self.node.ranks}")
        return {}

    def _met(self, work: Work, task: Task, model: float) -> Task:
        """The time by which its peers came later, and its speed from then on; *model* [us]."""
        meeting = self.meetings.get(id(work))
        if meeting is not None:
            time = self._meeting_times.get(self._message(work))
            if time is None:
                self.guesses.add("collectives beside other kernels always take the model's time")
            late = {"peers_late": meeting.late * 1e-6} if meeting.late > LATE else {}
            if time:
                task = self._as_fast(task, model * 1e-6, time * 1e-6)
            return task | late
        if self.trace.ranks == 1:
            return task
        alone = self.alone[id(work)]
        self.guesses.add("collectives take the model's time: not all ranks' traces are there")
        if alone.alone == alone.count and work.duration > WAITED * model:
            self.guesses.add("what collectives took alone beyond the model is waiting for peers")
            return {**task, "peers_late": (work.duration - model) * 1e-6}
        return task

    def _from_last_arrival(self) -> dict[str, float]:
        """Shortest time [us] from the last arrival on, with nothing beside it, by message."""
        times: dict[str, float] = {}
        for work in self.trace.works:
            meeting = self.meetings.get(id(work))
            if meeting is not None and meeting.alone:
                message = self._message(work)
                times[message] = min(meeting.time, times.get(message, meeting.time))
        return times

    def _message(self, work: Work) -> str:
        found, _, _ = identify(work.kind, work.args, self.trace.links)
        return str(found)

    def _model(self, task: Task) -> tuple[Task, float] | None:
        """The task as the node can do it, and its time [s] alone, from its first workgroup on;
        None: it cannot.
        """
        key = str(sorted(task.items()))
        if key not in self._models:
            self._models[key] = self._simulated(task)
        return self._models[key]

    def _simulated(self, task: Task) -> tuple[Task, float] | None:
        libraries: Sequence[str] = list(self.node.gpu.gemm_libraries)
        if task["kind"] == "gemm" and task.get("library") not in libraries:
            task = {name: value for name, value in task.items() if name != "library"}
        variants = [
            {name: value for name, value in task.items() if name not in left_out}
            for left_out in ((), ("macro_tile", "channels"), ("macro_tile", "channels", "backend"))
        ]
        for variant in variants:
            tasks = {"task": variant}
            try:
                workload = Workload.model_validate({"schema": 1, "name": "one", "tasks": tasks})
                check_on_node(workload, self.node)
            except (InputErrors, ValueError):
                continue
            run = isolated(self.node, workload, "task")
            return variant, run.end - run.start - self.node.gpu.kernels.completion_latency
        return None

    def _kernel(self, work: Work) -> Task:
        alone = self.alone[id(work)]
        time = None if alone.time is None else alone.time * 1e-6
        if (copy := self._host_copy(work)) is not None:
            return copy
        kind, told = class_of(work, self.trace.optimizer)
        if work.kind.kind == "gemm":
            kind = "gemm"
        elif not told and work.category == "kernel":
            self.guesses.add(f"kernels that nothing but their name tells are {kind}")
        share = 1.0 / max(1, self._kernels[_call_of(work)]) if work.operator else 1.0
        cost = cost_of(work, share, time, self.bandwidth)
        if cost.guess:
            self.guesses.add(cost.guess)
        if time is None:
            self.guesses.add("kernels that never ran alone take what their bytes and FLOP take")
        task: Task = {"kind": "kernel", "operator": kind}
        task |= {"time": time} if time is not None else {}
        if time is not None and (clocked := self.clocked.get(id(work))) is not None:
            task["clocked"] = clocked
        task |= self._grid(work)
        task |= {"read": round(cost.read), "written": round(cost.written)}
        if cost.flops:
            dtype = "fp16" if "half" in work.name.lower() else "bf16"
            task |= {"flops": round(cost.flops), "on": "matrix", "dtype": dtype}
            if time is None and "num_ops" in work.args:
                self.guesses.add("kernels do the FLOP of their node (num_ops) at the peak")
            elif time is None:
                task["efficiency"] = ATTENTION_EFFICIENCY
        return task

    def _grid(self, work: Work) -> Task:
        """Workgroups, and how many of them share a compute unit by registers, LDS and waves."""
        if "grid" not in work.args:
            return {"workgroups": 1}
        units = self.node.gpu.compute_units
        waves = -(-extent(work.args.get("block")) // units.wave_lanes)
        room = [units.waves // waves]
        if registers := work.args.get("registers per thread"):
            room.append(units.registers // (int(registers) * waves))
        if lds := work.args.get("shared memory"):
            room.append(int(units.lds // float(lds)))
        grid, share = extent(work.args["grid"]), max(1, min(room))
        task = {"workgroups": grid, "per_unit": share}
        if grid == share * self.node.gpu.compute_unit_count:
            self.guesses.add(
                f"a grid that fills the GPU once stays, with {PIECES} pieces of work a workgroup"
            )
            task["tiles"] = PIECES * grid
        return task

    def _host_copy(self, work: Work) -> Task | None:
        """A large copy from or to the host is one of the DMA engines."""
        size = work.args.get("bytes")
        match = re.search(r"HtoD|DtoH|Host(?:ToDevice|To Device)|DeviceToHost", work.name)
        if match is None or not isinstance(size, int) or size <= LARGE:
            return None
        to_gpu = match[0] in ("HtoD", "HostToDevice", "HostTo Device")
        ends = ("host", "gpu") if to_gpu else ("gpu", "host")
        return {
            "kind": "copy",
            "bytes": size,
            "source": ends[0],
            "destination": ends[1],
            "gpus": "all",
        }


def label_of(work: Work, task: Mapping[str, Any]) -> str:
    """A short name for *task*: of its operation, its class, or its kernel."""
    if task["kind"] == "collective":
        return OP_WORDS[task["op"]].replace("-", "_")
    if task["kind"] in ("gemm", "copy"):
        return str(task["kind"])
    if work.category != "kernel":
        return "copy" if work.category == "gpu_memcpy" else "fill"
    if task["operator"] != "elementwise":
        return str(task["operator"])
    name = str(work.operator.get("name", "")).rsplit("::", 1)[-1]
    return re.sub(r"\W+", "_", name).strip("_").lower()[:24] or "kernel"


def _call_of(work: Work) -> tuple[object, ...]:
    """The call of an operator that *work* belongs to."""
    operator = work.operator
    return operator.get("ts"), operator.get("pid"), operator.get("tid")


# The work of a kernel that is no GEMM and no collective: its class, its bytes, its FLOP.


#: Part of the memory's bandwidth that a kernel of unknown operands is taken to move. A guess.
SHARE_OF_BANDWIDTH = 0.5
#: Bytes that a thread of such a kernel is taken to load and store where its time is not known
#: either: one access of 16 bytes each. A guess.
THREAD_BYTES = 32
#: Part of the matrix units' peak that attention of unknown time is taken to reach. A guess.
ATTENTION_EFFICIENCY = 0.5
#: FLOP of the backward pass of attention over those of the forward pass: five products, not two.
BACKWARD = 2.5

_CLASSES = (
    ("attention", re.compile(r"flash|fmha|attention|sdpa|_attn", re.I)),
    ("normalisation", re.compile(r"norm|softmax|GammaBeta", re.I)),
    ("embedding", re.compile(r"embedding", re.I)),
    ("optimizer", re.compile(r"adam|lamb\b|lamb_|sgd_|fused_optim", re.I)),
    ("communication", re.compile(r"nccl|rccl", re.I)),
)
_ELEMENTS = {
    "double": 8, "long int": 8, "long": 8, "int64": 8, "float": 4, "int": 4, "c10::BFloat16": 2,
    "c10::Half": 2, "bfloat16": 2, "half": 2, "bool": 1, "unsigned char": 1, "signed char": 1,
    "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1,
}  # fmt: skip
_IN_NAME = (("BFloat16", 2), ("Half", 2), ("bf16", 2), ("f16", 2), ("float", 4), ("double", 8))


@dataclass(frozen=True, kw_only=True)
class Cost:
    """*guess* says how the numbers were found where no operator tells them; empty: it does."""

    read: float
    written: float
    flops: float = 0.0
    guess: str = ""


def class_of(work: Work, optimizer: Sequence[tuple[float, float]]) -> tuple[str, bool]:
    """The operator's class, and True if a record tells it: the optimizer's span or an operator.
    Else the kernel's name does.
    """
    if work.called is not None and any(a <= work.called < b for a, b in optimizer):
        return "optimizer", True
    names = [*(str(operator.get("name", "")) for operator in work.operators[:3]), work.name]
    for place, name in enumerate(names):
        for found, pattern in _CLASSES:
            if pattern.search(name.split("<")[0] if "elementwise_kernel" in name else name):
                return found, place < len(names) - 1
    return "elementwise", bool(work.operators)


def cost_of(work: Work, share: float, time: float | None, bandwidth: float) -> Cost:
    """Bytes and FLOP of *work*, *share* of its operator's bytes; *time* [s] alone, or
    None, *bandwidth* [B/s] of the memory.
    """
    copied = work.args.get("bytes")
    if isinstance(copied, int) and work.category != "kernel":
        read = float(copied) if work.category == "gpu_memcpy" else 0.0
        return Cost(read=read, written=float(copied))
    shapes = list(_shapes(work.operator, element_bytes(work.name)))
    if not any(math.prod(shape) for shape, _ in shapes):
        if any(key in work.args for key in COSTS):
            return _told(*(float(work.args.get(key, 0)) for key in COSTS))
        return _unknown(work, time, bandwidth)
    sizes = [math.prod(shape) * size for shape, size in shapes]
    # each input is read once, and a result as large as the largest written
    cost = Cost(read=share * sum(sizes), written=share * max(sizes), flops=_attention_flops(work))
    moved = cost.read + cost.written
    if time is None or moved <= time * bandwidth:
        return cost
    guess = "kernels whose operands are more than memory moves in their time move what it can"
    part = time * bandwidth / moved
    return Cost(read=cost.read * part, written=cost.written * part, flops=cost.flops, guess=guess)


def _told(flops: float, touched: float) -> Cost:
    """Cost of a node of Chakra."""
    guess = "kernels read half of the bytes that their node has (tensor_size), and write the others"
    return Cost(read=touched / 2, written=touched / 2, flops=flops, guess=guess)


def _unknown(work: Work, time: float | None, bandwidth: float) -> Cost:
    if time is not None:
        half = SHARE_OF_BANDWIDTH * time * bandwidth / 2
        return Cost(
            read=half,
            written=half,
            guess=f"kernels of unknown operands move {SHARE_OF_BANDWIDTH:.0%} of what memory can in"
            " their time",
        )
    half = THREAD_BYTES / 2 * threads_of(work)
    return Cost(
        read=half,
        written=half,
        guess=f"kernels without operands and a time alone move {THREAD_BYTES} bytes a thread",
    )


def threads_of(work: Work) -> int:
    """Threads of the whole kernel; 1 where the trace does not say."""
    return extent(work.args.get("grid")) * extent(work.args.get("block"))


def extent(shape: Any) -> int:
    """Product of a grid's or block's extents; 1 where there is none."""
    if isinstance(shape, list) and shape and all(isinstance(each, int) for each in shape):
        return max(1, math.prod(shape))
    return 1


def _shapes(operator: Mapping[str, Any], in_lists: int) -> Iterator[tuple[list[int], int]]:
    """(shape, bytes of an element) of every tensor that goes into *operator*; *in_lists*: bytes of
    an element of lists, whose type is not in a trace.
    """
    args = operator.get("args") or {}
    dims, types = args.get("Input Dims") or [], args.get("Input type") or []
    for index, shape in enumerate(dims):
        named = str(types[index]) if index < len(types) else ""
        if not isinstance(shape, list) or not shape:
            continue
        if isinstance(shape[0], list):  # a list of tensors
            yield from ((each, in_lists) for each in shape if isinstance(each, list) and each)
        elif named in _ELEMENTS and all(isinstance(each, int) for each in shape):
            yield shape, _ELEMENTS[named]


def element_bytes(name: str) -> int:
    """Bytes of an element of the type in a kernel's *name*; 2 where there is none."""
    return next((size for word, size in _IN_NAME if word in name), 2)


def _attention_flops(work: Work) -> float:
    """FLOP of the kernel of an attention operator that multiplies, from the shapes of Q and K:
    4 B H S_q S_k D, half of it where the operator says that it is causal, BACKWARD times that in
    the backward pass. 0 for other kernels.
    """
    if not re.search(r"flash|fmha.*(?:fprop|bprop|forward|backward)|attention_kernel", work.name):
        return 0.0
    operator = work.operator
    args, name = operator.get("args") or {}, str(operator.get("name", ""))
    dims = args.get("Input Dims") or []
    shapes = [each for each in dims if isinstance(each, list) and len(each) == 4]
    backward = "backward" in name
    if len(shapes) < 2 + backward or any(isinstance(each[0], list) for each in shapes):
        return 0.0
    query, key = shapes[backward], shapes[backward + 1]
    flops = 4.0 * math.prod(query) * float(key[-2])
    causal = "True" in [str(each) for each in args.get("Concrete Inputs") or []]
    return flops * (0.5 if causal else 1.0) * (BACKWARD if backward else 1.0)

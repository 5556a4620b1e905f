"""Each kernel of a trace as a task: GEMM, collective, or a kernel of any kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputErrors
from c3sim.input.checks.on_node import check_on_node
from c3sim.models.memory import memory_given
from c3sim.simulation.runs import isolated
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

from ..kineto.tasks import identify
from ..names import OP_WORDS
from .alone import Alone
from .operators import ATTENTION_EFFICIENCY, class_of, cost_of, extent
from .ranks import Meeting
from .trace import Trace, Work

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
    """What was not in the trace, in words, with counts."""

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
            self.guesses.add(f"a collective of {gpus} GPUs is taken to be of all {self.node.ranks}")
        modelled = self._model({**found, "backend": self.trace.backend})
        if modelled is None:
            self.guesses.add("collectives that the node's library cannot do are kernels")
            return None
        task, model = modelled
        return self._met(work, task, 1e6 * model)

    def _met(self, work: Work, task: Task, model: float) -> Task:
        """How long its peers came later, and how fast it was from then on; *model* [us]."""
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
        kind = class_of(work, self.trace.optimizer)
        if work.kind.kind == "gemm":
            kind = "gemm"
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
            task |= {} if time is not None else {"efficiency": ATTENTION_EFFICIENCY}
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

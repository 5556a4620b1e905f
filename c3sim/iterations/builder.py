"""Tasks in the order in which a framework's host launches them, on the streams it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from c3sim.iterations.halves import in_turns
from c3sim.iterations.mesh import Group
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.models.groups import ranks_in
from c3sim.spec.hardware import Node
from c3sim.spec.host import HostCall, HostProfile
from c3sim.spec.task import Dtype, Operator
from c3sim.spec.workload import Collective, Copy, Stream, Task

COMPUTE, COMMUNICATION, COPIES = "compute", "communication", "copies"


@dataclass
class Builder:
    """*tasks* so far; *classes*: the operator class of each."""

    node: Node
    dtype: Dtype
    profile: HostProfile | None
    tasks: dict[str, Task] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    """groups by who is in them: tensor, data, expert, replicas of experts; left out: all GPUs"""
    classes: dict[str, Operator] = field(default_factory=dict)
    host: float = 0.0
    """s that the host is busy with all launches"""
    backward: bool = False
    """true: the backward pass is being launched"""
    turned: str = ""
    """the last task of the forward pass"""
    weights: set[str] = field(default_factory=set)
    """tasks of the gradients of weights"""
    recorded: bool = False
    """true: what is launched forward gets gradients"""
    last: str = ""
    """the last task of the compute stream"""
    _of_step: float | None = None  # s of the host for each kernel of the optimizer
    awaited: list[tuple[str, int]] = field(default_factory=list)
    """collectives that the compute stream waits for, after so many operators"""
    awaited_by_half: list[list[tuple[str, int]]] = field(default_factory=lambda: [[], []])
    around: Callable[[Iterable[Step]], Iterable[Step]] | None = None
    """puts the casts around products; left out: there are none"""
    halves: bool = False
    """true: what is launched is half a batch, and goes twice (halves.py)"""

    @property
    def streams(self) -> dict[str, Stream]:
        """Streams that are not as others: PyTorch copies shards in one of high priority."""
        used = {task.stream for task in self.tasks.values()}
        return {COPIES: Stream(priority=1)} if COPIES in used else {}

    def run(self, prefix: str, steps: Iterable[Step]) -> Iterator[tuple[Step, str]]:
        """Launch *steps* one after the other, or of both halves in turns; yields each with the name
        of its task.
        """
        if self.around is not None:
            steps = self.around(steps)
        return (in_turns if self.halves else Builder.in_order)(self, prefix, steps)

    def in_order(self, prefix: str, steps: Iterable[Step]) -> Iterator[tuple[Step, str]]:
        """Launch *steps* one after the other; yields each with the name of its task."""
        for step in steps:
            if isinstance(step, Exchange):
                name = self.exchange(prefix, step)
            else:
                name = self.compute(prefix, step)
            yield step, name

    def compute(self, prefix: str, op: Op, after: Iterable[str] = (), extra: float = 0.0) -> str:
        """Launch *op* on the compute stream, behind what it must wait for; the host works *extra* s
        longer.
        """
        waits = [*after, *(name for name, left in self.awaited if left <= 0)]
        self.awaited = [(name, left - 1) for name, left in self.awaited if left > 0]
        self.last = self.put(f"{prefix}-{op.name}", op, COMPUTE, waits, extra)
        if op.gradients and self.backward:
            self.weights.add(self.last)
        return self.last

    def optimizer(self, name: str, ops: Sequence[Op], tensors: int) -> None:
        """Launch *ops*, a step of the optimizer *name* over so many *tensors*."""
        times = () if self.profile is None else self.profile.optimizer_times.items()
        step = next((time for known, time in times if known == name), None)
        self._of_step = None if step is None else (step.step + tensors * step.tensor) / len(ops)
        for op in ops:
            self.compute("optimizer", op)

    def put(
        self, name: str, op: Op, stream: str, after: Iterable[str] = (), extra: float = 0.0
    ) -> str:
        """Launch *op* as task *name*; the host works *extra* s longer."""
        self._add(name, op.task, op.operator, stream, after, self._calls(op) + extra)
        return name

    def exchange(self, prefix: str, step: Exchange) -> str:
        """A collective that the operators after it wait for."""
        waits = [self.last] if self.last else []
        extra = 0.0 if self.profile is None else self.profile.exchange_time
        name = f"{prefix}-{step.name}"
        if step.op == "shift":
            self._shift(name, step, waits, extra)
        else:
            self.collective(
                name,
                step.op,
                step.size,
                waits,
                extra,
                among=step.among,
                backend=step.backend,
                channels=step.channels,
            )
        self.awaited.append((name, step.beside))
        return name

    def _shift(self, name: str, step: Exchange, waits: list[str], extra: float) -> None:
        """Every GPU of a group sends to the next: through links, or a NIC where one of them has to,
        for which the others wait; along its rail, so that all do the same.
        """
        size, stride = self.groups.get(step.among, Group(self.node.ranks, 1))
        gpus = self.node.gpus
        inside = size * stride <= gpus
        peer = stride if inside or stride >= gpus else gpus
        how = "kernel" if inside else "nic"
        task = Copy(kind="copy", bytes=step.size, peer=peer, executor=how, gpus="all")
        call = self.node.host.launch_time if self.profile is None else self.profile.enqueue_time
        self._add(name, task, "communication", self._stream(step.among), waits, call + extra)

    def collective(
        self,
        name: str,
        op: str,
        size: float,
        after: Iterable[str],
        extra: float = 0.0,
        *,
        among: str = "data",
        backend: str | None = None,
        channels: int | None = None,
    ) -> str:
        """A collective of *size* bytes, behind the others of its process group."""
        task = Collective.model_validate(
            {"kind": "collective", "op": op, "size": size, "dtype": self.dtype}
            | {"backend": backend, "channels": channels}
        )
        if among in self.groups:
            task = task.changed(**self.groups[among]._asdict())
        library = self.node.collective_library(backend)
        call = library.enqueue_time
        if self.profile is not None:
            call = self.profile.collective_call(task.op, ranks_in(self.node, task))
        self._add(name, task, "communication", self._stream(among), after, call + extra)
        return name

    def _stream(self, among: str) -> str:
        """Stream of the process group *among*; names for the same GPUs have one."""
        group = self.groups.get(among)
        same = (name for name, each in self.groups.items() if each == group)
        return "-".join([COMMUNICATION, *next(same, "").split()])

    def transfer(self, name: str, task: Copy, among: str) -> None:
        """A copy to a neighbour, behind the last operator; the next one waits for it."""
        time = self.node.host.launch_time if self.profile is None else self.profile.enqueue_time
        waits = [self.last] if self.last else []
        self._add(name, task, "communication", f"{COMMUNICATION}-{among}", waits, time)
        self.awaits([name])

    def awaits(self, names: Iterable[str]) -> None:
        """Make the next launch on the compute stream wait for *names*."""
        self.awaited += [(name, 0) for name in names]

    def _calls(self, op: Op) -> float:
        """S of the host for the launches of *op*."""
        profile = self.profile
        if profile is None:
            return op.launches * self.node.host.launch_time
        if op.operator == "optimizer" and self._of_step is not None:
            return self._of_step
        if profile.call_times and op.operator != "optimizer":
            return sum(count * self._call(name) for name, count in op.host_calls.items())
        time = profile.operator_times.get(op.operator, profile.launch_time)
        return op.launches * (time + profile.backward_time * self.backward)

    def _call(self, name: HostCall) -> float:
        """S of the host for one call in the pass that is being launched."""
        assert self.profile is not None  # only profiles have times of calls
        times = self.profile.call_times.get(name)
        if times is None:
            return self.profile.launch_time
        if self.backward:
            return times.backward
        return times.recorded if self.recorded else times.forward

    def _add(
        self,
        name: str,
        task: Task,
        operator: Operator,
        stream: str,
        after: Iterable[str],
        call: float,
    ) -> None:
        fields = {"stream": stream, "after": tuple(dict.fromkeys(after)), "launch_time": call}
        self.tasks[name] = task.changed(**fields)
        self.classes[name] = operator
        self.host += call

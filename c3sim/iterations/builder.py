"""Tasks in the order in which a framework's host launches them, on the streams it uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from c3sim.iterations.mesh import Group
from c3sim.iterations.operators import Exchange, Op, Step
from c3sim.specs.hardware import Node
from c3sim.specs.host import HostProfile
from c3sim.specs.kernel import Operator
from c3sim.specs.task import Dtype
from c3sim.specs.workload import Collective, Copy, Task

COMPUTE, COMMUNICATION, COPIES = "compute", "communication", "copies"


@dataclass
class Builder:
    """*tasks* so far; *classes*: the operator class of each."""

    node: Node
    dtype: Dtype
    profile: HostProfile | None
    tasks: dict[str, Task] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    """of GPUs, by who is in them: tensor, data, expert, replicas of experts; left out: all GPUs"""
    classes: dict[str, Operator] = field(default_factory=dict)
    host: float = 0.0
    """s that the host is busy with all launches"""
    backward: bool = False
    """whether the backward pass is being launched"""
    last: str = ""
    """the last task of the compute stream"""
    _awaited: list[tuple[str, int]] = field(default_factory=list)

    def run(self, prefix: str, steps: Iterable[Step]) -> Iterable[tuple[Step, str]]:
        """Launch *steps* one after the other; yields each with the name of its task."""
        for step in steps:
            if isinstance(step, Exchange):
                name = self.exchange(prefix, step)
            else:
                name = self.compute(prefix, step)
            yield step, name

    def compute(self, prefix: str, op: Op, after: Iterable[str] = ()) -> str:
        """Launch *op* on the compute stream, behind what it must wait for."""
        waits = [*after, *(name for name, left in self._awaited if left <= 0)]
        self._awaited = [(name, left - 1) for name, left in self._awaited if left > 0]
        self.last = self.put(f"{prefix}-{op.name}", op, COMPUTE, waits)
        return self.last

    def put(
        self, name: str, op: Op, stream: str, after: Iterable[str] = (), extra: float = 0.0
    ) -> str:
        """Launch *op* as task *name*; the host works *extra* s longer."""
        self._add(name, op.task, op.operator, stream, after, self._calls(op) + extra)
        return name

    def exchange(self, prefix: str, step: Exchange) -> str:
        """A collective that the operators after it wait for."""
        name = self.collective(
            f"{prefix}-{step.name}",
            step.op,
            step.size,
            [self.last] if self.last else [],
            among=step.among,
        )
        self._awaited.append((name, step.beside))
        return name

    def collective(
        self,
        name: str,
        op: str,
        size: float,
        after: Iterable[str],
        extra: float = 0.0,
        *,
        among: str = "data",
    ) -> str:
        """A collective of *size* bytes, behind the others of its communicator."""
        task = Collective.model_validate(
            {"kind": "collective", "op": op, "size": size, "dtype": self.dtype}
        )
        if among in self.groups:
            task = task.model_copy(update=self.groups[among]._asdict())
        library = self.node.collective_library(None)
        call = library.enqueue_time if self.profile is None else self.profile.enqueue_time
        self._add(name, task, "communication", COMMUNICATION, after, call + extra)
        return name

    def transfer(self, name: str, task: Copy) -> None:
        """A copy to a neighbour, behind the last operator; the next one waits for it."""
        time = self.node.host.launch_time if self.profile is None else self.profile.enqueue_time
        self._add(name, task, "communication", COMMUNICATION, [self.last], time)
        self.awaits([name])

    def awaits(self, names: Iterable[str]) -> None:
        """What is launched next on the compute stream waits for *names*."""
        self._awaited += [(name, 0) for name in names]

    def _calls(self, op: Op) -> float:
        """S of the host for the launches of *op*."""
        if self.profile is None:
            time = self.node.host.launch_time
        else:
            time = self.profile.operator_times.get(op.operator, self.profile.launch_time)
            time += self.profile.backward_time * self.backward
        return op.launches * time

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
        self.tasks[name] = task.model_copy(update=fields)
        self.classes[name] = operator
        self.host += call

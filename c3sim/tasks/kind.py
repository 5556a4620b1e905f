"""A kind of task, whatever the workload around it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from c3sim.models.cache_lines import CacheUse
from c3sim.processes.plan import Planned, Scene, hosts_call
from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.task import Operator, Posting, TaskBase, TaskClass
from c3sim.spec.workload import parse_after

T = TypeVar("T", bound=TaskBase)

LAUNCH = 7  # events of a task beside its work
RESIDENT = 8  # workgroups of a kernel on a compute unit, where its own number is not known
DMA = "dma"
ENGINES = "gpu.dma_engines"  # owner of the calibrated numbers of DMA engines


@dataclass(frozen=True, kw_only=True, slots=True)
class Conditions:
    """The conditions of a task to its *owner*, the part of the node that has the calibrated
    numbers.
    """

    owner: str
    family: str
    values: Mapping[str, float]


class Kind(ABC, Generic[T]):
    """A kind of task."""

    side: ClassVar[TaskClass] = "compute"
    works: ClassVar[bool] = False
    """whether it computes for itself, so that a strategy may order and mask it as compute"""

    @abstractmethod
    def resolve(self, name: str, task: T, scene: Scene) -> Planned[Any]:
        """Task *name* on the node and beside the streams and host of *scene*."""

    def operator(self, _task: T) -> Operator | None:
        """The class in which shares of a step are told; None: it is no part of them."""
        return "communication" if self.side == "communication" else "elementwise"

    def detail(self, _task: T) -> dict[str, Any]:
        """The fields of its file that a result repeats."""
        return {}

    def use(self, _task: T, _gpu: Gpu) -> CacheUse:
        """Accesses and policy of a task in the caches of *gpu*."""
        return CacheUse()

    def posted(self, _task: T) -> Posting | None:
        """The way in which a workgroup posts its packets; None: nobody does."""
        return None

    def stores_at_peers(self, _task: T) -> bool:
        """True if its kernels do."""
        return False

    def payload(self, _task: T, _node: Node) -> float | None:
        """Bytes that it moves for its user, on all GPUs; None: its purpose is not to move any."""
        return None

    def conditions(self, _task: T, _node: Node) -> Conditions | None:
        """The conditions under which it was calibrated; None: they are not kept."""
        return None

    def on_units(self, _task: T) -> bool:
        """True if workgroups on compute units do all of it."""
        return self.works

    def has_room(self, _task: T, _node: Node) -> bool:
        """False where no compute unit can hold a workgroup of it. Asked of kinds that a strategy
        takes off the units alone: a run of the others finds out.
        """
        return True

    def touched(self, _task: T) -> tuple[float, float]:
        """Bytes that it reads and writes, each operand and result once."""
        return 0.0, 0.0

    def events(self, _task: T, _node: Node) -> float:
        """Events of one repeat on one GPU, about."""
        return LAUNCH

    def unpublished(self, task: T) -> T:
        """*task* without releases and flags behind tiles."""
        told = getattr(task, "publish", None) is not None
        return task.changed(publish=None) if told else task

    def filled(self, task: T, _gpu: Gpu) -> T:
        """*task* without a last round of tiles that leaves compute units idle: quicker."""
        return task

    def as_run(self, task: T, _node: Node) -> T:
        """*task*, or the one that stands for all whose runs are the same to the last digit."""
        return task

    def placed(self, name: str, task: T, scene: Scene) -> dict[str, Any]:
        """The record of *task*: its place among others, and the answers of its kind."""
        launch, events, host = 0.0, 0.0, scene.workload.host
        if hosts_call(host):
            of = scene.node.host if scene.profile is None else scene.profile
            launch = of.launch_time
        timed = host.loop is not None and host.launch == "eager" and self.operator(task)
        if timed and scene.profile is not None:
            events = scene.profile.event_times.get(timed, 0.0)
        return {
            "name": name,
            "task": task,
            "scene": scene,
            "after": tuple([parse_after(text) for text in task.after]),
            "queue": scene.queues[task.stream or f"task {name}"],
            "priority": scene.stream(task.stream).priority,
            "event_time": events,
            "call_time": launch if task.launch_time is None else task.launch_time,
            "turns": task.repeat,
            "use": self.use(task, scene.node.gpu),
            "posted": self.posted(task),
            "stores_at_peers": self.stores_at_peers(task),
        }

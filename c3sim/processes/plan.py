"""A workload resolved on a node: a frozen record of each task, made once before anything runs; and
the context of a run, in which they are started.

Whoever runs, folds, draws or counts tasks reads these records. The files of c3sim.tasks make them,
one for each kind of task.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from c3sim.engine.clock import Clock
from c3sim.engine.fluid import Fluid
from c3sim.machine.machine import Machine
from c3sim.machine.state import Rate
from c3sim.models.cache_lines import CacheUse, Lines, lines_of
from c3sim.models.tile_order import Groups
from c3sim.processes.kernels.dealing import Mask
from c3sim.processes.kernels.dispatcher import Dispatcher
from c3sim.processes.kernels.residency import GridShape
from c3sim.processes.signals import Callback, HostThread, Signals
from c3sim.result import Span
from c3sim.spec.hardware import Kernels, Node
from c3sim.spec.host import HostProfile
from c3sim.spec.masks import parse_cu_mask
from c3sim.spec.task import Posting, TaskBase, TaskClass
from c3sim.spec.workload import After, HostThreads, Stream, Workload


@dataclass(frozen=True, slots=True)
class Arrival:
    """One class: how *late* [s] it begins, and its streams' first tasks in order; the empty order:
    all at once, in launch order.
    """

    late: float = 0.0
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The *classes*; *spread* [s]: between the first and the last stream of a GPU."""

    classes: tuple[Arrival, ...] = (Arrival(),)
    spread: float = 0.0

    def of(self, gpu: int) -> Arrival:
        """GPUs are dealt to classes in turn."""
        return self.classes[gpu % len(self.classes)]

    def delay(self, task: str, gpu: int) -> float:
        """From the release of the run until *task*, the first of its stream, may begin [s]."""
        arrival = self.of(gpu)
        if task not in arrival.order:
            return arrival.late
        place = arrival.order.index(task) / max(1, len(arrival.order) - 1)
        return arrival.late + self.spread * place


class Latencies(NamedTuple):
    """s from its queue to a kernel's first workgroup, and from its last to the signal."""

    dispatch: float
    completion: float


def latencies_of(
    kernels: Kernels, *, first: bool, last: bool, over_memory: bool, gap: float | None = None
) -> Latencies:
    """Latencies of a kernel that is the *first* or the *last* of a row of kernels back to back;
    *gap*: from the end of the kernel before it.
    """
    if gap is not None:
        return Latencies(max(0.0, gap - kernels.completion_latency), kernels.completion_latency)
    if kernels.back_to_back_latency is None:
        return Latencies(kernels.dispatch_latency, kernels.completion_latency)
    gap = kernels.back_to_back_latency + (kernels.memory_ramp if over_memory else 0.0)
    return Latencies(
        kernels.dispatch_latency if first else gap, kernels.completion_latency if last else 0.0
    )


P = TypeVar("P")
T_co = TypeVar("T_co", bound=TaskBase, covariant=True)


@cache
def usual_stream() -> Stream:
    """The stream of whoever says nothing of it; made once, as it is asked for again and again."""
    return Stream()


def hosts_call(host: HostThreads) -> bool:
    """True if they call for kernels during the run: the time of a call has a say."""
    return host.launch in ("eager", "looped") or host.release == "host"


@dataclass(frozen=True, eq=False)
class Scene:
    """The scene that tasks are resolved on: a *node*, and the streams and host of a *workload*."""

    node: Node
    workload: Workload
    _masks: dict[str, Mask] = field(default_factory=dict)

    @cached_property
    def profile(self) -> HostProfile | None:
        """The cost of calls of the host's framework on this host; None: the libraries' own."""
        usual = self.usual_profile
        return None if usual is None else usual.slowed(self.workload.host.slowness)

    @property
    def usual_profile(self) -> HostProfile | None:
        """The same on the host that it is of: its latencies are of the GPU, whatever the host."""
        host = self.workload.host
        return None if host.profile is None else self.node.host_profiles[host.profile]

    @cached_property
    def queues(self) -> dict[str, int]:
        """The number of each stream, by declaration; a task without one has its own."""
        tasks = self.workload.tasks.items()
        names = dict.fromkeys(task.stream or f"task {name}" for name, task in tasks)
        return {name: number for number, name in enumerate(names)}

    def stream(self, name: str | None) -> Stream:
        """The stream of that *name*; the usual one for a task without a stream."""
        usual = usual_stream()
        return usual if name is None else self.workload.streams.get(name, usual)

    def mask(self, stream: str | None) -> Mask:
        """Compute units that *stream* may use; None: all."""
        key = stream or ""
        if key not in self._masks:
            allowed = self.stream(stream).compute_units
            units = self.node.gpu.compute_unit_count
            self._masks[key] = None if allowed is None else parse_cu_mask(allowed, units)
        return self._masks[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One repeat of a task on *gpu*: *started()* is for its first workgroup or command, *done()*
    for its end; *detail* takes what was decided for it, *waited* the s for which it has waited for
    other ranks. *warm*: it follows another turn of it.
    """

    gpu: int
    repeat: int
    warm: bool
    latencies: Latencies
    detail: dict[str, object]
    started: Callback
    waited: Callable[[float], None]
    done: Callback


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned(Generic[T_co]):
    """A task, resolved. What stands here holds where its kind says nothing else."""

    side: ClassVar[TaskClass] = "compute"
    by_host: ClassVar[bool] = False
    """whether the host thread has work for it after the release, whatever launches it"""
    by_engines: ClassVar[bool] = False
    """whether DMA engines are asked for it"""

    name: str
    task: T_co
    scene: Scene
    after: tuple[After, ...]
    queue: int
    """number of its stream"""
    priority: int
    shape: GridShape | None = None
    """its grid on compute units; None: it needs none"""
    call_time: float
    """s of the host thread that launches it; of one by engines, before it calls for copies"""
    event_time: float = 0.0
    """s of the host thread behind all launches, before its end is seen, if nothing waits for it"""
    turns: int
    """repeats that follow each other; what is submitted at once is one"""
    foldable: bool = False
    """whether every GPU does the same for it, so that one can stand for all"""
    use: CacheUse
    awaits: tuple[str, ...] = ()
    """tasks whose tiles its own wait for, inside the kernel"""
    posted: Posting | None = None
    """how a workgroup posts its packets; None: nobody does"""
    stores_at_peers: bool = False
    tiles_at_owners: bool = False
    """whether each GPU has tiles of every other one's results"""
    flag_latency: float = 0.0
    """s until a kernel that awaits one of its tiles sees that this has finished"""
    chunks: int = 0
    """parts that others may wait for by number"""

    @cached_property
    def lines(self) -> Lines:
        """Effect of the task on the lines of the last cache."""
        return lines_of(self.scene.node.gpu, self.use, self.scene.workload.host.set_aside)

    @property
    def called(self) -> bool:
        """True if a host calls for it in program order, as one that launches kernels does."""
        return self.shape is not None

    @property
    def on_first_gpu(self) -> bool:
        """True if only the first GPU runs it."""
        return False

    @property
    def over_memory(self) -> bool:
        """True if its kernel has to wait until memory is at full speed, behind another kernel."""
        return False

    @property
    def inserted(self) -> float:
        """Bytes that one run of it pulls through the last shared cache of each GPU."""
        return 0.0

    @property
    def resource(self) -> tuple[Hashable, float] | None:
        """The resource that others use after it, and its occupancy of that; None: nothing."""
        return None

    @property
    def pulls(self) -> int:
        """Commands of DMA engines that read from a peer."""
        return 0

    @property
    def names_engines(self) -> bool:
        """True if a command says which engine carries it."""
        return False

    @property
    def shares_an_engine(self) -> bool:
        """True if one engine has several peers in several queues."""
        return False

    def share(self, after: After) -> float:
        """Share of its time that has passed once *after*, of its first turn, has happened."""
        return 1.0 if after.tiles is None else after.tiles / self.task.repeat

    def tile_groups(self, gpu: int) -> Groups:
        """Owners of its tiles on *gpu*, in the order in which they are made. Raises ValueError for
        a task whose tiles belong to nobody.
        """
        raise ValueError(f"tiles of {self.name} belong to nobody")

    def call(self, context: Context, gpu: int, launched: Callback) -> None:
        """Have the host thread call for it; *launched()* when it may begin."""
        context.host(gpu, self.name).do(self.call_time, launched)

    def start(self, context: Context, turn: Turn) -> None:
        """Do it, once."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Plan:
    """Every task of a workload, resolved; *order*: in which the host launches them."""

    scene: Scene
    tasks: Mapping[str, Planned[Any]]
    order: tuple[str, ...]

    def __getitem__(self, name: str) -> Planned[Any]:
        return self.tasks[name]

    @cached_property
    def shapes(self) -> dict[str, GridShape]:
        """Grids of the tasks that need compute units."""
        return {name: task.shape for name, task in self.tasks.items() if task.shape is not None}


@dataclass
class Context:
    """One run. Each group of tasks has the kinds of sharing in ``machine.private`` to itself."""

    env: Clock
    plan: Plan
    fluid: Fluid
    machine: Machine
    spans: list[Span] | None
    arrivals: Arrivals = field(default_factory=Arrivals)
    dispatchers: dict[tuple[int, str], Dispatcher] = field(default_factory=dict)
    threads: dict[tuple[int, str, bool], HostThread] = field(default_factory=dict)
    engine_rates: dict[Hashable, Rate] = field(default_factory=dict)
    signals: Signals = field(default_factory=Signals)
    _parts: dict[object, Any] = field(default_factory=dict)
    node: Node = field(init=False)  # of the plan, and its workload
    workload: Workload = field(init=False)
    after: Callable[[float, Callback], None] = field(init=False)  # call in so many s

    def __post_init__(self) -> None:
        self.node, self.workload = self.plan.scene.node, self.plan.scene.workload
        self.after = self.env.call

    def part(self, make: Callable[[Context], P]) -> P:
        """The part that tasks of a kind share; *make* makes it for the first of them."""
        found: P | None = self._parts.get(make)
        if found is None:
            found = self._parts[make] = make(self)
        return found

    def close(self) -> None:
        """The run is over: forget who knows the context, so that no circle is left."""
        self.dispatchers.clear()
        self._parts.clear()

    def once_past(self, delay: float, call: Callable[[], None]) -> None:
        """Call *call* in *delay* s, without an event if there is nothing to wait for."""
        if delay > 0:
            self.after(delay, call)
        else:
            call()

    def dispatcher(self, gpu: int, task: str) -> Dispatcher:
        key = (gpu, self.machine.group(task) if "compute_units" in self.machine.private else "")
        if key not in self.dispatchers:
            sharing = self.machine.beside(task, "compute_units")
            grids = self.plan.shapes
            names = [task] if key[1] == task else filter(sharing, grids)
            shapes = [grids[name] for name in names]
            self.dispatchers[key] = Dispatcher(self.node.gpu, shapes, partial(self.after, 0.0))
        return self.dispatchers[key]

    @property
    def in_program_order(self) -> bool:
        """True if hosts make their calls from the release on, one after the other."""
        return self.workload.host.launch == "eager" or self.workload.host.release == "host"

    def poster(self, gpu: int, task: str) -> HostThread:
        """The thread that submits for *gpu* what is due: where the other one calls for all tasks in
        program order, one of its own.
        """
        return self.host(gpu, task, ahead=not self.in_program_order)

    def host(self, gpu: int, task: str, *, ahead: bool = True) -> HostThread:
        """The thread that submits for *gpu*, *ahead* of its streams or not; a single one serves all
        GPUs of a node.
        """
        single = self.workload.host.threads == "single"
        key = (
            gpu - gpu % self.node.gpus if single else gpu,
            self.machine.group(task) if "host" in self.machine.private else "",
            ahead,
        )
        if key not in self.threads:
            self.threads[key] = HostThread(self.env)
        return self.threads[key]

    def span(
        self, gpu: int, track: str, name: str, task: str, start: float, **detail: object
    ) -> None:
        """Log that *track* of *gpu* was occupied from *start* until now."""
        if self.spans is not None:
            self.spans.append(
                Span(
                    owner=f"gpu{gpu}",
                    row=track,
                    name=name,
                    task=task,
                    start=start,
                    end=self.env.now,
                    detail=detail,
                )
            )

"""Result of a run: times of each task and of the whole, and the timeline. Plain frozen data.

It must not know what draws it: :mod:`c3sim.result.shown` is handed that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from c3sim.models.capacity import Capacity
from c3sim.result.shown import Drawn, Shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Counter",
    "DrawResult",
    "OverlapResult",
    "PowerResult",
    "RankClass",
    "RankResult",
    "Result",
    "Span",
    "TaskResult",
    "Timeline",
]


T = TypeVar("T")
Of = TypeVar("Of", bound=type)


class Later:
    """A value that *make* works out when it is first asked for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._made: Any = None

    def __call__(self) -> Any:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made


def later(make: Callable[[], T]) -> T:
    """Value of *make*, for a field that may come :func:`late`."""
    return cast(T, Later(make))


class _Late(property):
    """A field that may come late, in its *slot*."""

    def __init__(self, slot: Any) -> None:
        self.slot = slot
        super().__init__(self._look, slot.__set__)

    def _look(self, record: Any) -> Any:
        value = self.slot.__get__(record)
        if isinstance(value, Later):
            value = value()
            self.slot.__set__(record, value)
        return value


def late(*names: str) -> Callable[[Of], Of]:
    """A decorator of dataclasses with slots: the fields *names* may be given as :func:`later`, and
    are worked out when somebody looks at them, compares, copies or stores the record.
    """

    def of(made: Of) -> Of:
        for name in names:
            setattr(made, name, _Late(made.__dict__[name]))
        return made

    return of


def changed(record: T, **changes: Any) -> T:
    """As ``dataclasses.replace``, but what comes late still does."""
    kept = {
        name: of(record) for name, of in _as_held(cast(Any, type(record))) if name not in changes
    }
    return type(record)(**kept, **changes)


@cache
def _as_held(kind: type[Any]) -> list[tuple[str, Callable[[Any], Any]]]:
    """Each field of a dataclass with slots, and the function that gives what a record holds."""
    slots = [(each.name, getattr(kind, each.name)) for each in fields(kind)]
    return [
        (name, (slot.slot if isinstance(slot, _Late) else slot).__get__) for name, slot in slots
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A bar in a row of *owner* from *start* to *end* [s]: a kernel, a DMA command."""

    owner: str  # "gpu0", "host"
    row: str  # of the owner: "stream.compute", "dma[3]", "nic"
    name: str
    task: str
    start: float
    end: float
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def track(self) -> str:
        """The row's text: "gpu0.dma[3]"."""
        return f"{self.owner}.{self.row}" if self.row else self.owner


@dataclass(frozen=True, kw_only=True, slots=True)
class Counter:
    """A step function of time: *values[i]* holds from *times[i]* until *times[i+1]* (the last until
    the end of the run).
    """

    # Counted: a capacity; compute_units, power or clock of a GPU; dma for all its engines.
    place: Capacity
    unit: str  # "B/s", "Hz", "1", "W"
    times: Sequence[float]
    values: Sequence[float]
    maximum: float | None = None  # the capacity, where there is one
    # The same values, split by task, and those of power by component.
    by_task: Mapping[str, Sequence[float]] = field(default_factory=dict)
    by_component: Mapping[str, Sequence[float]] = field(default_factory=dict)
    label: str = ""  # for display instead of the place, of a mean over several

    @property
    def name(self) -> str:
        """The text of its place: "gpu0.hbm", "gpu0.link[2].out", "gpu0.power"."""
        return self.label or str(self.place)


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """Spans and counters of one run, in order of time."""

    spans: Sequence[Span]
    counters: Sequence[Counter]
    end: float
    component_names: Mapping[str, str] = field(default_factory=dict)  # of power's, for display


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """Times [s] of one task. *time_s* runs from the common release of all streams to the task's
    end, queueing included::

        time_s = isolated_s + predecessors_s + room_s + slower_s

        predecessors_s   it was ready later than alone: tasks that it waits for, launches
        room_s           it then waited longer than alone for its first workgroup or command
        slower_s         it then ran longer than alone

    A collective that has started waits *waited_for_ranks_s* until the last rank's has; then it
    moves.

    Energies [J] are of all GPUs, without idle power. *payload_bytes* and *energy_per_byte* [J/B]
    are None where a task moves no payload (``tasks/plan.py``); *average_power_w* is that of
    all GPUs while the task runs.
    """

    isolated_s: float
    start_s: float
    end_s: float
    time_s: float
    slowdown: float  # time_s / isolated_s
    kind: str
    energy_j: float
    stream: str = ""  # empty: a queue of its own
    ready_s: float = 0.0  # all that it waits for had ended
    predecessors_s: float = 0.0
    room_s: float = 0.0
    slower_s: float = 0.0
    waited_for_ranks_s: float = 0.0  # of a collective, part of time_s
    energy: Mapping[str, float] = field(default_factory=dict)  # the same by component
    average_power_w: float = 0.0
    payload_bytes: float | None = None
    energy_per_byte: float | None = None
    # Macro-tile, rounds, channels, protocol, bytes moved ...
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassTime:
    """Time of one operator class: time in which it runs, and in which only it runs [s]."""

    busy_s: float
    exposed_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RankClass:
    """GPUs that begin alike: how late [s], and which of their streams' first kernels come in which
    *order*; empty: in launch order.
    """

    late_s: float
    order: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawResult:
    """One way in which the ranks may begin: its probability, its wall time, its classes of GPUs."""

    probability: float
    wall_s: float
    classes: Sequence[RankClass]


@dataclass(frozen=True, kw_only=True, slots=True)
class Losses:
    """The reasons that an overlap takes *lost_s* longer than its tasks, whole, one after the other
    (*serial_s*):

        lost_s = sum of parts_s + together_s - hidden_s - whole_s

    *parts_s*: by cause what the run would gain without it, the largest first; of ``decomposition``
    what pieces take alone beyond the whole. *together_s*: what goes away with all causes at once
    and with none of them alone; less than 0 where two causes are gone with either. *hidden_s*: what
    runs beside something else. *whole_s*: what tails, packets and releases cost the whole as well.
    """

    lost_s: float
    serial_s: float
    parts_s: Mapping[str, float]
    together_s: float
    hidden_s: float
    whole_s: float


@late("ideal_s", "own_fraction", "stretched_s", "losses")
@dataclass(frozen=True, kw_only=True, slots=True)
class OverlapResult:
    """The overlap of communication and compute, and its cost. Times in s::

        ideal_s        the least time: the longest chain of isolated times of tasks that wait for
                       each other, or all that one resource has to do
        own_fraction   fraction of ideal with the strategy's own isolated times of collectives
        exposed_s      on the slowest rank communication runs or is waited for, and no compute
        stretched_s    what contention adds to compute: the time in which compute runs on the
                       slowest rank, less that of a run in which compute and communication share
                       nothing; None where it was not asked for
        classes        operator class -> busy_s, exposed_s, of a workload that has kernels of
                       operators, as those from traces have
        losses         where the overlap loses: to what

    The same of an iteration, where compute is any operator.
    """

    ideal_s: float = 0.0
    own_fraction: float | None = None
    exposed_s: float = 0.0
    stretched_s: float | None = None
    classes: Mapping[str, ClassTime] = field(default_factory=dict)
    losses: Losses | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerResult:
    """Energy and power of all GPUs, idle power included.

    *energy* [J] by component, a key of the node file, for display named in *component_names*;
    *average_w* [W] over the wall time. Energies are not validated where no power was *measured*
    (it is empty; docs/energy.md).
    """

    average_w: float = 0.0
    energy: Mapping[str, float] = field(default_factory=dict)
    component_names: Mapping[str, str] = field(default_factory=dict)
    measured: str = ""

    def to_frame(self) -> pd.DataFrame:
        """A row per component: its *energy_j* and its *share* of all."""
        import pandas as pd

        names = [self.component_names.get(key, key) for key in self.energy]
        frame = pd.DataFrame({"component": names, "energy_j": list(self.energy.values())})
        return frame.assign(share=frame["energy_j"] / frame["energy_j"].sum())


@dataclass(frozen=True, kw_only=True, slots=True)
class RankResult:
    """Ranks, processes of one GPU each: their *count*, and how they were simulated.

    *folded*: one GPU stood for all that do the same; *events* it took. *draws*: the ways in which
    ranks may begin, empty where they are in step; *wall_p5_s*, *wall_p95_s* [s]: quantiles of the
    wall time over them.
    """

    count: int = 1
    folded: bool
    events: int
    wall_p5_s: float = 0.0
    wall_p95_s: float = 0.0
    draws: Sequence[DrawResult] = ()

    def __index__(self) -> int:
        """Their count, as ``result.ranks`` was before; it goes with the next version."""
        said = "result.ranks is a record now; its number is result.ranks.count"
        warnings.warn(said, DeprecationWarning, stacklevel=2)
        return self.count

    def to_frame(self) -> pd.DataFrame:
        """A row per draw: its *probability*, its *wall_s*, and how *late_s* each class begins."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "probability": draw.probability,
                    "wall_s": draw.wall_s,
                    "late_s": [each.late_s for each in draw.classes],
                }
                for draw in self.draws
            ],
            columns=["probability", "wall_s", "late_s"],
        )


#: Keys of ``to_dict``, in order; those that lie in a record of the result: where.
_KEYS = {
    **{key: key for key in ("workload", "node", "strategy", "wall_s", "serial_s")},
    **{key: key for key in ("ideal_speedup", "speedup", "fraction_of_ideal")},
    "own_fraction": "overlap.own_fraction",
    "energy_j": "energy_j",
    "tasks": "tasks",
    **{key: f"ranks.{key}" for key in ("folded", "events")},
    **{key: f"overlap.{key}" for key in ("ideal_s", "exposed_s", "stretched_s", "classes")},
    **dict.fromkeys(("gpus", "ranks"), "ranks.count"),
    **{key: f"ranks.{key}" for key in ("wall_p5_s", "wall_p95_s", "draws")},
    "energy": "power.energy",
    "average_power_w": "power.average_w",
    "component_names": "power.component_names",
    "energy_measured": "power.measured",
    "losses": "overlap.losses",
    **{key: key for key in ("notes", "trust")},
}
_RECORDS = ("overlap", "power", "ranks", "trace", "again")  # fields that are no keys


@late("serial_s", "ideal_speedup", "speedup", "fraction_of_ideal", "tasks", "notes", "trust")
@dataclass(frozen=True, kw_only=True, slots=True)
class Result(Shown):
    """One workload on one node under one strategy::

        wall_s              of all tasks together; where ranks may begin in several ways, this and
                            the times of tasks are medians over them, of the slowest rank
        serial_s            sum of the isolated times
        speedup             serial_s / wall_s
        ideal_speedup       serial_s / overlap.ideal_s
        fraction_of_ideal   (speedup - 1) / (ideal_speedup - 1), with the isolated times of the
                            baseline, collectives on compute units, for every strategy; None where
                            nothing can overlap (one task, a single chain of tasks)
        memory_bytes        of a GPU, if no two tasks share a buffer; of an iteration, as it is used
        energy_j            J of all GPUs, idle power included
        tasks               name -> times and energy of one task
        overlap             exposed and stretched time, own fraction, classes of operators, losses
        power               mean power, energy by component
        ranks               GPUs, how they were folded, the ways in which they may begin

    Every figure stands in :meth:`to_dict` under its own name, wherever it lies here. Tasks are run
    alone once something is read that needs it: ``tasks``, the serial time, what is made of that.
    """

    workload: str
    node: str
    strategy: str
    wall_s: float
    serial_s: float
    ideal_speedup: float
    speedup: float
    fraction_of_ideal: float | None
    energy_j: float
    tasks: Mapping[str, TaskResult]
    overlap: OverlapResult
    power: PowerResult
    ranks: RankResult
    memory_bytes: float = 0.0
    notes: Sequence[str] = ()
    trust: str = ""  # the nearest measured conditions and their error; empty: not asked for
    trace: Timeline | None = None  # what happened when, of a run that was asked for it
    # Runs it once more, with its timeline or its causes, for whoever looks at it in a notebook.
    again: Any = field(default=None, repr=False, compare=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A figure by its name of before; it goes with the next version."""
            where = _KEYS.get(name, name)
            if where == name:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            said = f"result.{name} is result.{where} now; the old name goes with the next version"
            warnings.warn(said, DeprecationWarning, stacklevel=2)
            return attrgetter(where)(self)

    def __repr__(self) -> str:
        fraction = self.fraction_of_ideal
        ideal = f"ideal {self.ideal_speedup:.3g}x"
        ideal += "" if fraction is None else f", fraction of ideal {100 * fraction:.3g} %"
        tasks = [f"{name} {task.slowdown:.3g}x" for name, task in self.tasks.items()]
        more = f" and {len(tasks) - _SHOWN} more" if len(tasks) > _SHOWN else ""
        return (
            f"Result: {self.workload} on {self.node}, strategy {self.strategy}\n"
            f"wall {1e3 * self.wall_s:.4g} ms, speedup {self.speedup:.3g}x, {ideal}\n"
            f"slowdown of {', '.join(tasks[:_SHOWN])}{more}"
        )

    def timeline(self, gpu: str = "gpu0") -> Drawn:
        """Matplotlib's axes of the timeline: when which task ran, and what of *gpu* was used.

        A result without a trace is run once more. Raises InputError for a GPU that was not
        recorded: of GPUs that do the same one is.
        """
        return self.plot(gpu=gpu)

    def to_frame(self) -> pd.DataFrame:
        """A row per task, with every figure of it."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"task": name, "kind": task.kind, **figures_of(task)}
                for name, task in self.tasks.items()
            ]
        )

    def classes_frame(self) -> pd.DataFrame:
        """A row per operator class: *busy_s*, *exposed_s*, and *share* of the wall time busy."""
        import pandas as pd

        rows = [
            (name, times.busy_s, times.exposed_s, times.busy_s / self.wall_s)
            for name, times in self.overlap.classes.items()
        ]
        return pd.DataFrame(rows, columns=["class", "busy_s", "exposed_s", "share"])

    def figure(self, key: str) -> Any:
        """The figure of *key*, as it is; None: there is none."""
        own = key in _KEYS or any(each.name == key for each in fields(self))
        return attrgetter(_KEYS.get(key, key))(self) if own else None

    def by_key(self) -> dict[str, Any]:
        """Every figure by its key of :meth:`to_dict`, as it is."""
        own = [each.name for each in fields(self) if each.name not in (*_KEYS, *_RECORDS)]
        return {key: attrgetter(where)(self) for key, where in _KEYS.items()} | {
            name: getattr(self, name) for name in own
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``; the trace is left out."""
        data: dict[str, Any] = asdict(_Data(self.by_key()))["by_key"]
        return data


@dataclass(frozen=True)
class _Data:
    by_key: Mapping[str, Any]


_SHOWN = 6  # tasks in one line


def figures_of(result: Result | TaskResult) -> dict[str, Any]:
    """Figures of it that are numbers, by key; None for a number that there is not."""
    if isinstance(result, Result):
        values = result.by_key()
    else:
        values = {each.name: getattr(result, each.name) for each in fields(result)}
    return {
        name: value
        for name, value in values.items()
        if name != "folded" and isinstance(value, int | float | None)
    }

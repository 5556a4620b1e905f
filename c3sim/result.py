"""Result of a run: times of each task and of the whole, and the timeline. Plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from c3sim.models.capacity import Capacity
from c3sim.shown import Drawn, Shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Counter", "DrawResult", "RankClass", "Result", "Span", "TaskResult", "Timeline"]


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

    # What was counted: a capacity; compute_units, power or clock of a GPU; dma for all its engines.
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
    """Why an overlap takes *lost_s* longer than its tasks, whole, one after the other (*serial_s*):

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Result(Shown):
    """One workload on one node under one strategy::

        serial_s            sum of the isolated times
        ideal_s             the least time: the longest chain of isolated times of tasks that wait
                            for each other, or all that one resource has to do
        ideal_speedup       serial_s / ideal_s
        speedup             serial_s / wall_s
        fraction_of_ideal   (speedup - 1) / (ideal_speedup - 1), with the isolated times of the
                            baseline, collectives on compute units, for every strategy
        own_fraction        the same with the strategy's own isolated times of collectives
        exposed_s           on the slowest rank communication runs or is waited for, and no compute
        stretched_s         what contention adds to compute: the time in which compute runs on the
                            slowest rank, less that of a run in which compute and communication
                            share nothing; None where it was not asked for
        classes             operator class -> busy_s, exposed_s, of a workload that has kernels of
                            operators, as those from traces have
        losses              where the overlap loses: to what
        energy_j            J of all GPUs, idle power included; *energy*: by component, a key of the
                            node file, for display named in *component_names*
        average_power_w     over the wall time, of all GPUs
        wall_p5_s, _p95_s   of the wall time over the *draws*, the ways in which ranks may begin;
                            wall_s and the times of tasks are medians over them, of the slowest rank

    Fractions are None where nothing can overlap (one task, a single chain of tasks). Energies are
    not validated where no power was measured (*energy_measured* is empty; docs/energy.md).
    """

    workload: str
    node: str
    strategy: str
    wall_s: float
    serial_s: float
    ideal_speedup: float
    speedup: float
    fraction_of_ideal: float | None
    own_fraction: float | None
    energy_j: float
    tasks: Mapping[str, TaskResult]
    folded: bool
    events: int
    ideal_s: float = 0.0
    exposed_s: float = 0.0
    stretched_s: float | None = None
    classes: Mapping[str, ClassTime] = field(default_factory=dict)
    gpus: int = 1
    ranks: int = 1  # processes, one per GPU
    wall_p5_s: float = 0.0
    wall_p95_s: float = 0.0
    draws: Sequence[DrawResult] = ()  # empty: the ranks are in step
    energy: Mapping[str, float] = field(default_factory=dict)
    average_power_w: float = 0.0
    component_names: Mapping[str, str] = field(default_factory=dict)
    energy_measured: str = ""
    losses: Losses | None = None
    notes: Sequence[str] = ()
    trust: str = ""  # the nearest measured conditions and their error; empty: not asked for
    trace: Timeline | None = None  # what happened when, of a run that was asked for it
    # Runs it once more, with its timeline or its causes, for whoever looks at it in a notebook.
    again: Any = field(default=None, repr=False, compare=False)

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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``; the trace is left out."""
        from dataclasses import asdict, replace

        data = asdict(replace(self, trace=None, again=None))
        del data["trace"], data["again"]
        return data


_SHOWN = 6  # tasks in one line


def figures_of(result: Result | TaskResult) -> dict[str, Any]:
    """Its fields that are numbers, by name; None for a number that there is not."""
    values = {each.name: getattr(result, each.name) for each in fields(result)}
    return {
        name: value
        for name, value in values.items()
        if name not in ("folded", "trace", "again") and isinstance(value, int | float | None)
    }

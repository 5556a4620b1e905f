"""Result of one simulation: when each task ran on each GPU, the end, energies, the timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from c3sim.machine.cache_counts import CacheCounts
from c3sim.machine.machine import Memories
from c3sim.machine.settling import Settled as Settled
from c3sim.machine.settling import Sums
from c3sim.machine.settling import Turn as Turn
from c3sim.processes.plan import Arrivals
from c3sim.result import Timeline
from c3sim.spec.energies import IDLE, Account

#: What governors that remember know before a turn.
Clocks = Memories


class Exposure(NamedTuple):
    """On the slowest rank [s]: *computing*, compute tasks run; *exposed*, communication runs or is
    waited for and no compute task runs.
    """

    exposed: float
    computing: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRun:
    """A task on a GPU: ready, first workgroup or command, end [s from release]; its choices.
    *waited* [s]: of a collective, from its start until its channels are there on every rank.
    """

    ready: float
    start: float
    end: float
    detail: Mapping[str, Any]
    waited: float = 0.0

    def waited_for_room(self, alone: TaskRun) -> float:
        """The time [s] by which it begins later behind being ready than *alone*. A kernel that was
        in its queue in time begins sooner: it has waited for what was before it, and not for room.
        """
        return max(0.0, (self.start - self.ready) - (alone.start - alone.ready))


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One way in which the ranks may begin: how likely, and the last *end* [s] that follows."""

    probability: float
    end: float
    arrivals: Arrivals


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Result: *times* per (task, simulated GPU) in
    the order of the tasks, the last *end* [s], *events* processed.

    Times of a GPU count from its own begin (*begins* [s]). Where ranks begin in one of several
    ways, *end* and *times* are medians over the *outcomes*, of the slowest rank, or, where ranks
    *drift*, over all ranks; all else is of one run in the middle.

    *exposure*: of the slowest rank, a median over the outcomes as well.

    *accounts*: per task the energy [J] of all GPUs by name of the energy (machine/energy.py),
    without idle power; None where energy was not recorded. *idle* [J]: of all GPUs, whatever runs.
    *lines*: per task what it did to those of the last cache; empty where nobody names a policy, or
    energy was not recorded. *clocks*: of a loop what governors that remember know before it;
    *held*: of its first turn what it would take of a GPU by the clock that is held.
    """

    times: Mapping[tuple[str, int], TaskRun]
    end: float
    begins: Mapping[int, float]
    idle: float
    folded: bool
    events: int
    exposure: Exposure
    accounts: Mapping[str, Account] | None = None
    lines: Mapping[str, CacheCounts] = field(default_factory=dict)
    timeline: Timeline | None = None
    outcomes: tuple[Outcome, ...] = ()
    drift: bool = False
    clocks: Clocks = field(default_factory=dict, repr=False, compare=False)
    held: Mapping[float, Sums] = field(default_factory=dict, repr=False, compare=False)
    _slowest: dict[str, TaskRun] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        slowest: dict[str, TaskRun] = {}
        for (name, _), run in self.times.items():
            if name not in slowest or run.end > slowest[name].end:
                slowest[name] = run
        object.__setattr__(self, "_slowest", slowest)

    def task(self, name: str) -> TaskRun:
        """The task on its slowest GPU."""
        return self._slowest[name]

    @property
    def last_gpu(self) -> int:
        """The simulated GPU that ends last."""
        return max(self.times, key=lambda key: self.times[key].end)[1]

    def account_of(self, name: str) -> Account:
        """The account of one task."""
        assert self.accounts is not None, "this run did not record energy"
        return self.accounts.get(name, {})

    @property
    def account(self) -> Account:
        """Energy [J] of the whole by name of the energy, idle power included."""
        assert self.accounts is not None, "this run did not record energy"
        total = {IDLE: self.idle}
        for account in self.accounts.values():
            for name, joules in account.items():
                total[name] = total.get(name, 0.0) + joules
        return total

    @property
    def energy(self) -> float:
        """Energy [J] of the whole, idle power included."""
        assert self.accounts is not None, "this run did not record energy"
        return sum(sum(account.values()) for account in self.accounts.values()) + self.idle

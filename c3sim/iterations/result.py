"""Result of an iteration: plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from c3sim.iterations.shares import FURTHER
from c3sim.result import ClassTime, OverlapResult, Result

if TYPE_CHECKING:
    import pandas as pd

    from c3sim.iterations.stages import Stage


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTimes:
    """Where the wall time of an iteration goes; fields as of :class:`IterationResult`."""

    workload: str
    node: str
    strategy: str
    wall_s: float
    overlap: OverlapResult
    parts: Mapping[str, float]
    groups: Mapping[str, ClassTime]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)  # short, as that of any result
class IterationResult(Result):
    """One iteration::

    compute_s         wall time without communication
    communication_s   that of the collectives alone, one after the other
    parts             what the wall time adds up from [s]: operator classes (communication: where
                      no operator runs), launches, waiting, bubbles, stages, idle (shares.py); of
                      a pipeline the mean over its stages
    tokens_per_s      of all replicas
    mfu               FLOP of the model (nothing done again) by what the matrix units of all GPUs
                      do in the wall time at full clock
    memory_bytes      of the GPU that needs most; *fits* its memory
    host_s            host thread busy with the launches; *host_bound*: they take longest
    layers            of one GPU; *simulated* of them, the others add as much
    groups            communication of each group of GPUs, by its dimensions: how long it runs, and
                      for how long no operator does
    stages            of a pipeline: what each does, how long it waits, its memory

    In *overlap*, communication that was launched and has all that it waits for counts as waited
    for; *stretched_s* is the time that operators run longer than without communication.
    """

    compute_s: float
    communication_s: float
    tokens_per_s: float
    mfu: float
    fits: bool
    host_s: float
    host_bound: bool
    layers: int
    simulated: int
    parts: Mapping[str, float]
    stages: tuple[Stage, ...] = ()
    groups: Mapping[str, ClassTime] = field(default_factory=dict)

    def classes_frame(self) -> pd.DataFrame:
        """A row per operator class and further part: *busy_s*, *exposed_s*, *part_s*, and its
        *share* of the wall time. Shares add up to 1.
        """
        import pandas as pd

        rows = []
        for name in (*self.overlap.classes, *FURTHER):
            times, part = self.overlap.classes.get(name), self.parts.get(name, 0.0)
            own = (times.busy_s, times.exposed_s) if times else (None, None)
            rows.append((name, *own, part, part / self.wall_s))
        return pd.DataFrame(rows, columns=["class", "busy_s", "exposed_s", "part_s", "share"])

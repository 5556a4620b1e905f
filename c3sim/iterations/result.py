"""Result of an iteration: plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from c3sim.result import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)  # short, as that of any result
class IterationResult(Result):
    """One iteration::

    compute_s         wall time without communication
    communication_s   that of the collectives alone, one after the other
    exposed_s         time in which communication runs or, launched and all that it waits for
                      done, is waited for, and no operator runs
    stretched_s       time that operators run longer than without communication
    classes           operator class -> busy_s, exposed_s (only that class runs)
    tokens_per_s      of all replicas
    mfu               FLOP of the model (nothing done again) by what the matrix units of all GPUs
                      do in the wall time at full clock
    memory_bytes      of the GPU that needs most; *fits* its memory
    host_s            host thread busy with the launches; *host_bound*: they take longest
    layers            of one GPU; *simulated* of them, the others add as much
    """

    compute_s: float
    communication_s: float
    exposed_s: float
    stretched_s: float
    tokens_per_s: float
    mfu: float
    memory_bytes: float
    fits: bool
    host_s: float
    host_bound: bool
    layers: int
    simulated: int

    def classes_frame(self) -> pd.DataFrame:
        """A row per operator class: *busy_s*, *exposed_s*, and *share* of the wall time busy."""
        import pandas as pd

        rows = [
            (name, times.busy_s, times.exposed_s, times.busy_s / self.wall_s)
            for name, times in self.classes.items()
        ]
        return pd.DataFrame(rows, columns=["class", "busy_s", "exposed_s", "share"])

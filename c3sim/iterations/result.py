"""Result of an iteration: plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.result import Result


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)  # short, as that of any result
class IterationResult(Result):
    """One iteration::

    compute_s         wall time without communication
    communication_s   that of the collectives alone, one after the other
    tokens_per_s      of all replicas
    mfu               FLOP of the model (nothing done again) by what the matrix units of all GPUs
                      do in the wall time at full clock
    memory_bytes      of the GPU that needs most; *fits* its memory
    host_s            host thread busy with the launches; *host_bound*: they take longest
    layers            of one GPU; *simulated* of them, the others add as much

    In *overlap*, communication that was launched and has all that it waits for counts as waited
    for; *stretched_s* is the time that operators run longer than without communication.
    """

    compute_s: float
    communication_s: float
    tokens_per_s: float
    mfu: float
    memory_bytes: float
    fits: bool
    host_s: float
    host_bound: bool
    layers: int
    simulated: int

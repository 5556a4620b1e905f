"""The memory controller: a queue per channel, rows and banks, and who is served first.

Addresses interleave, so that all channels have the same and one stands for all. A channel takes

    b = request / (bandwidth / channels)    for a request of the row that is open
    row_switch                              to open another row of a free bank
    row_cycle                               where a bank has a row of somebody else open

The queue shows the controller L requests ahead. It serves those of a row together, and opens the
next row while it does. Regions lie in whole rows. With s streams in the queue that is

    run = row / request, where t streams take turns at most L / t    requests of a row in a run
    lost = max(0, row_switch - L b) + (s - 1) / banks row_cycle
    efficiency = run b / (run b + lost)

Reads of the GEMM are one stream, its stores, reads of engines and arriving updates one each. An
update that memory adds takes ``update_cost`` times its bytes. Within compute reads go first, as in
any controller that buffers stores.

Without arbitration compute and communication take turns: each has at least half. With it compute
goes first. Communication enters the queue only while it holds fewer than ``threshold`` requests,
which then is its L; and one request of each channel goes whatever the queue holds once it has
waited for ``starvation_limit``.

Source: rows and banks: JEDEC JESD235 (HBM); order, threshold and limit: arXiv 2401.16677.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory of a GPU. *bandwidth*: B/s that one stream gets."""

    bandwidth: float
    channels: int
    queue: int  # requests of a channel
    request: float  # bytes
    row: float  # bytes of a row in one channel
    banks: int
    row_switch: float  # s
    row_cycle: float  # s
    update_cost: float
    arbitrated: bool
    thresholds: tuple[int, ...]  # from the strictest on; then none
    adaptive: bool  # whether the first stage chooses; else the strictest holds
    starvation_limit: float  # s

    def efficiency(self, streams: int, ahead: float, turns: int = 1) -> float:
        """Share of the bandwidth that *streams* get with so many requests *ahead* in the queue;
        *turns*: those that take turns request by request.
        """
        burst = self.request * self.channels / self.bandwidth
        run = self.row / self.request * burst
        if turns > 1:
            run = min(run, max(1.0, ahead / turns) * burst)
        lost = max(0.0, self.row_switch - ahead * burst)
        lost += max(0, streams - 1) / self.banks * self.row_cycle
        return run / (run + lost)

    def chosen(self, load: float) -> int | None:
        """The threshold for a kernel that loads memory by *load* in its first stage: candidates by
        equal parts of the load, the strictest for the highest; None: none.
        """
        if not self.adaptive:
            return min(self.thresholds, default=None)
        order = (None, *sorted(self.thresholds, reverse=True))
        return order[min(int(load * len(order)), len(order) - 1)]


class Bytes(NamedTuple):
    """Bytes that wait, or were served, by who asked."""

    reads: float = 0.0
    stores: float = 0.0
    sends: float = 0.0
    updates: float = 0.0


class Controller:
    """A memory controller; *store_cost*: bytes of bandwidth of a byte that the GEMM stores."""

    def __init__(self, memory: Memory, store_cost: float) -> None:
        self.memory, self._cost = memory, store_cost
        self.threshold = memory.chosen(1.0)  # until the first stage is over
        self.held = 0.0  # s in which communication waited behind compute

    def serve(self, waiting: Bytes, time: float) -> Bytes:
        """Bytes of *waiting* that are served in *time* [s]."""
        if self.memory.arbitrated:
            return self._compute_first(waiting, time)
        return self._in_turn(waiting, time)

    def _work(self, waiting: Bytes) -> tuple[float, float]:
        """Bytes of bandwidth that compute and communication want."""
        communication = waiting.sends + waiting.updates * self.memory.update_cost
        return waiting.reads + waiting.stores * self._cost, communication

    def _in_turn(self, waiting: Bytes, time: float) -> Bytes:
        memory, (compute, other) = self.memory, self._work(waiting)
        streams = sum(each > 0 for each in waiting)
        given = time * memory.bandwidth * memory.efficiency(streams, memory.queue, streams)
        first = min(compute, max(given / 2, given - other))
        return self._split(waiting, first, min(other, given - first))

    def _compute_first(self, waiting: Bytes, time: float) -> Bytes:
        memory, (compute, other) = self.memory, self._work(waiting)
        ahead = memory.queue if self.threshold is None else min(self.threshold, memory.queue)
        peak = memory.bandwidth
        own = peak * memory.efficiency((waiting.reads > 0) + (waiting.stores > 0), memory.queue)
        theirs = peak * memory.efficiency((waiting.sends > 0) + (waiting.updates > 0), ahead)
        forced = 0.0
        if other and memory.starvation_limit:
            burst = memory.request * memory.channels / peak
            forced = min(other / theirs, time * min(1.0, burst / memory.starvation_limit))
        busy = min(time - forced, compute / own)
        left = max(forced, time - busy)
        if other and left < other / theirs:
            self.held += min(busy, other / theirs - left)
        return self._split(waiting, busy * own, min(other, left * theirs))

    def _split(self, waiting: Bytes, compute: float, other: float) -> Bytes:
        """So much work done, in bytes of bandwidth, as bytes: reads before stores, both kinds of
        communication alike.
        """
        reads = min(waiting.reads, compute)
        stores = min(waiting.stores, (compute - reads) / self._cost)
        wanted = self._work(waiting)[1]
        part = min(1.0, other / wanted) if wanted else 0.0
        return Bytes(reads, stores, waiting.sends * part, waiting.updates * part)

"""A sub-layer under T3, on one GPU of a ring: a GEMM, the reduce-scatter that its stores start.

The output is n chunks for n GPUs, made in an order that is staggered, so that all GPUs do the same
at the same time: what this one sends is what arrives from the GPU before, a hop later, as the chunk
after it.

    chunk 0       stored straight into the next GPU's memory
    chunk s       a region whose two updates are in leaves at once, read by an engine
    chunk n - 1   stays

A window takes WINDOW s, or a slice of K if that is shorter. Whatever happens in it counts from its
end on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import lru_cache

from c3sim.experiments.near_memory.controller import Bytes, Controller, Memory
from c3sim.experiments.near_memory.producer import Gemm, Producer
from c3sim.experiments.near_memory.tracker import Miss, Tracker

WINDOW = 2e-6  # s; half of it changes ends by less than two per cent (a test)
LONGEST = 1_000_000  # windows of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A sub-layer on one of *gpus*; *link* [B/s], *hop* and *trigger* [s]."""

    gemm: Gemm
    memory: Memory
    gpus: int
    link: float
    hop: float
    trigger: float
    entries: int | None
    miss: Miss
    counter: float  # bytes that reading and writing a counter in memory takes
    updates: bool = True  # stores are added near memory, past the last cache
    sends: bool = True  # False: the GEMM alone, its first chunk stored elsewhere
    computes: bool = True  # False: the reduce-scatter alone, all tiles are there


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Times [s] from the start; bytes of this GPU's memory."""

    gemm: float  # its last tile is computed
    end: float  # all chunks are where they belong
    moved: Bytes
    counters: float  # bytes beside them, of counters in memory
    misses: int
    peak: int  # tracker entries in use
    threshold: int | None
    first_load: float  # share of memory's time that compute took in its first stage
    held: float  # s in which communication waited behind compute


@lru_cache(maxsize=1024)
def run(layer: Layer) -> Outcome:
    """The run of *layer*. Raises RuntimeError: it does not end."""
    state = _Run(layer)
    for _ in range(LONGEST):
        if state.over:
            return state.outcome()
        state.window()
    raise RuntimeError("a sub-layer does not end")


@dataclass(slots=True)
class _Piece:
    """Bytes of a region (a tile) on their way."""

    region: int
    left: float
    due: float  # s from which on it may go


class _Queue:
    """Pieces in order; *ready*: bytes of those that are due."""

    def __init__(self) -> None:
        self._pieces, self._later = deque[_Piece](), deque[_Piece]()
        self.ready = 0.0

    def __bool__(self) -> bool:
        return bool(self._pieces or self._later)

    def put(self, region: int, size: float, due: float = 0.0) -> None:
        self._later.append(_Piece(region, size, due))

    def wait(self, now: float) -> float:
        """Bytes that are due."""
        while self._later and self._later[0].due <= now:
            piece = self._later.popleft()
            self._pieces.append(piece)
            self.ready += piece.left
        return self.ready

    def take(self, amount: float) -> list[int]:
        """Take *amount* bytes from the front; the regions that are gone whole."""
        gone = []
        self.ready = max(0.0, self.ready - amount)
        while self._pieces and amount > 0:
            piece = self._pieces[0]
            if piece.left > amount * (1 + 1e-9):
                piece.left -= amount
                break
            amount -= piece.left
            gone.append(self._pieces.popleft().region)
        if not self._pieces:
            self.ready = 0.0
        return gone


class _Run:
    """State of one run, window by window."""

    def __init__(self, layer: Layer) -> None:
        self.layer, self.now, self.gemm_end = layer, 0.0, 0.0
        gemm = layer.gemm if layer.computes else replace(layer.gemm, tiles=0)
        self.step = min(WINDOW, gemm.body / gemm.slices)
        self.tiles, self.region = layer.gemm.tiles, layer.gemm.stored
        self.producer = Producer(gemm)
        self.controller = Controller(layer.memory, layer.memory.update_cost if layer.updates else 1)
        self.tracker = Tracker(layer.entries, layer.miss)
        self.stores, self.reads = _Queue(), _Queue()  # into memory; out of it
        self.wire, self.arrivals = _Queue(), _Queue()
        self.forwarded = 0.0  # bytes of stores on the wire
        self.late: list[int] = []
        self.counters = 0.0  # bytes of counters in memory that wait
        self.counted_bytes = 0.0  # or were read and written
        self.moved, self.first_load = Bytes(), 0.0
        self.chunks = [-(-s * self.tiles // layer.gpus) for s in range(layer.gpus + 1)]
        self.missing = (self.tiles - self.chunks[1]) if layer.sends else 0  # regions, both updates
        self.received = [0.0] * layer.gpus  # bytes of each chunk that have arrived and been added
        self.counted = [0] * layer.gpus  # regions of each that are complete by that
        if not layer.computes:
            self.controller.threshold = layer.memory.chosen(0.0)
            self._all_there()

    @property
    def over(self) -> bool:
        return self.producer.over and not self.stores and not self.missing

    def outcome(self) -> Outcome:
        return Outcome(
            gemm=self.gemm_end,
            end=self.now,
            moved=self.moved,
            counters=self.counted_bytes,
            misses=self.tracker.misses,
            peak=self.tracker.peak,
            threshold=self.controller.threshold,
            first_load=self.first_load,
            held=self.controller.held,
        )

    def _all_there(self) -> None:
        for region in range(self.chunks[1]):
            self.wire.put(region, self.region)
        for region in range(self.chunks[1], self.tiles):
            self._updated(region)

    def window(self) -> None:
        """One window: ask, serve, compute, send."""
        memory, step = self.layer.memory, self.step
        wanted = self.producer.wanted()
        queues = (self.stores, self.reads, self.arrivals)
        stores, sends, updates = (each.wait(self.now) for each in queues)
        asked = Bytes(wanted, stores, sends, updates + self.counters)
        served = self.controller.serve(asked, step)
        counters = min(self.counters, served.updates)
        self.counters -= counters
        self.counted_bytes += counters
        served = served._replace(updates=served.updates - counters)
        self.moved = Bytes(*(a + b for a, b in zip(self.moved, served, strict=True)))
        self.now += step
        if self.producer.staged < 2 and not self.producer.over:
            self._first_stage(served, step * memory.bandwidth)
        self.producer.advance(served.reads / wanted if wanted else 1.0, step)
        for region in self.stores.take(served.stores):
            self._updated(region)
        for region in self.reads.take(served.sends):
            self.wire.put(region, self.region)
        self._arrived(served.updates)
        self._finish()
        self._send(step * self.layer.link)

    def _first_stage(self, served: Bytes, most: float) -> None:
        """Watch how much compute loads memory, and choose the threshold by it."""
        cost = self.layer.memory.update_cost if self.layer.updates else 1.0
        busy = (served.reads + served.stores * cost) / most
        part = self.step / self.now
        self.first_load += (busy - self.first_load) * part
        if self.producer.staged >= 1 and self.layer.memory.arbitrated:
            self.controller.threshold = self.layer.memory.chosen(self.first_load)

    def _finish(self) -> None:
        """Hand over the stores of tiles that are computed."""
        room = self.layer.gemm.buffer - self.stores.ready - self.forwarded
        for regions in self.producer.finished(room):
            self.gemm_end = self.now
            for region in regions:
                if region >= self.chunks[1] or not self.layer.updates:
                    self.stores.put(region, self.region)
                elif self.layer.sends:
                    self.wire.put(region, self.region)
                    self.forwarded += self.region
        if self.producer.over and self.late:
            for region in self.late:
                self._complete(region)
            self.late = []

    def _send(self, most: float) -> None:
        """Send up to *most* bytes; what has left arrives here from the GPU before."""
        self.wire.wait(self.now)
        for region in self.wire.take(most):
            self.arrivals.put(region, self.region, self.now + self.layer.hop)
            if region < self.chunks[1] and self.layer.computes:
                self.forwarded -= self.region

    def _arrived(self, amount: float) -> None:
        """Add *amount* bytes that have arrived, chunk s of the GPU before as s + 1 here."""
        for sent_region in self.arrivals.take(amount):
            chunk = self._chunk(sent_region) + 1
            self.received[chunk] += self.region
            begin, end = self.chunks[chunk], self.chunks[chunk + 1]
            sent = (self.chunks[chunk] - self.chunks[chunk - 1]) * self.region
            complete = int(self.received[chunk] / sent * (end - begin) + 1e-6)
            for region in range(begin + self.counted[chunk], begin + complete):
                self._updated(region)
            self.counted[chunk] = complete

    def _chunk(self, region: int) -> int:
        return region * self.layer.gpus // self.tiles

    def _updated(self, region: int) -> None:
        """Count an update of *region*, local or from the GPU before."""
        if not (self.layer.sends and self.layer.updates):
            return
        said = self.tracker.update(region)
        if said == "complete":
            self._complete(region)
        elif said == "missed":
            if self.layer.miss == "spill" and self.layer.entries:
                self.counters += self.layer.counter
            if self.tracker.complete_in_memory(region):
                spilled = self.layer.miss == "spill" and bool(self.layer.entries)
                if spilled or self.producer.over:
                    self._complete(region)
                else:
                    self.late.append(region)

    def _complete(self, region: int) -> None:
        """Let an engine send *region*, unless it stays."""
        self.missing -= 1
        if self._chunk(region) < self.layer.gpus - 1:
            self.reads.put(region, self.region, self.now + self.layer.trigger)

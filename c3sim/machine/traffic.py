"""Traffic of a flow per unit of its progress. Processes declare it, the machine draws it
from capacities, energy charges for it.
"""

from __future__ import annotations

from typing import NamedTuple

from c3sim.models.groups import Group
from c3sim.models.links import Hop, reverse
from c3sim.models.network import Draw


class Traffic(NamedTuple):
    """Traffic of one unit of progress; bytes unless said otherwise."""

    l2: float = 0.0
    cache: float = 0.0  # through the memory-side cache
    hbm_read: float = 0.0
    hbm_write: float = 0.0
    hbm_busy: float = 0.0  # bandwidth of memory that updates take beside the bytes they write
    ports: tuple[tuple[Hop, float], ...] = ()  # ((GPU, port), bytes)
    network: tuple[Draw, ...] = ()  # between nodes
    alike: Group | None = None  # whose GPUs are renumbered on *ports*, where one stands for all
    together: bool = False  # all GPUs that share a part of the network draw on it alike
    remote: tuple[tuple[int, float, float], ...] = ()  # (GPU, bytes read, bytes written there)
    host: tuple[tuple[str, float], ...] = ()  # ("in" | "out", bytes)
    engine: tuple[int, float] | None = None  # (DMA engine, bytes)
    core_energy: float = 0.0  # J at the maximum clock, matrix units
    inserted: float = 0.0  # bytes that displace others in the memory-side cache
    touched: float = 0.0  # bytes found again there, in lines that stay,
    footprint: float = 0.0  # of which the whole kernel has so many [bytes]
    stored: bool = False  # at peers, unfinished until they are there
    releasing: float = 0.0  # s in which a die makes releases, where it makes one at a time
    release_hold: float = 0.0  # share of its other traffic that stands still in them
    # bytes that waves load and store, through L2; for energy only, a GEMM's are in its FLOPs'
    vector: float = 0.0

    def answering(self, gpus: int, hop: Hop) -> Hop:
        """The port that answers what goes through *hop*, in nodes of so many *gpus*."""
        gpu, port = hop
        if self.alike is not None and port.number is not None:
            return gpu, self.alike.back(port)
        return reverse(gpus, hop)

    def times(self, count: float) -> Traffic:
        """The same for *count* units at once."""
        return Traffic(
            l2=self.l2 * count,
            cache=self.cache * count,
            hbm_read=self.hbm_read * count,
            hbm_write=self.hbm_write * count,
            hbm_busy=self.hbm_busy * count,
            ports=tuple([(port, amount * count) for port, amount in self.ports]),
            network=tuple([(where, amount * count) for where, amount in self.network]),
            remote=tuple([(gpu, read * count, write * count) for gpu, read, write in self.remote]),
            alike=self.alike,
            together=self.together,
            host=tuple([(direction, amount * count) for direction, amount in self.host]),
            engine=self.engine,
            core_energy=self.core_energy * count,
            inserted=self.inserted * count,
            touched=self.touched * count,
            footprint=self.footprint,
            stored=self.stored,
            release_hold=self.release_hold,
            releasing=self.releasing * count,
            vector=self.vector * count,
        )

"""One phase of a collective: the ranks that take part, and the rate of their channels.

**Rate** of c channels on a link: the soft minimum of c x rate of a channel and the rate of the link
(models/links.py).

**Primitives.** Where a library says what a channel loads and stores per cycle, each chunk is a row
of primitives that follow one another on every rank at once. A primitive takes what the channel
needs for the payload, its loads and its stores, or what the link needs, softly the longer; one that
sends nothing needs no link. All ranks send from the first primitive on, so that the ring is never
empty: slices = 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from c3sim.models.groups import Group, Span
from c3sim.models.links import Hop, soft_minimum
from c3sim.models.network import Peers

Level = Literal["node", "rail", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """The GPUs of one phase: of a node, of a rail (one of each node), or all of all nodes; of a
    group its members.
    """

    level: Level
    count: int
    over_nics: float = 0.0  # share of what a GPU sends that goes to other nodes
    peers: Peers = "next"  # whom it goes to


def ranks_of(span: Span, level: Level, algorithm: str) -> Ranks:
    """The ranks of a phase on *level* by *algorithm*, of a group of that *span*.

    A flat ring passes all GPUs of a node before it leaves it, so 1/g of its bytes go over NICs (a
    full mesh of g GPUs, g even, splits into g such paths); flat direct sends straight to every
    peer, n - g of n - 1 of them in other nodes.
    """
    if level == "node":
        return Ranks(level=level, count=span.inside.size)
    ring = algorithm == "ring"
    if level == "rail":
        peers: Peers = "next" if ring else "rail"
        return Ranks(level=level, count=span.between.size, over_nics=1.0, peers=peers)
    gpus, ranks = span.inside.size, span.size
    over_nics = 1.0 / gpus if ring else (ranks - gpus) / (ranks - 1)
    return Ranks(level=level, count=ranks, over_nics=over_nics, peers="next" if ring else "all")


def channel_speed(clocked: float, clock: float, memory: float) -> float:
    """Progress of a channel, as a share of that at full speed: memory / (c / clock + 1 - c) at
    *clock*, as a share of the maximum, with *memory*'s share and c the *clocked* one.
    """
    return clock * memory if clocked == 1.0 else memory / (clocked / clock + 1.0 - clocked)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePlan:
    """Plan of a library for one phase: an algorithm among the ranks of one level."""

    op: str
    algorithm: str
    protocol: str
    level: Level
    channels: int
    sent: float  # payload bytes each GPU sends
    work: float = 0.0  # s of channel work before data flow at full rate, at full speed
    flight: float = 0.0  # s on the links in that time, whatever the clock
    reads: float  # memory bytes per payload byte sent
    writes: float
    # ((GPU offset, port), wire bytes per payload byte sent)
    paths: tuple[tuple[Hop, float], ...]
    lanes: int  # links (rings or peers) the channels are spread over
    per_link: int  # channels on the fullest link
    channel_rate: float  # payload B/s of one channel at the maximum clock, if no link held it up
    link_rate: float  # payload B/s of one lane
    saturation_exponent: float
    connections: int = 0  # steps and peers of a channel: what a first call has to find
    network: float = 0.0  # wire bytes between nodes per payload byte sent, each direction
    peers: Peers = "next"  # whom those go to
    group: Group | None = None  # in a node; paths are then those of GPU 0
    span: Span | None = None  # of the group whose bytes go over the network; None: of all GPUs
    by_nic: float = 0.0  # memory bytes that NICs read, and write, per payload byte sent
    # of each primitive: (s of a channel, bytes sent), per payload byte sent in all of them
    primitives: tuple[tuple[float, float], ...] = ()

    @property
    def name(self) -> str:
        place = {"node": "in the node", "rail": "on the rails", "all": "among all GPUs"}
        return f"{self.op} {place[self.level]}"

    @property
    def moved(self) -> float:
        """Memory bytes of each GPU."""
        return self.sent * (self.reads + self.writes)

    @property
    def moving(self) -> float:
        """Seconds in which the bytes are sent, by all channels at full speed."""
        return self.sent / self.rate(self.channels, 1.0)

    @property
    def on_links(self) -> float:
        """Seconds that the bytes take of links or NIC, however many channels there are."""
        return self.sent / (self.lanes * self.link_rate)

    @property
    def estimate(self) -> float:
        """Seconds alone, at full speed."""
        return self.work + self.flight + self.moving

    def rate(self, channels: float, speed: float) -> float:
        """Payload rate [B/s] of *channels* resident channels that run at *speed* (clock times
        memory's share). The data are dealt evenly to the channels, so the fullest lane decides.
        """
        return channels * self._lane_rate(speed) / self.per_link

    def unlinked_rate(self, channels: float, speed: float) -> float:
        """The same if links were no limit."""
        if not self.primitives:
            return channels * self.channel_rate * speed
        return channels * speed / sum(time for time, _ in self.primitives)

    def _lane_rate(self, speed: float) -> float:
        """Payload rate [B/s] of the channels of the fullest lane."""
        if not self.primitives:
            return soft_minimum(
                self.per_link * self.channel_rate * speed, self.link_rate, self.saturation_exponent
            )
        if speed <= 0.0:
            return 0.0
        working = self.per_link * speed
        return 1.0 / sum(
            1.0 / soft_minimum(working / time, self.link_rate / sent, self.saturation_exponent)
            if sent
            else time / working
            for time, sent in self.primitives
        )

    def beside_others(self, total: float) -> PhasePlan:
        """The same on channels that divide themselves between phases which send *total* bytes."""
        return replace(
            self,
            channel_rate=self.channel_rate * self.sent / total,
            primitives=tuple((time * total / self.sent, sent) for time, sent in self.primitives),
        )

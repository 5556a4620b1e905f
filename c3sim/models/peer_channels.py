"""How a library deals direct sends to its channels."""

from __future__ import annotations

from math import ceil, log2
from typing import NamedTuple

from c3sim.specs.libraries import PeerChannels


class Dealt(NamedTuple):
    """How direct sends use channels."""

    channels: int  # that get something
    evenness: float  # the mean over the most that one of them gets
    rounds: int  # parts that one of them has at most, one after the other


def deal(rule: PeerChannels, channels: int, ranks: int, size: float) -> Dealt:
    """How direct sends of *size* bytes to each peer use *channels*.

    ``power_of_two``: there is a power of two of channels; each peer has its share, or twice as many
    as long as a channel's part is larger than ``part``. The parts of all peers are dealt to the
    channels in turn.
    """
    total = 2 ** ceil(log2(channels))
    each = max(1, total // ranks)
    while size / each > rule.part and 2 * each <= total:
        each *= 2
    parts = each * (ranks - 1)
    used = min(parts, total)
    most = ceil(parts / used)
    return Dealt(used, parts / used / most, most)

"""Streams, and the host threads that submit a workload's tasks to them."""

from __future__ import annotations

from typing import Annotated, Literal

from c3sim.specs.base import ByForm, Spec
from c3sim.specs.quantities import Count, Positive, Time


class Stream(Spec):
    """A queue: its tasks run in order. Higher *priority* wins free compute units; ``compute_units``
    is a mask.
    """

    priority: int = 0
    compute_units: Annotated[str | Count | None, ByForm()] = None
    """CU mask: a count (the first n bits) or ranges of bits such as '0-271,280'; bit i is on die i
    mod dies"""


class Loop(Spec):
    """The workload is one turn of a loop; times are those of the median turn, from *begin*."""

    iterations: Count
    """turns of the loop; the power limit has averaged over half of them"""
    barrier: bool = True
    """whether all ranks begin a turn together"""
    begin: Literal["start", "release"] = "start"
    """of a turn on a rank: the start of its first task, as profilers see it, or the release before
    it"""


class HostThreads(Spec):
    """Who submits, and when.

    ``queued``: all kernels are in the queues before the release. ``eager``: the host launches them
    from the release on. ``looped``: the steady state of a loop, the host launches the next
    iteration while this one runs, and a task ends no earlier than that. ``graph``: the same of a
    captured graph, in which the host has no part. DMA commands are submitted
    at the release in every mode: one by one, as a ``batch`` (one call of the runtime), or
    ``direct`` (the program writes the engines' rings and polls their signals itself).
    *prelaunched*: they are already in their engines' queues, behind a poll that sees the release.
    One by one, the commands of a copy that is repeated wait for each other; the others overlap.
    """

    threads: Literal["per_gpu", "single"] = "per_gpu"
    launch: Literal["queued", "eager", "looped", "graph"] = "queued"
    submission: Literal["one_by_one", "batch", "direct"] = "one_by_one"
    prelaunched: bool = False
    profile: str | None = None
    """one of the node's host_profiles, for kernels that are launched eagerly; left out: calls of
    the libraries themselves"""
    slowness: Positive | None = None
    """how many times as long the profile's calls take on this host; left out: the profile's own"""
    kernel_gap: Time | None = None
    """between two kernels of a stream of which the second has been launched in time; left out: the
    GPU's latencies of dispatch and completion"""
    order: tuple[str, ...] = ()
    """launch order of tasks; left out: as declared"""
    release: Literal["event", "per_rank", "host"] = "event"
    """what lets the streams begin: one event for all GPUs, in launch order (event); an event of
    each GPU, whose streams begin in an order that is drawn (per_rank);
    nothing, each process launches its kernels one by one (host)"""
    jitter: Time = 0.0
    """per_rank, host: a rank begins up to this late, evenly distributed"""
    set_aside: bool = False
    """whether the host has set lines of the last shared cache aside for those told to stay, as many
    as the GPU allows; nobody else has them then"""
    loop: Loop | None = None
    """left out: a single shot"""
    power_share: Positive = 1.0
    """part of the power limit that holds, as a trace shows it: chips differ, regulators swing"""

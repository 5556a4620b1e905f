"""DMA engines of a GPU (SDMA, copy engines): commands, queues, rates and latencies."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from c3sim.spec.quantities import Bandwidth, Bytes, Fraction, Parts, Positive, Time
from c3sim.spec.sourced import Hardware

#: The operations of a packet.
Operation = Literal["copy", "broadcast", "swap", "reduce", "poll", "atomic", "fence", "timestamp"]
#: With which of its queues an engine begins when several are released together.
ReleasedQueueStart = Literal["first", "half_gpu_number"]
#: When the engines of the GPUs of a node poll.
PollStagger = Literal["none", "even"]


class DmaEngines(Hardware):
    """DMA engines (SDMA): copies without compute units.

    Numbers of engines: those for the host first, then those for peers, then those for copies
    within the GPU. The code of each rule is in ``models/dma.py``.
    """

    count: Parts
    """engines that can serve peers"""
    host_count: Annotated[int, Field(ge=0, le=4096)] = 0
    """engines for copies from and to the host alone: one way on the even, the other on the odd
    ones; 0: the engines for peers do it"""
    local_count: Annotated[int, Field(ge=0, le=4096)] = 0
    """engines for copies within the GPU alone; 0: the engines for peers do it"""
    per_peer: Parts
    """engines that can share what goes to one peer"""
    commands: tuple[Operation, ...] = Field(min_length=1)
    """what a program can ask of an engine; prelaunch needs poll; reduce: see reduce_bandwidth"""
    queues: Parts
    """queues (rings) of one engine, served round robin"""
    stream_queues: Parts | None = None
    """queues of one engine that the runtime deals streams, and further parts of one copy, to; null:
    all"""
    queue_switch_time: Time
    """engine busy with the change from one queue to another"""
    poll_switch_time: Time
    """the same, to a queue that waited behind a poll"""
    queue_time_slice: Time | None = None
    """how long an engine stays with a queue that has further commands; null: for one command"""
    released_queue_start: ReleasedQueueStart
    """the queue that an engine begins with when several are released together"""
    released_queue_draw: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """0: it begins by that rule; any other number: each engine anywhere, another draw for each"""
    ring_bytes: Bytes
    """room for packets in one ring; the host waits while it is full"""
    packet_sizes: dict[Operation, Bytes]
    """bytes of a packet in its ring, by operation"""
    bandwidth: Bandwidth
    """payload one engine moves at most"""
    local_copies: Literal["engines", "kernels"] = "engines"
    """what does a copy within the GPU that is one call of the runtime"""
    local_bandwidth: Bandwidth | None = None
    """payload of a copy within the GPU at most, by as many data paths, with as many bytes in
    flight, as that takes; null: bandwidth"""
    bytes_in_flight: Bytes | None
    """bytes one engine keeps in flight; null: no limit"""
    pull_executor: Literal["requester", "source"]
    """whose engine carries a copy that a GPU asks for from a peer: its own, or the source's, as a
    write, in one queue for all who ask"""
    remote_read_latency: Time | None = None
    """until the source's engine knows that a request is due, where that waited for a poll or for
    the command before it; pull_executor: source needs it"""
    remote_read_bytes_in_flight: Bytes | None = None
    """bytes one engine keeps in flight when it reads from a peer (pull); null: bytes_in_flight"""
    link_efficiency: dict[Literal["push", "pull"], Annotated[Positive, Field(le=2)]]
    """payload for each byte of links.bandwidth, what kernels' copies carry, when writing to a peer
    and when reading from one; more than 1 where engines' requests have less around them; left out:
    1"""
    latency: Time
    """doorbell to first byte plus last byte to completion signal, of one command"""
    completion_fraction: Fraction
    """part of the latency that lies after the last byte"""
    copy_latency: Time
    """a byte's way through the engine, from read to written: what a copy takes beside size / rate;
    overlaps with the next command of the queue"""
    local_latency: Time | None = None
    """until a copy within the GPU begins, beside what every command takes; null: nothing"""
    packet_time: Time
    """engine busy with the decoding of one packet"""
    max_packet_payload: Bytes
    """what one packet moves at most; longer copies are several packets"""
    broadcast_bandwidth: Bandwidth | None = None
    """bytes one engine writes at most when every byte read goes to several destinations; null:
    bandwidth"""
    broadcast_destinations: Parts | None = None
    """destinations that one broadcast can have; broadcast needs it"""
    reduce_bandwidth: Bandwidth | None = None
    """bytes one engine adds at most to what lies in a peer's memory; null: engines cannot reduce"""
    trigger_latency: Time | None = None
    """from the end of what a command waits for (tiles of a GEMM, other commands) to its start,
    where a tracker in memory sees it and no host has a part in it; left out: the host submits"""
    post_time: Time | None = None
    """a workgroup that posts packets is busy with one; left out: kernels post none"""
    poll_latency: Time
    """release to first byte of a command that waits behind a poll in its queue"""
    poll_interval: Time | None = None
    """how often an engine reads the word that a queue waits for; null: all the time"""
    poll_stagger: PollStagger = "none"
    """how the polls of the GPUs of a node are spread over poll_interval"""

    @property
    def last(self) -> int:
        """Number of the last engine."""
        return self.host_count + self.count + self.local_count - 1

    @property
    def queues_for_streams(self) -> int:
        return self.stream_queues or self.queues

    @model_validator(mode="after")
    def _fields_fit_together(self) -> DmaEngines:
        missing = [name for name in get_args(Operation) if name not in self.packet_sizes]
        if missing:
            raise ValueError(f"packet_sizes lacks {', '.join(missing)}")
        if self.queues_for_streams > self.queues:
            raise ValueError(f"{self.stream_queues} stream_queues of {self.queues} queues")
        if self.pull_executor == "source" and self.remote_read_latency is None:
            raise ValueError("pull_executor 'source' without remote_read_latency")
        if "broadcast" in self.commands and self.broadcast_destinations is None:
            raise ValueError("command broadcast without broadcast_destinations")
        return self

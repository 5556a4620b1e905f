"""DMA engines of a GPU (SDMA): what they can do, in which queues, and what each step of a command
costs.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from c3sim.specs.base import Spec
from c3sim.specs.quantities import Bandwidth, Bytes, Count, Fraction, Time

#: What a packet can ask for.
Operation = Literal["copy", "broadcast", "swap", "reduce", "poll", "atomic", "fence", "timestamp"]


class DmaEngines(Spec):
    """DMA engines (SDMA): copies without compute units."""

    count: Count = Field(
        description="engines that can serve peers; numbered after those for the host"
    )
    host_count: Annotated[int, Field(ge=0)] = Field(
        description="engines of their own for copies from and to the host, numbered from 0: one way on the even, the other"
        " on the odd ones; 0: the others do it"
    )
    local_count: Annotated[int, Field(ge=0)] = Field(
        description="engines of their own for copies within the GPU, numbered after those for peers; 0: those for peers do it"
    )
    per_peer: Count = Field(description="engines that can share what goes to one peer")
    commands: tuple[Operation, ...] = Field(
        min_length=1,
        description="what a program can ask of an engine; prelaunch needs poll; reduce: see reduce_bandwidth",
    )
    queues: Count = Field(
        description="queues (rings) of one engine; it takes a command from each in turn"
    )
    stream_queues: Count = Field(
        description="queues of one engine that the runtime deals streams, and further parts of one copy, to"
    )
    queue_switch_time: Time = Field(
        description="engine busy with the change from one queue to another"
    )
    poll_switch_time: Time = Field(
        description="the same, to a queue that waited behind a poll: the engine had left it and takes it up again"
    )
    queue_time_slice: Time = Field(
        description="how long an engine stays with a queue that has further commands; 0: a command of each in turn"
    )
    ring_bytes: Bytes = Field(description="room for packets in one ring; who finds it full waits")
    packet_sizes: dict[Operation, Bytes] = Field(
        description="bytes of a packet in its ring, by operation"
    )
    bandwidth: Bandwidth = Field(description="payload one engine moves at most")
    local_bandwidth: Bandwidth | None = Field(
        description="payload of a copy within the GPU at most, by as many data paths, with as many bytes in flight, as that"
        " takes; null: bandwidth"
    )
    bytes_in_flight: Bytes = Field(description="bytes one engine keeps in flight")
    pull_executor: Literal["requester", "source"] = Field(
        description="whose engine carries a copy that a GPU asks for from a peer: its own, or the source's, as a write, in one"
        " queue for all who ask"
    )
    remote_read_latency: Time = Field(
        description="until the source's engine knows that a request is due, where that waited for a poll or for the command"
        " before it"
    )
    remote_read_bytes_in_flight: Bytes = Field(
        description="bytes one engine keeps in flight when it reads from a peer (pull)"
    )
    link_efficiency: dict[Literal["push", "pull"], Fraction] = Field(
        description="share of the bytes on a link that is payload, when writing to a peer and when reading from one"
    )
    latency: Time = Field(
        description="doorbell to first byte plus last byte to completion signal, of one command"
    )
    completion_fraction: Fraction = Field(
        description="part of the latency that lies after the last byte"
    )
    copy_latency: Time = Field(
        description="a byte's way through the engine, from read to written: what a copy takes beside size / rate;"
        " overlaps with the next command of the queue"
    )
    local_latency: Time | None = Field(
        None,
        description="until a copy within the GPU begins, beside what every command takes; null: nothing",
    )
    packet_time: Time = Field(description="engine busy with the decoding of one packet")
    max_packet_payload: Bytes = Field(
        description="what one packet moves at most; longer copies are several packets"
    )
    broadcast_bandwidth: Bandwidth = Field(
        description="bytes one engine writes at most when every byte read goes to several destinations"
    )
    broadcast_destinations: Count = Field(description="destinations that one broadcast can have")
    reduce_bandwidth: Bandwidth | None = Field(
        description="bytes one engine adds at most to what lies in a peer's memory; null: engines cannot reduce"
    )
    poll_latency: Time = Field(
        description="release to first byte of a command that waits behind a poll in its queue"
    )

    poll_interval: Time | None = Field(
        None,
        description="how often an engine looks at the word that a queue waits for; those of the GPUs of a node do so at times that are"
        " spread over it; null: all the time",
    )

    @property
    def last(self) -> int:
        """Number of the last engine."""
        return self.host_count + self.count + self.local_count - 1

    @model_validator(mode="after")
    def _every_packet_has_a_size(self) -> DmaEngines:
        missing = [name for name in get_args(Operation) if name not in self.packet_sizes]
        if missing:
            raise ValueError(f"packet_sizes lacks {', '.join(missing)}")
        if self.stream_queues > self.queues:
            raise ValueError(f"{self.stream_queues} stream_queues of {self.queues} queues")
        return self

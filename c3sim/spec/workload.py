"""Schema 1 of a workload: buffers, tasks, streams and host.

A task starts when the previous task of its stream has ended and everything in ``after`` has
happened. What ``after`` can name is at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from c3sim.errors import InputError
from c3sim.spec.base import SchemaOne, Spec, Synonyms
from c3sim.spec.cache_policy import CachePolicy, TransferPolicy
from c3sim.spec.fields import ByForm
from c3sim.spec.quantities import (
    Bytes,
    Count,
    Extent,
    Moved,
    Parts,
    Pieces,
    Positive,
    Time,
    Workgroups,
)
from c3sim.spec.task import DTYPE_BYTES as DTYPE_BYTES
from c3sim.spec.task import (
    Command,
    EngineTask,
    Kernel,
    KernelBase,
    Posting,
    Stores,
    TaskBase,
    TileOrder,
)
from c3sim.spec.task import Dtype as Dtype
from c3sim.spec.task import Gemm as Gemm


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
    """true: all ranks begin a turn together"""
    begin: Literal["start", "release", "call"] = "start"
    """begin of a turn on a rank: the start of its first task, as profilers see it, the release
    before it, or an event in front of the host's first call"""


class HostThreads(Spec):
    """The threads that submit, and when they do.

    ``queued``: all kernels are in the queues before the release. ``eager``: the host launches them
    from the release on. ``looped``: the steady state of a loop, the host launches the next
    iteration while this one runs, and a task ends no earlier than that. ``graph``: the same of a
    captured graph, in which the host has no part. DMA commands are submitted from the release on in
    every other mode: one by one, as a ``batch`` (one call of the runtime), or ``direct`` (the
    program writes rings and polls signals). *prelaunched*: they are in their queues, behind a poll
    that sees the release. One by one, commands of a repeated copy wait for each other. An eager
    host calls for all in program order; ``direct`` ones another thread writes when they are due.
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
    queues: Parts | None = None
    """hardware queues that the streams of a GPU share, in launch order
    (CUDA_DEVICE_MAX_CONNECTIONS, GPU_MAX_HW_QUEUES); left out: one for each stream"""
    order: tuple[str, ...] = ()
    """launch order of tasks; left out: as declared"""
    release: Literal["event", "per_rank", "host"] = "event"
    """what lets the streams begin: one event for all GPUs, in launch order (event); an event of
    each GPU, whose streams begin in an order that is drawn (per_rank);
    nothing, each process launches its kernels one by one (host)"""
    jitter: Time = 0.0
    """per_rank, host: a rank begins up to this late, evenly distributed"""
    set_aside: bool = False
    """true: the host has set lines of the last shared cache aside for those told to stay, as many
    as the GPU allows; nobody else has them then"""
    loop: Loop | None = None
    """left out: a single shot"""
    power_share: Positive = 1.0
    """part of the power limit that holds, as a trace shows it: chips differ, regulators swing"""


class Schedule(Spec):
    """A collective that feeds a GEMM, or a GEMM that feeds a collective, piece by piece.

    It is written out as ordinary tasks before anything is simulated (c3sim/spec/schedules).
    """

    kind: Literal["pieces", "shards", "micro_pipeline", "tiles"] = "pieces"
    """pieces: every step moves a part of every rank's shard; shards: from peer to peer, a whole
    shard after the other; micro_pipeline: as the operators of PyTorch that overlap do; tiles: the
    GEMM stays whole, and each peer's shard leaves once the tiles that belong to it have been
    made"""
    shape: Literal["1d", "2d"] = "1d"
    """1d: a step is a part of the gathered or scattered extent; 2d: of another one as well: of K,
    whose parts add to C, where the collective feeds the GEMM; of N where the GEMM feeds it"""
    steps: Literal["uniform", "hetero"] = "uniform"
    """uniform: every step has the same GEMM; hetero: the own shard is a GEMM of its own, before
    what arrives, or behind what leaves"""
    fused: bool = True
    """one GEMM of what all ranks have in a step; false: a GEMM for each of them"""
    pieces: Parts = 4
    """steps"""
    streams: Parts = 1
    """that the GEMMs are dealt to"""
    along: Literal["m", "n", "k"] = "m"
    """extent of the GEMM that is gathered or scattered"""
    order: TileOrder = "staggered"
    """order of the GEMM's tiles, by the GPU that they belong to; kind tiles only"""
    posted: Posting | None = None
    """true: the GEMM posts the copies itself; kind tiles, by engines only"""


class Buffer(Spec):
    """Memory that tasks read and write; give *bytes*, or *shape* and *dtype*."""

    bytes: Bytes | None = None
    shape: tuple[Extent, ...] | None = Field(None, max_length=8)
    dtype: Dtype | None = None
    home: Literal["gpu", "host", "sharded"] = "gpu"
    state: Literal["cold", "warm", "rotating"] = "cold"
    """in the memory-side cache at the start: not (cold), as left by the last turn of a loop (warm);
    rotating = cold"""

    @model_validator(mode="after")
    def _sized(self) -> Buffer:
        if (self.bytes is None) == (self.shape is None):
            raise ValueError("give either bytes or shape (with dtype)")
        if self.shape is not None and self.dtype is None:
            raise ValueError("shape needs a dtype")
        return self

    @property
    def size(self) -> float:
        """Bytes."""
        if self.bytes is not None:
            return self.bytes
        assert self.shape is not None and self.dtype is not None  # held by the validator
        size = DTYPE_BYTES[self.dtype]
        for extent in self.shape:
            size *= extent
        return float(size)


#: Pattern of a stream kernel -> arrays read, written.
ARRAYS = {"read": (1, 0), "write": (0, 1), "copy": (1, 1), "triad": (2, 1)}


class StreamKernel(KernelBase):
    """A kernel that goes over memory *passes* times, computing on it as it does: read, write, copy
    or triad.

    A small footprint and many passes make a cache hog, many FLOP per byte an ALU hog.
    """

    kind: Literal["stream"]
    pattern: Literal["read", "write", "copy", "triad"] = "copy"
    bytes: Bytes
    """bytes of one array; copy touches two arrays, triad three"""
    passes: Count = 1
    """times it goes over its arrays; inputs says where the first pass finds them, later ones hit
    what fits"""
    workgroups: Workgroups | None = None
    """left out: enough to fill every CU"""
    inputs: Literal["cold", "warm", "rotating"] = "cold"
    flops_per_byte: float = Field(0, ge=0)
    """vector FLOP per byte, for ALU-heavy kernels"""
    threads: Count = 1024
    """threads of a workgroup; the default is that of the probe's stream kernels, by which the
    rates of a unit were measured"""
    registers: Count = 32
    """registers of a thread; two such kernels with a workgroup for each unit run side by side"""
    loads: Bytes = 64.0
    """bytes of loads that a thread has under way; of the probe's kernels four of 16 bytes"""
    lds: Moved | None = None
    """that a workgroup claims; left out: with workgroups all of a unit, as the probe's kernels of
    so many do, without none"""
    cache: CachePolicy = CachePolicy()

    @property
    def operand_bytes(self) -> float:
        return float(sum(ARRAYS[self.pattern]) * self.bytes)


class Hold(TaskBase):
    """Each of *workgroups* holds a compute unit (all LDS, and *waves*) for *time* and touches no
    memory.
    """

    kind: Literal["hold"]
    workgroups: Workgroups
    time: Time
    waves: Count | None = None
    """left out: all that a unit has"""


class Collective(EngineTask):
    """A collective over all GPUs, of all nodes where there are several, or in groups of them that
    each have one at the same time; *size* is the nccl-tests size (full buffer per GPU).
    """

    kind: Literal["collective"]
    op: Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
    size: Bytes
    dtype: Dtype = "bf16"
    backend: str | None = None
    """a collective library of the node, or dma; left out: the first library of the node's file"""
    by: Literal["units", "engines"] | None = None
    """what carries it: compute units, or DMA engines as the library has them do it
    (collective_libraries.NAME.engines); left out: compute units. NCCL does between registered
    symmetric windows alone, under its policy of no CTA; else it runs kernels"""
    channels: Workgroups | None = None
    """limit on workgroups; left out: the library's choice"""
    algorithm: (
        Annotated[
            Literal["ring", "tree", "direct", "switch", "one_shot", "two_shot", "hierarchical"],
            Synonyms(),
        ]
        | None
    ) = None
    """left out: the library's choice; switch: it adds, where it can; one_shot, two_shot: stores to
    peers and flags; hierarchical: phases inside and between nodes"""
    pipeline: Parts | None = None
    """hierarchical: parts that go through the phases one by one; left out: the library's choice"""
    protocol: str | None = None
    proxies: Literal["host", "device"] = "host"
    """who posts to NICs: a thread of the host, or each channel (scale_out.kernel_post_time)"""
    direction: Literal["push", "pull"] | None = None
    """backend dma: engines of the sender (push, the default) or of the receiver (pull)"""
    engines: Parts | None = None
    """backend dma: engines that share what goes to one peer, or (b2b) all peers; left out: 1"""
    ways: Parts | None = None
    """variant b2b: queues of each engine that the peers are dealt to; left out: 1"""
    variant: Literal["pcpy", "bcst", "swap", "b2b", "multicast"] | None = None
    """by engines: a copy per peer, on parallel engines (pcpy, the default); broadcasts to two peers
    each (bcst, all-gather); one swap per pair (swap, all-to-all); copies back to back on one engine
    (b2b); one copy that the switch hands to all (multicast, all-gather)"""
    mapping: Literal["peer", "ipc"] | None = None
    """backend dma: how peers' memory is mapped (see copies); left out: peer"""
    out_of_place: bool = False
    """all_gather, and all_to_all by engines: each GPU copies its own shard as well"""
    group: Parts | None = None
    """GPUs of a group, each group for itself; left out: one group of all"""
    stride: Parts = 1
    """from one GPU of a group to the next: of 8 GPUs, group: 4 gives 0-3 and 4-7; with stride: 2 it
    gives 0, 2, 4, 6 and 1, 3, 5, 7"""
    chunks: Pieces = 1
    """released one by one: names for others' after"""
    speed: Positive = 1.0
    """compute units only: how fast it was measured to run alone, of what the model gives"""
    peers_late: Time = 0.0
    """compute units only: how long after this GPU's the last peer's kernel begins, which all wait
    for; where a trace says so"""
    cache: TransferPolicy = TransferPolicy()

    @property
    def operand_bytes(self) -> float:
        return self.size

    @property
    def released(self) -> int:
        return self.chunks

    @property
    def carrier(self) -> str:
        return self.backend or "a library"

    @property
    def scattered(self) -> bool:
        """True if engines scatter and a kernel adds, as engines only copy."""
        return self.op == "reduce_scatter" and self.backend == "dma"

    @property
    def on_engines(self) -> bool:
        """True if DMA engines carry it."""
        return self.backend == "dma" or self.by == "engines"


class Copy(EngineTask):
    """One copy: executor dma (engines) or kernel (compute units) inside a node, nic between nodes.

    Peers are numbered relative to the GPU, round its node; on n GPUs per node, n x k + j is the GPU
    j further round in the node k further on.
    """

    kind: Literal["copy"]
    bytes: Bytes
    source: Literal["gpu", "host", "peer"] = "gpu"
    destination: Literal["gpu", "host", "peer"] = "peer"
    peer: Count = 1
    """offset of the peer: GPU (g + peer) mod n; n or more: in another node"""
    executor: Annotated[Literal["dma", "kernel", "nic"], Synonyms()] = "dma"
    direction: Literal["push", "pull"] | None = None
    """whose engine moves it: the source's (push) or the destination's (pull); left out: this
    GPU's"""
    engines: Parts | None = None
    """dma executor only: engines that share it; left out: 1"""
    workgroups: Workgroups | None = None
    """kernel executor only"""
    threads: Count = 512
    """kernel executor only: of a workgroup; the default is that of the probe's copy kernels"""
    loads: Bytes = 128.0
    """kernel executor only: bytes of loads that a thread has under way; of the probe's kernels
    eight of 16 bytes"""
    parameters: Literal["value", "managed"] = "value"
    """kernel executor only: where a launch has its parameters; in managed memory that the host
    touches between launches they move to the GPU first (gpu.kernels.parameter_fault)"""
    mapping: Literal["peer", "ipc"] | None = None
    """dma executor only: how the peer's memory is mapped: by peer access in one process (peer), or
    by the handle of another process (ipc), where the GPU that asks carries it; left out: peer"""
    gpus: Literal["all", "first"] = "first"
    """who executes it: the first GPU, or every one"""
    cache: TransferPolicy = TransferPolicy()

    @property
    def operand_bytes(self) -> float:
        return self.bytes

    @property
    def carrier(self) -> str:
        return self.executor

    @property
    def of_first_gpu(self) -> bool:
        return self.gpus == "first"


class Commands(EngineTask):
    """A program for the DMA engines: every queue runs its commands in order. Peers are numbered
    relative to the GPU.
    """

    kind: Literal["commands"]
    program: tuple[Command, ...] = Field(min_length=1, max_length=100_000)
    gpus: Literal["all", "first"] = "all"
    """who runs it: every GPU, or the first one"""

    @property
    def of_first_gpu(self) -> bool:
        return self.gpus == "first"


class HostTask(TaskBase):
    """The host thread works for *time* (a CPU-side step between launches)."""

    kind: Literal["host"]
    time: Time


Task = Annotated[
    Gemm | StreamKernel | Kernel | Stores | Hold | Collective | Copy | Commands | HostTask,
    Field(discriminator="kind"),
]


MOST_TASKS = 20_000


class Workload(Spec):
    """A workload file."""

    schema_version: SchemaOne = Field(alias="schema")
    name: str
    description: str = ""
    source: str = ""
    node: str = "mi300x-8"
    buffers: dict[str, Buffer] = Field({})
    tasks: dict[str, Task] = Field(min_length=1, max_length=MOST_TASKS)
    streams: dict[str, Stream] = Field({})
    host: HostThreads = HostThreads()
    schedule: Schedule | None = None
    """a collective that feeds a GEMM, or a GEMM that feeds a collective, in pieces"""


# Small grammars of workload files: after, order of tasks


_AFTER = re.compile(
    r"(?P<task>[\w-]+)(?:\.tiles\[(?P<tiles>\d+(?:\.\d+)?)%\]|\.tiles\[peer (?P<peer>\d{1,9})\]"
    r"|\.chunk\[(?P<chunk>\d{1,9})\])?"
)
_AFTER_ALLOWED = "write task, task.tiles[25%], task.tiles[peer 1] or task.chunk[0]"


@dataclass(frozen=True, kw_only=True)
class After:
    """Dependency of one entry: a *task*, a share of its tiles (0 to 1], those of its tiles that
    belong to the GPU *peer* further round (0: to itself), or a chunk (from 0).
    """

    task: str
    tiles: float | None = None
    peer: int | None = None
    chunk: int | None = None


def parse_after(text: str) -> After:
    """``gemm``, ``gemm.tiles[25%]``, ``gemm.tiles[peer 1]`` or ``gather.chunk[2]``. Raises
    InputError.
    """
    match = _AFTER.fullmatch(text)
    if not match:
        raise InputError(f"{text!r} is not a dependency; {_AFTER_ALLOWED}")
    tiles, peer, chunk = match["tiles"], match["peer"], match["chunk"]
    if tiles is not None and not 0 < float(tiles) <= 100:
        raise InputError(f"{text!r}: {tiles}% of the tiles; must be more than 0% and at most 100%")
    return After(
        task=match["task"],
        tiles=None if tiles is None else float(tiles) / 100,
        peer=None if peer is None else int(peer),
        chunk=None if chunk is None else int(chunk),
    )


def task_order(workload: Workload) -> tuple[str, ...]:
    """Tasks in the order the host launches them; those of one stream run in this order."""
    return workload.host.order or tuple(workload.tasks)

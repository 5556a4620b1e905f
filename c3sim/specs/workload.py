"""Schema 1 of a workload: buffers, tasks, streams and host.

A task starts when the previous task of its stream has ended and everything in ``after`` has
happened. What ``after`` can name is in ``specs/references.py``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from c3sim.specs.base import SchemaOne, Spec, Synonyms
from c3sim.specs.cache_policy import CachePolicy, OperandPolicy, TransferPolicy
from c3sim.specs.commands import Command
from c3sim.specs.kernel import Kernel, Moved
from c3sim.specs.quantities import (
    Bytes,
    Count,
    Extent,
    Fraction,
    Parts,
    Pieces,
    Positive,
    Time,
    Workgroups,
)
from c3sim.specs.schedule import Schedule
from c3sim.specs.stores import Publication, Stores, TileOrder
from c3sim.specs.submission import HostThreads as HostThreads
from c3sim.specs.submission import Loop as Loop
from c3sim.specs.submission import Stream as Stream
from c3sim.specs.task import DTYPE_BYTES as DTYPE_BYTES
from c3sim.specs.task import Dtype as Dtype
from c3sim.specs.task import EngineTask, KernelBase, TaskBase


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


class Gemm(KernelBase):
    """C[M,N] = A[M,K] B[K,N], *batch* times. Without ``reads`` its operands are private cold
    buffers.
    """

    kind: Literal["gemm"]
    m: Extent
    n: Extent
    k: Extent
    batch: Extent = 1
    dtype: Dtype = "bf16"
    library: str | None = None
    """a GEMM library of the GPU; left out: the first one of its file"""
    macro_tile: tuple[Count, Count] | None = None
    """rows, columns; left out: the library's choice"""
    schedule: (
        Literal["one_per_tile", "persistent", "stream_k", "work_stealing", "dynamic_persistent"]
        | None
    ) = None
    workgroups: Workgroups | None = None
    """grid of a persistent schedule; left out: one per CU"""
    lds: Bytes | None = None
    """local data share that a workgroup reserves; beyond what its tiles need, it caps how many
    share a compute unit; left out: what they need"""
    inputs: Literal["cold", "warm", "rotating"] = "cold"
    """state of private operands"""
    updates: bool = False
    """whether memory adds the results to what is there, past the caches (hbm.update_cost)"""
    forwarded: Fraction = 0.0
    """of updates: share of the results that goes straight to the next GPU's memory"""
    data: Literal["random", "pattern", "zero"] = "random"
    """what the operands hold: random numbers, numbers of few bits as tests use, or zeros; bits that
    do not change cost less energy"""
    speed: Positive = 1.0
    """how fast it was measured to run alone, of what the model of its library gives"""
    results: Literal["here", "peers"] = "here"
    """peers: C belongs to all GPUs in equal parts, and each tile is stored at its owner"""
    publish: Publication | None = None
    """behind each tile its workgroup makes a release (and sets a flag), for others to see it"""
    order: TileOrder = "mixed"
    """of its tiles, by the GPU of the node that they belong to, an equal part each: all mixed; all
    of the first GPU's, then the second's, on every GPU (by_owner); the next GPU's, then those of
    the one behind it, the own ones last (staggered); those of all peers, mixed, before the own ones
    (remote_first)"""
    accumulate: bool = False
    """C += A B: C is read again, as of a GEMM that is split along K"""
    reused: Moved = 0.0
    """operand bytes that the GEMM before it has just read, as the weights of pieces of one GEMM: it
    finds them in the shared cache as far as all that it touches fits there"""
    cache: OperandPolicy = OperandPolicy()


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
    cache: CachePolicy = CachePolicy()


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
    """hierarchical: parts that follow each other through the phases, 1: one phase after the other;
    left out: the choice of the library"""
    protocol: str | None = None
    direction: Literal["push", "pull"] | None = None
    """backend dma: engines of the sender (push, the default) or of the receiver (pull)"""
    engines: Parts | None = None
    """backend dma: engines that share what goes to one peer, or (b2b) all peers; left out: 1"""
    ways: Parts | None = None
    """variant b2b: queues of each engine that the peers are dealt to; left out: 1"""
    variant: Literal["pcpy", "bcst", "swap", "b2b"] | None = None
    """backend dma: a copy per peer, on parallel engines (pcpy, the default); broadcasts to two
    peers each (bcst, all-gather); one swap per pair (swap, all-to-all); copies back to back on one
    engine (b2b)"""
    mapping: Literal["peer", "ipc"] | None = None
    """backend dma: how peers' memory is mapped (see copies); left out: peer"""
    out_of_place: bool = False
    """backend dma, all_gather and all_to_all: each GPU copies its own shard as well"""
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
    parameters: Literal["value", "managed"] = "value"
    """kernel executor only: where a launch has its parameters; in managed memory that the host
    touches between launches they move to the GPU first (gpu.kernels.parameter_fault)"""
    mapping: Literal["peer", "ipc"] | None = None
    """dma executor only: how the peer's memory is mapped: by peer access in one process (peer), or
    by the handle of another process (ipc), where the GPU that asks carries it; left out: peer"""
    gpus: Literal["all", "first"] = "first"
    """who executes it: the first GPU, or every one"""
    cache: TransferPolicy = TransferPolicy()


class Commands(EngineTask):
    """A program for the DMA engines: every queue runs its commands in order. Peers are numbered
    relative to the GPU.
    """

    kind: Literal["commands"]
    program: tuple[Command, ...] = Field(min_length=1, max_length=100_000)
    gpus: Literal["all", "first"] = "all"
    """who runs it: every GPU, or the first one"""


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

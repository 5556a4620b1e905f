"""Fields of tasks of every kind; GEMMs, kernels, stores at peers and DMA commands."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from c3sim.spec.base import Spec
from c3sim.spec.cache_policy import CachePolicy, OperandPolicy
from c3sim.spec.dma_engines import Operation
from c3sim.spec.fields import ByForm
from c3sim.spec.quantities import (
    Bytes,
    Count,
    Extent,
    Fraction,
    Moved,
    Parts,
    Pieces,
    Positive,
    Time,
    Workgroups,
)

Dtype = Literal["bf16", "fp16", "fp8", "fp32", "fp64"]
DTYPE_BYTES: dict[str, int] = {"bf16": 2, "fp16": 2, "fp8": 1, "fp32": 4, "fp64": 8}
#: Type of C where frameworks have a wider one than that of the operands.
WIDER_RESULTS: dict[str, Dtype] = {"fp8": "bf16"}

#: A kernel's way to post packets: one lane all of them, or a lane for each queue its own.
Posting = Literal["serial", "lanes"]


class TaskBase(Spec):
    """A task's place among others."""

    stream: str | None = None
    """queue it runs in; left out: a queue of its own"""
    after: tuple[str, ...] = ()
    """tasks, tile groups or chunks that must have happened"""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    repeat: Pieces = 1
    """run this many times back to back"""
    launch_time: Time | None = None
    """host thread busy until it has launched this kernel, its own work before the call included;
    left out: the call of its library or of the host's profile"""
    launch_after: tuple[str, ...] = ()
    """tasks that the host thread waits for before it launches this one (a synchronisation)"""

    tiled: ClassVar[bool] = False
    """true: others may wait for shares of its tiles"""
    owned: ClassVar[bool] = False
    """true: its tiles belong to GPUs of the node"""

    @property
    def operand_bytes(self) -> float:
        """Bytes [B] of a GPU's memory that it works on. 0 of a kernel of any kind: its bytes are
        traffic.
        """
        return 0.0

    @property
    def awaited(self) -> tuple[str, ...]:
        """Tasks whose tiles its own wait for, inside the kernel."""
        return ()

    @property
    def released(self) -> int:
        """Number of chunks that it releases one by one."""
        return 0

    @property
    def of_first_gpu(self) -> bool:
        """True if the first GPU alone executes it."""
        return False

    def at_any_time(self) -> Self:
        """Task without its predecessors, in which pieces of equal work differ."""
        if not (self.after or self.launch_after):
            return self
        return self.changed(after=(), launch_after=())


class KernelBase(TaskBase):
    """A kernel that works in tiles."""

    awaits: tuple[str, ...] = ()
    """GEMMs, kernels and stores whose tiles its own wait for, by flags inside the kernel: a tile
    begins once the same share of theirs has finished. Its workgroups keep their places meanwhile"""

    @property
    def awaited(self) -> tuple[str, ...]:
        return self.awaits


#: The way of a store: it stays in caches until a release writes them back; it goes
#: through them; it passes by them.
StorePolicy = Literal["cached", "write_through", "uncached"]
Publication = Literal["release", "flag"]
#: The memory that a flag lies in: of the GPU that waits for it, or of the host.
FlagPlace = Literal["gpu", "host"]
#: The order of a kernel's tiles, by the GPU that their results belong to: see ``AtOwners.order``.
TileOrder = Literal["mixed", "by_owner", "staggered", "remote_first"]


class AtOwners(KernelBase):
    """A kernel whose results may belong to all GPUs of the node, in equal parts."""

    tiled = True
    owned = True

    results: Literal["here", "peers"] = "here"
    """peers: what it makes belongs to all GPUs in equal parts, and each tile is stored at its
    owner"""
    publish: Publication | None = None
    """behind each tile its workgroup makes a release (and sets a flag), for others to see it"""
    flags: FlagPlace = "gpu"
    """memory that those flags lie in; who waits looks there (remote_stores.host_flag_time)"""
    policy: StorePolicy | None = None
    """policy of its stores at peers, and of releases; left out: the first one of the GPU's file"""
    order: TileOrder = "mixed"
    """order of its tiles, by the GPU that they belong to, an equal part each: all mixed; all
    of the first GPU's, then the second's, on every GPU (by_owner); the next GPU's, then those of
    the one behind it, the own ones last (staggered); those of all peers, mixed, before the own ones
    (remote_first)"""


#: Policies of the cache laboratory.
LinePolicy = Literal[
    "uncached", "cache_r", "cache_rw", "allocation_bypass", "rinsing", "reuse_predictor",
    "adaptive", "past_l1",
]  # fmt: skip


class Gemm(AtOwners):
    """C[M,N] = A[M,K] B[K,N], *batch* times. Without ``reads`` its operands are private cold
    buffers.
    """

    kind: Literal["gemm"]
    m: Extent
    n: Extent
    k: Extent
    batch: Extent = 1
    rows: tuple[Extent, ...] = ()
    """rows of each product of the batch, where experts' differ; m is then their mean"""
    dtype: Dtype = "bf16"
    """type of both operands"""
    out_dtype: Dtype | None = None
    """type of C; left out: bf16 where the operands are fp8, else theirs"""
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
    """true: memory adds the results to what is there, past the caches (hbm.update_cost)"""
    forwarded: Fraction = 0.0
    """share of the results of updates that goes straight to the next GPU's memory"""
    data: Literal["random", "pattern", "zero"] = "random"
    """what the operands hold: random numbers, numbers of few bits as tests use, or zeros; bits that
    do not change cost less energy"""
    speed: Positive = 1.0
    """how fast it was measured to run alone, of what the model of its library gives"""
    accumulate: bool = False
    """C += A B: C is read again, as of a GEMM that is split along K"""
    reused: Moved = 0.0
    """operand bytes that the GEMM before it has just read; found if all that it touches fits"""
    cache: OperandPolicy = OperandPolicy()
    lines: LinePolicy | None = None
    """policy under which the cache laboratory counts what caches serve; left out: formulas do"""

    @property
    def element(self) -> int:
        """Bytes of a number of A and B."""
        return DTYPE_BYTES[self.dtype]

    @property
    def result_element(self) -> int:
        """Bytes of a number of C."""
        return DTYPE_BYTES[self.out_dtype or WIDER_RESULTS.get(self.dtype, self.dtype)]

    @property
    def input_bytes(self) -> float:
        """Bytes [B] of A and B."""
        return float((self.m + self.n) * self.k * self.element * self.batch)

    @property
    def result_bytes(self) -> float:
        """Bytes [B] of C."""
        return float(self.m * self.n * self.result_element * self.batch)

    @property
    def operand_bytes(self) -> float:
        return self.input_bytes + self.result_bytes


class EngineTask(TaskBase):
    """A task that DMA engines can do."""

    posted: Posting | None = None
    """engines and NICs only: by a workgroup of the kernel whose tiles it waits for (``after``),
    that which ends the last of them and does nothing else meanwhile (dma_engines.post_time,
    scale_out.kernel_post_time): one packet after the other (serial), or a lane for each queue
    (lanes; of NICs a workgroup for each peer); with a *stream*: by a kernel of one workgroup that
    the stream launches for it; left out: by the host, or a trigger. To a NIC it is a put, and a
    flag that the order of the queue keeps behind it"""

    @property
    def carrier(self) -> str:
        """Engines (dma), NICs (nic), or who else carries it out."""
        return "dma"


TaskClass = Literal["compute", "communication", "host"]

#: By kind of task. Holds occupy compute units as kernels of others do.
CLASSES: dict[str, TaskClass] = {
    "gemm": "compute",
    "stream": "compute",
    "kernel": "compute",
    "hold": "compute",
    "stores": "communication",
    "collective": "communication",
    "copy": "communication",
    "commands": "communication",
    "host": "host",
}


#: The class of a kernel in a model; a step of the model is told in these classes.
Operator = Literal[
    "gemm", "attention", "normalisation", "elementwise", "embedding", "optimizer", "communication"
]


class Access(Spec):
    """Bytes that a kernel loads (or stores) once, and *again* more times."""

    bytes: Moved
    again: float = Field(0, ge=0)
    far: Moved = 0.0
    """what all workgroups together touch between two uses"""
    near: Moved | None = None
    """what those of one compute unit touch between two uses; left out: L1 serves none of it"""
    stores: bool = False


class Served(Spec):
    """Bytes of a kernel by the place that serves them, while it has *held* bytes of the last cache
    that all compute units share: counted by a cache simulation, or by a profiler.
    """

    held: Moved
    l1: Moved = 0.0
    """found in first-level caches,"""
    l2: Moved = 0.0
    """in L2 (stores that meet their line as well),"""
    cache: Moved = 0.0
    """in the memory-side cache"""
    read: Moved = 0.0
    """bytes read from memory"""
    written: Moved = 0.0
    """to memory"""
    inserted: Moved = 0.0
    """bytes read and written that take lines of the last shared cache"""
    row_misses: Fraction = 0.0
    """part of those read and written that hits no open row of DRAM, beyond what memory's
    efficiencies have of them"""
    stalls: Fraction = 0.0
    """part of the time in which memory stands idle since misses wait for a line"""
    source: str


class Kernel(AtOwners):
    """Any kernel: its isolated time, its workgroups, what it moves and computes.

    With *time* it takes as long alone, and its bytes and FLOP say what it costs others. Without, it
    takes what the slower of its bytes and its FLOP takes.
    """

    kind: Literal["kernel"]
    operator: Operator = "elementwise"
    """its class, in which shares of a step are told"""
    time: Time | None = None
    """alone, from its first workgroup to its last, at the clock it has alone; left out: what its
    bytes and FLOP take"""
    workgroups: Workgroups | None = None
    """left out: one for each place on the GPU"""
    tiles: Count | None = None
    """pieces of work that its workgroups, which stay, take from a pool; left out: one each"""
    per_unit: Count | None = None
    """workgroups that share a compute unit; left out: as many as have room with their *threads*"""
    lds: Moved | None = None
    """LDS of a workgroup; left out: an equal part with *per_unit*, none without"""
    set_aside: Moved | None = None
    """LDS of a compute unit that it asks for, whatever its workgroups need of it; others have no
    lines of L1 there"""
    threads: Count = 512
    """of a workgroup, where *per_unit* is left out"""
    registers: Count = 64
    """of a thread, where *per_unit* is left out"""
    loads: Moved | None = None
    """bytes of loads that a workgroup has under way; left out: as stream_efficiency says"""
    read: Moved = 0.0
    """bytes that it loads"""
    written: Moved = 0.0
    """bytes that it stores"""
    hits: Literal["hbm", "cache", "l2"] = "hbm"
    """where its loads and stores end: in memory, in the memory-side cache, or in L2"""
    accesses: tuple[Access, ...] = ()
    """what it loads and stores instead, where its bytes are used again: caches serve what they
    find, by the policy of the kernel"""
    served: tuple[Served, ...] = ()
    """what caches serve of it instead, by how much of the last shared cache it has, the least
    first; between two of them in proportion"""
    flops: float = Field(0, ge=0)
    """FLOP of the whole kernel"""
    dtype: Dtype = "bf16"
    """type of the matrix units' operands"""
    on: Literal["matrix", "vector"] = "vector"
    """units that do its FLOP; vector units work at the rate of fp32"""
    efficiency: Annotated[Positive, Field(le=1)] = 1.0
    """part of the peak of those units that it reaches alone"""
    stream_efficiency: Annotated[Positive, Field(le=4)] = 1.0
    """part that it asks of memory of the rate at which a compute unit reads a stream: requests that
    it has under way against those of a stream; more than 1 where it has more"""
    memory_efficiency: Annotated[Positive, Field(le=1)] = 1.0
    """part of what memory gives that it gets at most, since its order of rows and of reads and
    writes leaves memory busy without bytes"""
    dependent_loads: int = Field(0, ge=0)
    """loads of a workgroup that wait for each other; each takes the latency of memory"""
    closing_loads: int = Field(0, ge=0)
    """the same behind all workgroups, of the last one, which adds up what they left"""
    clocked: Fraction | None = None
    """part of a given *time*, or of the time of its FLOP, that follows the clock; left out: that of
    its FLOP against its bytes, or all"""
    cache: CachePolicy = CachePolicy()

    @model_validator(mode="after")
    def _one_account_of_caches(self) -> Kernel:
        if self.served and (self.accesses or self.read or self.written):
            raise ValueError("served stands instead of read, written and accesses")
        held = [each.held for each in self.served]
        if held != sorted(set(held)):
            raise ValueError("served goes from the least held to the most, each once")
        return self

    @property
    def through_caches(self) -> bool:
        """True if caches decide what reaches memory."""
        return bool(self.accesses or self.served)

    @property
    def loaded_again(self) -> float:
        """Bytes of accesses that it loads, each once."""
        again = sum(access.bytes for access in self.accesses if not access.stores)
        return again + (self.served[-1].read if self.served else 0.0)

    @property
    def stored(self) -> float:
        """Bytes that it stores, each once."""
        again = sum(access.bytes for access in self.accesses if access.stores)
        return self.written + again + (self.served[-1].written if self.served else 0.0)


class Stores(TaskBase):
    """Every workgroup stores an equal part of *bytes* at the peers, tile by tile, from registers.

    It keeps its place until the last store is out. ``after`` may name a share of its tiles.
    """

    tiled = True

    kind: Literal["stores"]
    bytes: Bytes
    """that each GPU stores at its peers in all"""
    peers: Literal["all", "one"] = "all"
    """all of them in turn, or the next one alone"""
    workgroups: Workgroups | None = None
    """left out: one for each compute unit"""
    direction: Literal["push", "pull"] = "push"
    """pull: it loads from the peers instead"""
    in_flight: Parts | None = None
    """stores of a lane that may be unfinished before it waits; left out: it never waits"""
    policy: StorePolicy | None = None
    """left out: the first one of the GPU's file"""
    publish: Publication | None = None
    """behind each tile: its stores are made visible to the peer (release), and a flag says so
    (flag); left out: at the end of the kernel"""
    flags: FlagPlace = "gpu"
    """memory that those flags lie in"""
    tile: Bytes | None = None
    """bytes between two publications: of a tile, a block, a group of tiles; left out: all of the
    workgroup's"""

    @property
    def operand_bytes(self) -> float:
        return self.bytes


class Command(Spec):
    """One DMA command.

    ``copy``, ``broadcast``, ``swap`` and ``reduce`` move *bytes* to (push) or from (pull) their
    *peer*; ``atomic`` adds *value* to a word in memory, ``fence`` sets it, both once everything
    before them in their queue has landed; ``poll`` holds its queue until a word of its GPU is at
    least *value*; ``timestamp`` notes the time under a name.
    """

    op: Operation
    bytes: Bytes | None = None
    peer: Annotated[Count | Literal["host"] | None, ByForm()] = None
    """offset of the peer, GPU (g + peer) mod n, or host"""
    peers: tuple[Count, ...] = ()
    """broadcast: offsets of its destinations"""
    direction: Literal["push", "pull"] = "push"
    """copy: to the peer, or from it"""
    engine: Annotated[int, Field(ge=0)] | None = None
    """left out: the engine that serves the peer (links.engine_map), or that of the command before;
    the first peer's at the start"""
    queue: Annotated[int, Field(ge=0)] = 0
    """queue of the engine"""
    on: str | None = None
    """name of the word, or of the timestamp"""
    value: Count = 1
    """atomic: added; fence: set; poll: waited for"""

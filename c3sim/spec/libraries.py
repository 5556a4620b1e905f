"""Libraries that launch kernels: part of hardware files."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from c3sim.spec.base import Synonyms
from c3sim.spec.quantities import (
    Bandwidth,
    Bytes,
    BytesPerCycle,
    Count,
    Efficiency,
    Exponent,
    Extent,
    Fraction,
    Moved,
    Parts,
    Time,
    Workgroups,
)
from c3sim.spec.sourced import Hardware
from c3sim.spec.task import Dtype


def _packaged(table: str) -> str:
    """*table* itself. Raises ValueError where hwmodels/ has no such table."""
    if not (files("c3sim.hwmodels") / f"{table}.csv").is_file():
        raise ValueError(f"no table of choices {table!r} in hwmodels")
    return table


class Selection(Hardware):
    """Rates by which a library ranks its tiles, which are not those of the GPU
    (models/gemm_selection.py).
    """

    l2_bandwidth: Bandwidth
    cache_bandwidth: Bandwidth
    """of the cache behind the L2s"""
    memory_bandwidth: Bandwidth
    unit_share: Fraction
    """of the latter two, that one compute unit can ask for"""


class GemmLibrary(Hardware):
    """A GEMM library: its tiles, schedule, and efficiency inside a tile."""

    schedule: Literal[
        "one_per_tile", "persistent", "stream_k", "work_stealing", "dynamic_persistent"
    ]
    tiles: tuple[tuple[Extent, Extent], ...] = Field(max_length=1000)
    """macro-tiles (rows, columns) it can choose from"""
    choices: Annotated[str, AfterValidator(_packaged)] | None = None
    """table of hwmodels/ with the tile and the parts of K that the library takes on a GPU with
    these units, by shape (models/gemm_choices.py); of shapes that it lacks, and where it is left
    out: the fastest by the library's own estimate"""
    promotion_interval: Count | None = None
    """K after which partial sums of fp8 leave the matrix units and are added in fp32
    (models/gemm_sums.py); left out: they stay"""
    selection: Selection | None = None
    """rates by which it ranks tiles and decides on parts of K as Origami does; left out: the
    fastest by rounds of tiles and memory, as tuned tables are"""
    tile_order: Literal["l2", "memory", "rows"] = "l2"
    """what the order of tiles knows: least past the L2s (l2), or also what the memory-side cache
    holds (memory), or nothing: along the rows, as a queue hands them out, and where each workgroup
    has a list, consecutive ones (rows)"""
    operand_feed: Bandwidth
    """operand bytes per second and CU at full clock, as time that does not hide behind matrix
    instructions"""
    operand_clocked: Fraction = 0.0
    """share of that time that follows the core clock; latencies of memory and fabric keep theirs"""
    setup: Time
    """per call, before the kernel: small kernels that reset counters, fill workspaces"""
    enqueue_time: Time | None = None
    """host thread busy per call; left out: one launch, host.launch_time"""
    prologue: Time
    """per tile: first loads, pointer set-up, at maximum clock; with epilogue, before a workgroup's
    first tile alone"""
    epilogue: BytesPerCycle | None = None
    """rate at which a tile's results leave its unit, once they are there; left out: in prologue"""
    alternating: Count | None = None
    """most results of a tile of which a unit has two by turns: one leaves while the next one is
    computed; left out: of none"""
    cluster: Parts
    """workgroups that start together in one shader engine and share operands they have in common;
    1: none"""
    clusters: Literal["least", "down"] = "least"
    """tiles of a cluster: beside each other where that pads the grid less (least), or always the
    rows of tiles (down)"""
    next_product: Time = 0.0
    """more of a prologue where a workgroup's next tile is of another product of a batch, at maximum
    clock: where its operands lie"""
    stages: Parts
    """slices of its operands that a workgroup keeps in LDS"""
    most_stages: Parts | None = None
    """most stages of tiles of which LDS has room for more slices; left out: as of all others"""
    slice_bytes: Bytes
    """bytes of K per row or column of a tile that a workgroup stages at a time"""
    slice_time: Time = 0.0
    """least time from a slice to the next one, however few its rows and columns: waits of the loop,
    at maximum clock"""
    split_k: Parts
    """largest split of K when tiles are fewer than compute units"""
    split_depth: Count | None = None
    """least K of a part of a split; left out: K is never split"""
    reduction: Literal["kernel"] | None = None
    """how the partial sums of a split are added: by a kernel behind the GEMM (kernel); left out: in
    no time of its own"""
    unaligned: Efficiency | None = None
    """share of the matrix rate where N or K, the extents that lie side by side in memory, is no
    whole number of 16 bytes; left out: all of it"""
    odd_rows: Efficiency | None = None
    """the same share where N or K is no whole number of 4 bytes; left out: as unaligned"""
    memory_efficiency: Efficiency
    """share of a CU's streaming rate that a tile's loads reach"""
    results_efficiency: Efficiency = 1.0
    """share of memory's bandwidth that the results of tiles reach, whose rows are far apart"""
    results_lds: Moved = 0.0
    """LDS of a workgroup beside its slices, in which its results are put together"""
    waves: Parts
    registers: Annotated[int, Field(ge=0)]
    """registers of 32 bit per lane, of all waves of a workgroup; 0: from its tile (accumulators
    and operands)"""
    own_tiles: Parts
    """dynamic_persistent: tiles of each workgroup that are its own, before it takes others from the
    pool"""


class ChannelParts(Hardware):
    """Least parts of a message that a library gives a channel (models/collective_counts.py:
    channels_by_size).
    """

    part: Moved = 0.0
    """bytes of the message for each channel: threads of a workgroup times bytes of a thread"""
    part_per_rank: Moved = 0.0
    """added to it for each rank"""
    cell: Bytes
    """bytes that are not shared between channels; of a message that goes round twice, half"""


class Protocol(Hardware):
    """One wire protocol of a collective library."""

    ring_parts: ChannelParts | None = None
    """rings that name no channels: fewer where the message is small; left out: always the default
    of the library"""

    step_latency: Time
    """one hop of one step, at no load"""
    efficiency: Efficiency
    """payload share of the bytes on the wire"""
    base_latency: Time = 0.0
    """more than launch_latency before the first byte, once"""
    maximum_size: Bytes
    """largest message per rank it is used for"""


class PeerChannels(Hardware):
    """A library's channels for direct sends to peers (models/collective.py: deal)."""

    rule: Literal["power_of_two"]
    """power_of_two: a power of two of channels for each peer, doubled while a channel's part is
    larger"""
    part: Bytes
    """largest part of a channel as long as there are more channels"""
    rounds: Literal["parts", "peers"] = "parts"
    """what a channel pays a step's latency for: each part that it sends in turn, or each peer of
    the GPU, whichever channel serves it"""
    short_protocol: str | None = None
    """protocol of messages to a peer of up to short_size; left out: as of other algorithms"""
    short_size: Moved = 0.0
    long_protocol: str | None = None
    """protocol of longer ones"""
    long_base_latency: Time | None = None
    """in place of that protocol's base_latency; left out: the same"""


class Channels(Hardware):
    """Workgroups that carry a collective."""

    default: dict[Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"], Workgroups]
    maximum: Workgroups
    """more are accepted but idle"""
    bytes_per_cycle: BytesPerCycle
    """payload one channel moves per engine cycle; in a call, where loads and stores have rates of
    their own"""
    direct_bytes_per_cycle: BytesPerCycle | None = None
    """the same of direct sends, where a channel sends to one peer and receives from another in
    turn; left out: bytes_per_cycle"""
    copy_bytes_per_cycle: BytesPerCycle | None = None
    """the same of all-gathers, whose channels add nothing; left out: bytes_per_cycle"""
    load_bytes_per_cycle: BytesPerCycle | None = None
    """bytes one channel loads per engine cycle; given with store_bytes_per_cycle, its calls follow
    one another"""
    store_bytes_per_cycle: BytesPerCycle | None = None
    """bytes one channel stores per engine cycle, here or to a peer"""
    clocked: Fraction = 1.0
    """share of a channel's time at full clock that follows the core clock; latencies of memory and
    fabric keep theirs"""
    peer_channels: PeerChannels | None = None
    """direct sends: how many channels serve a peer; left out: all"""
    link_saturation_exponent: Exponent
    """exponent p of the soft minimum of channels and link, of rings and trees whose every call
    sends"""
    direct_link_saturation_exponent: Exponent
    """the same of direct sends, which do not wait for one another's steps"""
    link_efficiency: Efficiency
    """share of a link's usable rate that many channels reach"""
    beside_compute: Fraction = 1.0
    """share of its rate that a channel keeps while arithmetic runs on every compute unit, whose
    waves are served first; no isolated run tells it"""
    cluster: Parts
    """channels that start together in one shader engine; numbers it does not divide start singly"""
    channels_per_unit: Parts = 1
    """channels that share a workgroup, which claims as much as all of them: a CU carries so many"""
    lds: Bytes
    """LDS of one channel; registers and waves are of one channel too"""
    registers: Count
    waves: Parts

    def workgroups(self, channels: int) -> int:
        """Workgroups, each on one CU, that carry *channels*; the last may carry fewer."""
        return -(-channels // self.channels_per_unit)

    def most_on_a_unit(self, lds: float, registers: int, waves: int) -> int:
        """Channels that a compute unit with so much room can hold."""
        return int(min(lds // self.lds, registers // self.registers, waves // self.waves))


class SwitchReduction(Hardware):
    """Conditions under which a library lets the switch reduce or hand on (algorithm ``switch``)."""

    ranks: Parts
    """fewest GPUs"""
    dtypes: tuple[Dtype, ...]
    """types that the switch adds"""
    protocol: str
    base_latency: Time
    """more than launch_latency before the first byte, once, in place of the protocol's"""
    bytes_per_cycle: BytesPerCycle
    """bytes that a GPU sends, per channel and engine cycle"""
    always: bool = False
    """where these conditions hold it is used without an estimate"""


class EngineUse(Hardware):
    """Collectives that a library has DMA engines carry, between buffers that all ranks know."""

    operations: tuple[Literal["all_gather", "reduce_scatter", "all_to_all"], ...]
    """these; a reduce-scatter is an exchange by engines, and a kernel that adds what has arrived"""
    gather_variant: Literal["pcpy", "b2b", "multicast"] = "pcpy"
    """variant of an all-gather that names none; exchanges are a copy to each peer"""
    direction: Literal["push", "pull"] = "push"
    own_part: Literal["beside", "first"] = "beside"
    """out of place: the copy of a rank's own part goes beside those to peers, or before them in one
    stream"""
    barrier_time: Time
    """until the ranks know of each other, before the first copy and again behind the last: flags of
    small kernels, or words that streams wait for"""


class CollectiveLibrary(Hardware):
    """A library of collectives on compute units (RCCL, NCCL)."""

    channels: Channels
    algorithms: dict[
        Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"],
        tuple[
            Annotated[
                Literal["ring", "tree", "direct", "switch", "one_shot", "two_shot"], Synonyms()
            ],
            ...,
        ],
    ]
    """what it chooses from, by its own estimate"""
    registered: bool = False
    """all ranks know each other's buffers, and kernels load and store there: nothing is copied into
    or out of buffers of the library"""
    rings: Parts | None = None
    """rings at once, where links make several; left out: all of them"""
    switch_reduction: SwitchReduction | None = None
    """left out: algorithm switch is never used"""
    engines: EngineUse | None = None
    """what it has DMA engines carry where a collective says ``by: engines``; left out: nothing"""
    cold_step_latency: Time = 0.0
    """longer, for each step or peer of a channel, in a call that no other call of it precedes in a
    loop: its buffers are in no cache"""
    protocols: dict[str, Protocol]
    enqueue_time: Time
    """host thread busy per collective"""
    loop_enqueue_time: Time | None = None
    """the same in a loop, where code and data of the call are in the host's caches; left out:
    enqueue_time"""
    launch_latency: Time
    """kernel start to first byte: flags, barrier between ranks"""
    slice_bytes: Bytes
    """most that one channel stores before it forwards"""
    min_slices: Workgroups
    """slices that a channel's part of a step is cut into at least"""

"""Parts of hardware files: memory, energy and clock, stores at peers, the network."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from c3sim.spec.quantities import (
    Bandwidth,
    Bytes,
    BytesPerCycle,
    Count,
    Efficiency,
    Energy,
    EnergyPerByte,
    EnergyPerFlop,
    Exponent,
    Factor,
    Fraction,
    Frequency,
    Parts,
    Positive,
    Power,
    Time,
)
from c3sim.spec.sourced import Hardware
from c3sim.spec.task import StorePolicy


class UnitPort(Hardware):
    """A compute unit's way to its L2, which loads and stores share (models/unit_port.py)."""

    under_way: Bytes
    """bytes of loads under way on a unit with which its read_bandwidth was measured"""
    set_aside: tuple[Bytes, ...] = ()
    """amounts of LDS that a unit can set aside of its first-level cache, rising, beside none;
    left out: any"""
    store_bandwidth: BytesPerCycle
    """bytes one CU stores per cycle while few do"""
    exponent: Exponent
    """exponent of the soft maximum of the latency of loads and the time of the port"""
    both_ways: Exponent
    """the same of the time of loads and that of what leaves, of a kernel that loads and stores"""
    loads_beside_stores: Efficiency
    """least share of what they ask of memory that loads get beside stores: what waits for memory
    then has filled all buffers, and stores wait for room in them as well"""


class L2(Hardware):
    """Second-level cache, one per die."""

    capacity: Bytes
    bandwidth: BytesPerCycle
    """bytes per cycle and die"""
    keeps_results: bool = False
    """true: what kernels store takes lines from what a GEMM reads again; update_cost of memory
    lets it pass by"""
    copies: Annotated[Positive, Field(ge=1, le=2)] = 1.0
    """lines that a line takes in the mean, where an L2 of two partitions keeps a copy in that of
    the unit that reads it"""


class MemorySideCache(Hardware):
    """Memory-side cache (Infinity Cache), shared by all dies, DMA engines and peers."""

    capacity: Bytes
    bandwidth: Bandwidth


class Hbm(Hardware):
    """Memory stacks, as one pool of bandwidth."""

    capacity: Bytes
    bandwidth: Bandwidth
    """data sheet peak"""
    latency: Time
    """load that misses every cache"""
    clocked: Fraction = 1.0
    """part of the latency that follows the engine clock: the way to L2 and back"""
    saturation_exponent: Exponent
    """exponent p of the soft minimum of what compute units ask for and what the stacks give"""
    read_efficiency: Efficiency
    """share of the peak that a pure read stream reaches"""
    mixed_efficiency: Efficiency
    """share of the peak that an even mix of reads and writes reaches"""
    internal_rate: Positive | None = None
    """what units inside the stacks move at most, in times of bandwidth; left out: there are none"""
    first: Literal["nobody", "engines"] = "nobody"
    """whose requests are served before those of compute units; engines: but reads from a peer, of
    which they keep too few under way"""
    update_cost: Factor = 0.0
    """bytes of bandwidth that adding a byte to what lies in memory takes, by the memory itself
    (op-and-store); 0: memory cannot, whoever adds reads it first"""


class NearMemory(Hardware):
    """A memory controller that counts what is stored, lets memory add it and starts engines
    (near_memory/).
    """

    entries: Annotated[int, Field(ge=0)]
    """regions of a GEMM's output that its tracker counts at a time; 0: it counts none"""
    misses: Literal["spill", "late"] = "spill"
    """what becomes of a region without an entry: its counter lies in memory (spill); it leaves at
    the kernel's end (late)"""
    channels: Count
    queue: Count
    """requests that the queue of a channel holds"""
    request: Bytes
    row: Bytes
    """bytes of a row of a bank, in one channel"""
    banks: Count
    row_switch: Time
    """from a row of a bank to another one: precharge and activation"""
    row_cycle: Time
    """between two activations of a bank"""
    arbitrated: bool = True
    """true: compute goes first; false: compute and communication take turns"""
    thresholds: tuple[Count, ...] = ()
    """requests in the queue from which on those of communication wait, the strictest first"""
    adaptive: bool = True
    """true: the load of a kernel's first stage on memory chooses one of them, or none; false: the
    strictest holds"""
    starvation_limit: Time = 0.0
    """how long a request of communication waits at most; 0: for ever"""
    store_buffer: Bytes
    """stores on their way past the caches that hold no workgroup up"""


class Energies(Hardware):
    """Energy of each action (machine/energy.py). Core terms scale with voltage squared, the others
    do not.
    """

    flop: dict[Literal["bf16", "fp16", "fp8", "fp32", "fp64"], EnergyPerFlop]
    """at the maximum clock; with the operands' way through registers and LDS"""
    operands: dict[Literal["random", "pattern", "zero"], Factor] = Field({})
    """factor on flop, by what a GEMM's operands hold; left out: 1"""
    compute_unit: Power
    """a CU that holds waves, at the maximum clock, beside its FLOPs"""
    vector_byte: EnergyPerByte
    """per byte that waves load or store (first-level cache, registers), at the maximum clock; in a
    GEMM it is part of flop"""
    l2_byte: EnergyPerByte
    """at the maximum clock"""
    cache_byte: EnergyPerByte = 0.0
    """energy of a byte of the memory-side cache; left out where there is none"""
    hbm_byte: EnergyPerByte
    link_byte: EnergyPerByte
    """per byte and GPU that sends or receives it"""
    host_link_byte: EnergyPerByte
    """the GPU's end of the host link"""
    dma_byte: EnergyPerByte
    """per byte that a DMA engine reads or writes, beside memory"""
    dma_engine: Power
    """a DMA engine that moves bytes, beside them; waiting ones are idle"""
    dma_command: Energy
    """fetch, decoding, address translation and signal of one command"""
    measured: str = ""
    """the measured power that these were compared with; left out: none"""


class Response(Hardware):
    """Constants of a governor that is slow and does not cut as it raises (machine/follower.py)."""

    delay: Annotated[Time, Field(gt=0)]
    """between power and the governor's first sight of it"""
    lag: Annotated[Time, Field(gt=0)]
    """time constant of what it sees"""
    rise: Annotated[Time, Field(gt=0)]
    """in which the clock would rise from 0 to its maximum if nothing were drawn"""
    cut: Annotated[Time, Field(gt=0)]
    """in which it would fall as far at twice the limit"""
    peak: Annotated[Factor, Field(ge=1)]
    """share of the limit that is never passed: the clock gives way at once"""


class Clock(Hardware):
    """Engine clock under the power limit (models/power.py)."""

    maximum: Frequency
    minimum: Frequency
    power_limit: Power
    peak_power: Power | None = None
    """what the GPU draws at most at any instant: the clock gives way at once; left out: no limit"""
    idle_power: Power
    """at running clocks while nothing runs; it is part of every load"""
    voltage_exponent: Factor
    """x in power ~ f^(1+x) at a fixed activity"""
    power_window: Time = 0.0
    """time constant of the average that the limit holds (machine/governor.py); left out, or 0: the
    limit acts at once"""
    response: Response | None = None
    """how the clock follows power within and between turns of a loop; left out: at once"""


class Variation(Hardware):
    """Differences between GPUs of one node, and between turns of a loop on one GPU
    (simulation/drift.py).
    """

    speed: Fraction
    """standard deviation between GPUs, of the time that kernels which compute take"""
    jitter: Fraction
    """the same between turns of a loop on one GPU"""
    stalls: Fraction = 0.0
    """share of a rank's turns in which its collective begins late"""
    stall_time: Time = 0.0
    """how late"""
    start: Time = 0.0
    """a rank begins a loop up to so much late, evenly distributed"""


class PolicyCost(Hardware):
    """Stores of one policy."""

    bandwidth: BytesPerCycle
    """bytes one compute unit stores at peers per cycle, as long as it need not wait"""
    release_time: Time
    """from a release to its end, where nothing is left to write back"""
    write_back: Bandwidth | None = None
    """at which a die writes back in a release what its workgroups stored at peers, one release at a
    time; left out: such stores are in no cache"""
    release_hold: Fraction = 0.0
    """share of the memory traffic of its die that stands still while it writes back"""


class RemoteStores(Hardware):
    """Stores of compute units at peers."""

    policies: dict[StorePolicy, PolicyCost] = Field(min_length=1)
    store_bytes: Bytes
    """bytes of one store of all lanes of a workgroup"""
    latency: Time
    """from a store to its acknowledgement, where a lane waits for it"""
    flag_time: Time
    """from the store of a flag to the end of a peer's wait for it"""
    host_flag_time: Time | None = None
    """the same of a flag in the host's memory: both cross its link; left out: not known"""
    queues: Count | None = None
    """that stores of a GPU stand in before its links, each served in order; left out: one for each
    die"""
    local_share: Annotated[Positive, Field(le=1)] | None = None
    """share of their rate that other kernels keep however many stores wait in the queues that a die
    has for all requests; left out: stores that wait hold nobody else up"""


class ScaleOut(Hardware):
    """NICs, leaf switches and a spine between nodes. Each direction of a NIC and of a leaf's
    uplinks is a capacity.
    """

    nodes: Parts
    nics: Parts
    """NICs of each node, dealt evenly to its GPUs: a divisor or a multiple of their number"""
    topology: Literal["rails", "racks"]
    """rails: NIC r of every node on the leaf of rail r; racks: all NICs of a node on one leaf"""
    nodes_per_leaf: Count
    """nodes that a leaf switch has ports for; further nodes are behind the spine"""
    oversubscription: Positive
    """bandwidth of the NICs below a leaf over that of its uplinks to the spine; 1: none"""
    bandwidth: Bandwidth
    """signalling rate of one NIC, one direction"""
    efficiency: Efficiency
    """payload share of it that large messages reach"""
    latency: Time
    """bytes ready in one GPU's memory to seen in another's, under one leaf, beside size / rate"""
    spine_latency: Time
    """what the way through the spine takes longer"""
    step_latency: Time
    """what a step of a collective takes longer between nodes: a host thread sees a slice, posts it,
    sees it arrive"""
    post_time: Time
    """host thread busy per message that it posts to a NIC"""
    kernel_post_time: Time | None = None
    """workgroup busy per message that it posts itself, as ``post_time``; left out: none can"""
    gpu_path: Literal["host_link", "own"]
    """how a NIC reaches GPU memory: over the GPU's host link (one switch for GPU, NIC and host), or
    a way of its own"""
    pipeline: Parts
    """most parts of a hierarchical collective that follow each other through its phases"""
    algorithms: dict[
        Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"],
        tuple[Literal["hierarchical", "ring", "direct"], ...],
    ]
    """what a library chooses from across nodes, by its own estimate"""

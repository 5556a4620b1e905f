"""Hardware of a GPU and of a node: schema 2 of the files under ``hwmodels/``.

Keys are neutral; a vendor's words are display names (``names``). All numbers are SI floats. In the
files each number has a source, and what else ``spec/sourced.py`` lists; that is kept beside the
model, not in it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from c3sim.spec.base import Synonyms
from c3sim.spec.cache_policy import CachePolicies
from c3sim.spec.dma_engines import DmaEngines
from c3sim.spec.host import Host, HostProfile
from c3sim.spec.libraries import CollectiveLibrary, GemmLibrary
from c3sim.spec.operators import Operators
from c3sim.spec.parts import (
    L2,
    Clock,
    Energies,
    Hbm,
    MemorySideCache,
    NearMemory,
    RemoteStores,
    ScaleOut,
    UnitPort,
    Variation,
)
from c3sim.spec.quantities import Bandwidth, Bytes, BytesPerCycle, Count, Parts, Positive, Time
from c3sim.spec.sourced import Hardware

MOST_COMPUTE_UNITS = 65_536  # of a GPU
MOST_RANKS = 65_536  # GPUs of all nodes


class Dies(Hardware):
    """Accelerator dies (XCD) and the shader engines of each; workgroups go round robin over dies,
    then engines.
    """

    count: Parts
    """accelerator dies per GPU"""
    shader_engines: tuple[Parts, ...] = Field(min_length=1, max_length=256)
    """compute units in each shader engine of one die, in the order of bits of a CU mask"""
    first_engine: int = Field(default=0, ge=0, le=255)
    """the shader engine (from 0) that takes the first workgroup of a die, in every grid"""
    dispatch: Literal[
        "weighted_rotation", "strict_rotation", "engine_queues", "work_conserving", "rotation"
    ]
    """how workgroups are spread over the shader engines of a die (models/dispatch.py)"""


class ComputeUnits(Hardware):
    """One compute unit (CU): what a workgroup needs room in, and how fast it issues."""

    lds: Bytes
    """local data share, bytes a resident workgroup can claim"""
    waves: Parts
    """resident waves"""
    registers: Count
    """vector registers of 32 bit per lane, summed over the SIMDs of a CU"""
    wave_lanes: Count
    """lanes of a wave"""
    wave_registers: Count
    """vector registers of 32 bit per lane that one wave can have"""
    flops_per_cycle: dict[Literal["bf16", "fp16", "fp8", "fp32", "fp64"], Positive]
    """matrix FLOP per cycle and CU, by data type"""
    read_bandwidth: BytesPerCycle
    """memory bytes one CU can read per cycle"""
    store_bandwidth: BytesPerCycle | None = None
    """bytes one CU stores per cycle while all do; left out: no limit but those of L2 and memory"""
    l2_bandwidth: BytesPerCycle
    """bytes one CU can read from or write to its L2 per cycle"""
    copy_bandwidth: BytesPerCycle
    """bytes one CU can read and write in a local copy, per cycle"""
    remote_bandwidth: BytesPerCycle
    """bytes one CU can copy to or from a peer, per cycle"""
    port: UnitPort | None = None
    """left out: kernels that read and store have read_bandwidth and copy_bandwidth, whatever they
    have under way"""


class Kernels(Hardware):
    """Latencies that every kernel pays."""

    dispatch_latency: Time
    """release of a queue to the first workgroup's first instruction"""
    completion_latency: Time
    """last workgroup's end to the signal that dependants see"""
    release_order: Literal["launch", "any"] = "launch"
    """in which order kernels of several streams begin that wait for one event"""
    release_spread: Time = 0.0
    """between the first and the last of them"""
    back_to_back_latency: Time | None = None
    """between two kernels of one repeated task, or of one call, both queued: last workgroup's end
    to the first workgroup's first instruction; of two tasks, in one stream or by an event, from the
    signal of the first; left out: completion and dispatch, one after the other"""

    memory_ramp: Time = 0.0
    """what back_to_back_latency lacks of a kernel that goes over memory: until its first loads are
    there and its last stores are out; dispatch_latency has it"""

    queue_issue_time: Time = 0.0
    """between two kernels that hardware queues shared by streams issue one after the other"""
    queue_switch_time: Time = 0.0
    """longer, when the second one is in another queue"""
    parameter_fault: Time | None = None
    """how long the workgroups of a launch wait for parameters in managed memory that the host has
    touched: faults, and the way of their pages; left out: not known, so no such launch is run"""

    @property
    def gap(self) -> float:
        """Seconds between two kernels of one task."""
        if self.back_to_back_latency is None:
            return self.completion_latency + self.dispatch_latency
        return self.back_to_back_latency


class Gpu(Hardware):
    """One GPU."""

    name: str
    names: dict[str, str]
    """vendor's words for the neutral keys, for display"""
    dies: Dies
    compute_units: ComputeUnits
    l2: L2
    memory_side_cache: MemorySideCache | None = None
    """left out, or null: L2 is the last cache"""
    cache_policies: CachePolicies | None = None
    """left out: no task may have a policy of its lines"""
    hbm: Hbm
    dma_engines: DmaEngines
    clock: Clock
    energy: Energies
    kernels: Kernels
    gemm_libraries: dict[str, GemmLibrary] = Field(min_length=1)
    operators: Operators | None = None
    """what the operators of a model reach; left out: no iterations run on it"""
    remote_stores: RemoteStores | None = None
    """left out: no kernel is known to store at peers"""
    near_memory: NearMemory | None = None
    """left out: memory counts nothing, and starts nobody"""
    variation: Variation | None = None
    """left out: GPUs are alike, and so are the turns of a loop"""
    tuned_on: SkipJsonSchema[Gpu | None] = Field(default=None, repr=False)
    """no part of a file: the GPU whose rates and times its libraries count on when they choose,
    where numbers of it were set by hand; None: this one"""

    @property
    def compute_unit_count(self) -> int:
        return self.dies.count * sum(self.dies.shader_engines)

    @model_validator(mode="after")
    def _units_and_clusters_fit(self) -> Gpu:
        if self.compute_unit_count > MOST_COMPUTE_UNITS:
            raise ValueError(
                f"{self.compute_unit_count} compute units; must be at most {MOST_COMPUTE_UNITS}"
            )
        largest = max(self.dies.shader_engines)
        for name, library in self.gemm_libraries.items():
            if library.cluster > largest:
                raise ValueError(
                    f"{name}: a cluster of {library.cluster}; must fit in a shader engine, "
                    f"{largest}"
                )
        return self

    @property
    def shared_cache(self) -> float:
        """Bytes of the last cache that all compute units share: memory-side, or the L2 of a GPU
        with one die; 0: none.
        """
        if self.memory_side_cache is not None:
            return self.memory_side_cache.capacity
        return self.l2.capacity if self.dies.count == 1 else 0.0

    def gemm_library(self, name: str | None) -> GemmLibrary:
        """The library of that name; None: the first. Raises KeyError (checked on input)."""
        return self.gemm_libraries[next(iter(self.gemm_libraries)) if name is None else name]


class Links(Hardware):
    """Links between GPUs. Each direction is a capacity of its own."""

    topology: Annotated[Literal["full_mesh", "ring", "switch"], Synonyms()]
    raw_bandwidth: Bandwidth | None = None
    """signalling rate of one link, one direction; for readers, nothing uses it"""
    bandwidth: Bandwidth
    """usable payload rate of one link, one direction; 'c3sim show NODE' has the total of a GPU"""
    latency: Time
    per_peer: Parts
    """links to each neighbour (full mesh, ring) or into the switch"""
    reduction: bool = False
    """true: the switch adds what it reads from several GPUs, and copies what it writes to them"""
    multicast: bool = False
    """true: the switch hands what one GPU writes once to several others"""
    reverse_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """payload that a link cannot carry for each byte of the opposite direction, which it
    acknowledges; left out: 0"""
    engine_map: tuple[tuple[int, ...], ...] | None = None
    """DMA engine that serves each peer: a row per source, a column per destination; left out, or
    naming engines or GPUs that are not there: dealt in turn"""


class Node(Hardware):
    """Several GPUs of one kind, their links and host; with ``scale_out`` several such nodes."""

    name: str
    description: str
    grade: Literal["measured", "calibrated", "data_sheet", "invented"] | None = None
    """what stands behind its numbers: isolated runs here, published isolated runs, data sheets
    alone, nothing; of this file, not of those that are like it"""
    gpus: Parts
    gpu: Gpu
    links: Links
    host: Host
    host_profiles: dict[str, HostProfile] = Field({})
    """other hosts that a workload may name (host.profile)"""
    collective_libraries: dict[str, CollectiveLibrary] = Field(min_length=1)
    scale_out: ScaleOut | None = None
    """further nodes like this one, and the network between them"""

    @property
    def nodes(self) -> int:
        return 1 if self.scale_out is None else self.scale_out.nodes

    @property
    def ranks(self) -> int:
        """GPUs of all nodes. GPU g is number g mod ``gpus`` of node g // ``gpus``."""
        return self.gpus * self.nodes

    def peer(self, gpu: int, offset: int) -> int:
        """The GPU at *offset* from *gpu*: offset mod ``gpus`` further round in the node that is
        offset // ``gpus`` further.
        """
        node, local = divmod(gpu, self.gpus)
        further, round_ = divmod(offset, self.gpus)
        return (node + further) % self.nodes * self.gpus + (local + round_) % self.gpus

    def collective_library(self, name: str | None) -> CollectiveLibrary:
        """The library of that name; None: the first. Raises KeyError (checked on input)."""
        return self.collective_libraries[
            next(iter(self.collective_libraries)) if name is None else name
        ]

    @property
    def engine_map(self) -> tuple[tuple[int, ...], ...] | None:
        """``links.engine_map`` where it fits: made for as many GPUs or more, and for engines that
        they have.
        """
        rows = self.links.engine_map
        if rows is None or len(rows) < self.gpus:
            return None
        return rows if max(map(max, rows)) <= self.gpu.dma_engines.last else None

    @model_validator(mode="after")
    def _engine_map_is_square(self) -> Node:
        rows = self.links.engine_map or ()
        if any(len(row) != len(rows) or min(row) < 0 for row in rows):
            raise ValueError(
                "links.engine_map needs as many columns as rows, and numbers of engines from 0 on"
            )
        return self

    @model_validator(mode="after")
    def _ranks_are_few(self) -> Node:
        if self.ranks > MOST_RANKS:
            raise ValueError(f"{self.ranks} GPUs in all nodes; must be at most {MOST_RANKS}")
        return self

    @model_validator(mode="after")
    def _ring_needs_three(self) -> Node:
        if self.links.topology == "ring" and self.gpus < 3:
            raise ValueError(f"a ring needs at least 3 GPUs, got gpus={self.gpus}")
        return self

    @model_validator(mode="after")
    def _packed_channels_fit(self) -> Node:
        unit = self.gpu.compute_units
        for name, library in self.collective_libraries.items():
            most = library.channels.most_on_a_unit(unit.lds, unit.registers, unit.waves)
            if 1 < library.channels.channels_per_unit > most:
                raise ValueError(f"{name}: channels_per_unit; a compute unit has room for {most}")
        return self

    @model_validator(mode="after")
    def _nics_are_dealt_evenly(self) -> Node:
        nics = self.scale_out.nics if self.scale_out else self.gpus
        if nics % self.gpus and self.gpus % nics:
            raise ValueError(
                f"{nics} NICs for {self.gpus} GPUs; must be a divisor or a multiple of their number"
            )
        return self

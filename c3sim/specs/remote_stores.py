"""What stores into the memory of other GPUs cost: part of hardware files."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from c3sim.specs.quantities import Bytes, BytesPerCycle, Fraction, Positive, Time
from c3sim.specs.sourced import Hardware
from c3sim.specs.stores import StorePolicy


class PolicyCost(Hardware):
    """Stores of one policy."""

    bandwidth: BytesPerCycle
    """bytes one compute unit stores at peers per cycle, as long as it need not wait"""
    release_time: Time
    """from a release to its end, alone: what is unfinished arrives, what is in caches is written
    back"""
    one_release: bool = False
    """whether a die makes one release at a time"""
    release_hold: Fraction = 0.0
    """share of the memory traffic of its die that stands still while it makes a release"""


class RemoteStores(Hardware):
    """How compute units store at peers."""

    policies: dict[StorePolicy, PolicyCost] = Field(min_length=1)
    store_bytes: Bytes
    """of one store of all lanes of a workgroup"""
    latency: Time
    """from a store to its acknowledgement, where a lane waits for it"""
    flag_time: Time
    """from the store of a flag to the end of a peer's wait for it"""
    local_share: Annotated[Positive, Field(le=1)] | None = None
    """share of their rate that other kernels keep however many stores wait in the queues that a die
    has for all requests; left out: stores that wait hold nobody else up"""

"""Several nodes of one kind joined by a network: part of the schema of node files (see
``specs/hardware.py``).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from c3sim.specs.base import Spec
from c3sim.specs.quantities import Bandwidth, Count, Fraction, Positive, Time


class ScaleOut(Spec):
    """NICs, leaf switches and a spine between nodes. Each direction of a NIC and of a leaf's
    uplinks is a capacity.
    """

    nodes: Count
    nics: Count = Field(
        description="NICs of each node, dealt evenly to its GPUs: a divisor or a multiple of "
        "their number"
    )
    topology: Literal["rails", "racks"] = Field(
        description="rails: NIC r of every node on the leaf of rail r; racks: all NICs of a node "
        "on one leaf"
    )
    nodes_per_leaf: Count = Field(
        description="nodes that a leaf switch has ports for; further nodes are behind the spine"
    )
    oversubscription: Positive = Field(
        description="bandwidth of the NICs below a leaf over that of its uplinks to the spine; "
        "1: none"
    )
    bandwidth: Bandwidth = Field(description="signalling rate of one NIC, one direction")
    efficiency: Fraction = Field(description="payload share of it that large messages reach")
    latency: Time = Field(
        description="bytes ready in one GPU's memory to seen in another's, under one leaf, "
        "beside size / rate"
    )
    spine_latency: Time = Field(description="what the way through the spine takes longer")
    step_latency: Time = Field(
        description="what a step of a collective takes longer between nodes: a host thread sees "
        "a slice, posts it, sees it arrive"
    )
    post_time: Time = Field(description="host thread busy per message that it posts to a NIC")
    gpu_path: Literal["host_link", "own"] = Field(
        description="how a NIC reaches GPU memory: over the GPU's host link (one switch for GPU, "
        "NIC and host), or a way of its own"
    )
    pipeline: Count = Field(
        description="most parts of a hierarchical collective that follow each other through its "
        "phases"
    )
    algorithms: dict[
        Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"],
        tuple[Literal["hierarchical", "ring", "direct"], ...],
    ] = Field(description="what a library chooses from across nodes, by its own estimate")

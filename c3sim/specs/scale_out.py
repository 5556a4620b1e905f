"""Several nodes of one kind joined by a network: part of node files."""

from __future__ import annotations

from typing import Literal

from c3sim.specs.quantities import Bandwidth, Count, Fraction, Parts, Positive, Time
from c3sim.specs.sourced import Hardware


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
    efficiency: Fraction
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

"""Cases of which laws are known not to hold, and why."""

from __future__ import annotations

from law_cases import Case

# Known exceptions: (law, case or workload) -> the mechanism that explains it. An entry that is no
# longer needed fails.
FASTER = "more_bandwidth_or_less_latency_never_makes_the_only_task_slower"
ON_CLUSTER, WAYS = "teaching-cluster: DMA all_gather", ("", " in a batch", " in four parts")
EXCEPTIONS: dict[tuple[str, str], str] = {
    (FASTER, case): (
        "a copy submitted earlier shares a link earlier with the one before it, which ends later,"
        " as does the copy that waits behind that one in its engine (2 engines serve 3 peers)"
    )
    for case in ("teaching-4: DMA all_gather in a batch", *(ON_CLUSTER + how for how in WAYS))
}
EXCEPTIONS |= {
    (FASTER, f"{node}: DMA all_gather by broadcasts, direct"): (
        "engines send to two peers at once, links answer what those send (links.reverse_share)"
    )
    for node in ("mi300x-8", "mi355x-8", "mi100-4")
}

EXCEPTIONS[FASTER, "teaching-cluster: DMA all_gather, pull, one thread"] = EXCEPTIONS[
    FASTER, "teaching-4: DMA all_gather in a batch"
]
EXCEPTIONS[FASTER, "mi210-4: DMA all_gather by broadcasts, direct"] = (
    "the copy, bound by its bytes in flight, keeps more requests outstanding beside the broadcast,"
    " which its engine binds: the one that ends first gets more of the link both draw on"
    " (tests/laws/test_flows.py: less latency may slow the longest down)"
)
EXCEPTIONS[FASTER, "b200-8: DMA all_gather back to back, one thread"] = (
    "started one after the other, engines of GPUs g and g + 1 send to the same peer. At the port's"
    " rate each pair goes on in step, two at every port, to the end; engines that the latency of"
    " links keeps below that rate (bytes in flight) get out of step, and the last ends earlier"
)
EXCEPTIONS |= {
    (FASTER, f"mi300x-cluster: {case}"): (
        "two parts are in two phases at once: the one in the node, which links no longer hold up,"
        " loads the memory that the one between nodes needs as well, and that one ends last"
        " (decision 55)"
    )
    for case in ("all_reduce, hierarchical", "packaged all-reduce-across-nodes")
}
EXCEPTIONS |= {
    (FASTER, f"{node}: packaged gemm-alone"): (
        "slices that follow each other an eighth as soon (704 ns; 82 to 100 are known) bind tiles"
        " beside an idle memory, and no others. The load of memory is counted of the former: it is"
        " less, so operands of the others come sooner (0.05 to 0.08 % of the time)"
    )
    for node in ("h100-1", "h200-1", "h200-2", "h200-8")
}
EXCEPTIONS[FASTER, "mi300x-8: packaged gemm-stores-staggered"] = (
    "workgroups take tiles of one peer after the other, so those that end sooner store over other"
    " links: with operands eight times as soon more of the last tiles share one, and the end is"
    " 12 % later (list scheduling: shorter jobs may end later)"
)

# Open mistakes of the simulator that a law has shown: (law, case or workload) -> what is wrong.
# Strict: a fix fails here.
MISTAKES: dict[tuple[str, str], str] = {
    ("folded_equals_unfolded", "t3-8: packaged gemm-behind-all-gather-by-pytorch"): (
        "0.003 % apart: pulls over several links of a ring, one at a time: open"
    ),
    ("folded_equals_unfolded", "b200-8: DMA program of every kind of packet"): (
        "0.7 % apart, where an engine's bytes in flight bind before its data path: open"
    ),
}


def known(case: Case) -> dict[str, str]:
    """Laws that are known not to hold of *case* -> why."""
    both = EXCEPTIONS | MISTAKES
    return {law: why for (law, of), why in both.items() if of in (str(case), case.name)}

"""All-reduce by a switch that adds, and the protocols of direct sends (NCCL on H200)."""

from __future__ import annotations

import pytest

from c3sim.models.collective import plan_in_node
from c3sim.models.phase import PhasePlan
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Collective

EIGHT, FOUR = load_node("h200-8"), load_node("h200-4")
MIB = 2**20


def plan(node: Node, op: str, size: float, **more: object) -> PhasePlan:
    task = Collective.model_validate({"kind": "collective", "op": op, "size": size, **more})
    return plan_in_node(node, task)


def test_the_switch_moves_less_over_the_links_than_a_ring() -> None:
    """Each of 8 GPUs sends S: an eighth to each reader, through the adders; and S / 8, the sum of
    its own eighth, once for all. A ring sends 2 x 7/8 of S.
    """
    by_switch = plan(EIGHT, "all_reduce", 256 * MIB, dtype="bf16")
    ring = plan(EIGHT, "all_reduce", 256 * MIB, dtype="bf16", algorithm="ring")
    assert by_switch.algorithm == "switch"
    assert by_switch.sent == pytest.approx(9 / 8 * 256 * MIB)
    assert ring.sent == pytest.approx(14 / 8 * 256 * MIB)
    assert by_switch.estimate < ring.estimate


@pytest.mark.parametrize(
    ("node", "dtype"),
    [
        (EIGHT, "fp8"),  # it does not add bytes
        (FOUR, "bf16"),  # too few GPUs
        (EIGHT.changed(links__reduction=False), "bf16"),
    ],
)
def test_when_the_library_leaves_the_switch_alone(node: Node, dtype: str) -> None:
    assert plan(node, "all_reduce", 256 * MIB, dtype=dtype).algorithm == "ring"


def test_small_messages_do_not_wait_for_the_switch() -> None:
    """The ring's 14 steps take less than the 25 us before the switch's first byte."""
    assert plan(EIGHT, "all_reduce", 4096).algorithm == "ring"


def test_sends_use_one_of_two_protocols_by_what_a_peer_gets() -> None:
    """A peer gets 16 KiB of 128 KiB, the most that LL is used for; a task's own choice counts."""
    assert plan(EIGHT, "all_to_all", 128 * 1024).protocol == "ll"
    assert plan(EIGHT, "all_to_all", 136 * 1024).protocol == "simple"
    assert plan(EIGHT, "all_to_all", 4096, protocol="ll128").protocol == "ll128"


def test_sends_on_channels_of_their_own_are_one_step() -> None:
    """24 channels count as 32, 4 for each of 8 ranks: 28 parts for 7 peers on 28 channels."""
    library = EIGHT.collective_library("nccl")
    wire = library.protocols["ll"]
    found = plan(EIGHT, "all_to_all", 8 * 1024)
    slice_time = found.sent / (found.channels * library.min_slices) / found.rate(1, 1.0)
    fixed = library.launch_latency + wire.base_latency
    assert found.connections == 7
    assert found.work - fixed == pytest.approx(wire.step_latency + slice_time)

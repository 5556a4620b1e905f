"""A library that has engines carry its collectives: barriers, an exchange with a sum, multicast."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of, workload_of

from c3sim.errors import InputErrors
from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node

NODE = load_node("h200-8")
USE = NODE.collective_library("nccl").engines
MIB = 2.0**20


def run(op: str = "all_gather", size: float = 64 * MIB, node: Node = NODE, **more: Any) -> Run:
    task = {"kind": "collective", "op": op, "size": f"{size:.0f} B", **more}
    workload = workload_of({"c": task}, node=node.name)
    check_on_node(workload, node)
    return simulate(node, workload)


@pytest.mark.parametrize("op", ["all_gather", "all_to_all"])
def test_it_is_copies_between_two_barriers(op: str) -> None:
    copies, library = run(op, backend="dma").end, run(op, by="engines").end
    assert library - copies == pytest.approx(2 * USE.barrier_time, rel=0.01)


def test_a_reduce_scatter_is_an_exchange_and_a_kernel_that_adds() -> None:
    """Memory: eight shards of 8 MiB are read, one is written: at most 72 MiB at 4.8 TB/s and two
    latencies; at least what that takes.
    """
    exchange, reduced = run("all_to_all", by="engines").end, run("reduce_scatter", by="engines").end
    gpu = NODE.gpu
    added = 72 * MIB / gpu.hbm.bandwidth
    latencies = gpu.kernels.dispatch_latency + gpu.kernels.completion_latency
    assert added < reduced - exchange < 1.6 * added + latencies


def test_multicast_sends_each_byte_once() -> None:
    """One engine of 380 GB/s: seven copies of a shard one after the other against one, of which
    every GPU then receives seven. Where an engine is half as quick, only the copies notice.
    """
    engines = NODE.gpu.dma_engines
    slow_engines = engines.changed(bandwidth=engines.bandwidth / 2)
    slow = NODE.changed(gpu__dma_engines=slow_engines)
    size = 1024 * MIB
    ways = {"variant": "pcpy"}, {"variant": "multicast"}
    for way, factor in zip(ways, (2.0, 1.0), strict=True):
        quick_time = run(size=size, by="engines", **way).end
        slow_time = run(size=size, node=slow, by="engines", **way).end
        assert slow_time / quick_time == pytest.approx(factor, rel=0.03)


def test_symmetric_kernels_as_measured() -> None:
    """Eight H100, device times without dispatch and completion (see the node's file): 10.9, 27.4,
    95.3, 363.2 us.
    """
    node = load_node("h100-8")
    kernels = node.gpu.kernels
    outside = kernels.dispatch_latency + kernels.completion_latency
    for mib, measured in ((2, 10.9e-6), (8, 27.4e-6), (32, 95.3e-6), (128, 363.2e-6)):
        end = run(size=mib * MIB, node=node, backend="nccl_symmetric").end
        assert end - outside == pytest.approx(measured, rel=0.08)


@pytest.mark.parametrize(("ranks", "rates"), [(2, 1), (4, 3)])
def test_symmetric_kernels_store_at_every_peer_where_nothing_multiplies(
    ranks: int, rates: int
) -> None:
    """256 MiB on 4 GPUs: 3/4 leave each of them, on two a half, over links of 380 GB/s, which 16
    blocks of 26 GB/s fill. A switch that multiplies sends the own part back as
    well; the library has it do so from three GPUs on.
    """
    node = load_node(f"h200-{ranks}")
    plain = node.changed(links__multicast=False, links__reduction=False)
    of_blocks: dict[str, Any] = {"size": 256 * MIB, "backend": "nccl_symmetric", "channels": 16}
    end = run(node=plain, **of_blocks).end
    wire = 256 * MIB * rates / ranks / (node.links.bandwidth * node.links.per_peer)
    assert wire < end < 1.25 * wire
    multiplied = run(node=node, **of_blocks).end
    assert (multiplied == end) == (ranks == 2)


def test_what_engines_do_not_carry_is_refused() -> None:
    with pytest.raises(InputErrors, match="nccl has engines carry"):
        run("all_reduce", by="engines")
    with pytest.raises(InputErrors, match="multicast"):
        run(node=load_node("mi300x-8"), by="engines", variant="multicast")


def test_engines_follow_each_other_in_an_eager_stream() -> None:
    """Nobody launches what engines do: the second one begins when the first one ends."""
    task = {"kind": "collective", "op": "all_gather", "size": "64 MiB", "by": "engines"}
    tasks = {name: {**task, "stream": "s"} for name in ("first", "second")}
    found = run_of(tasks, NODE, host={"launch": "eager"})
    assert found.task("second").start == pytest.approx(found.task("first").end)


def test_out_of_place_the_own_part_is_copied_before_the_others() -> None:
    """On two H200, 160 MiB: 80 MiB within the GPU in 41 us and to the peer in 216, one behind the
    other; a turn took 282 us (h200_loops_4_isolated). In place nothing is copied within the GPU.
    """
    two = load_node("h200-2")
    in_place, own_too = (
        run(size=160 * MIB, node=two, by="engines", out_of_place=own).end for own in (False, True)
    )
    assert own_too == pytest.approx(282e-6, rel=0.03)
    assert own_too - in_place == pytest.approx(41e-6, rel=0.25)

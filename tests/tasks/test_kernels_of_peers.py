"""Any kernel may store its results at peers, in an order by owner, and put them to other nodes."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import workload_of

from c3sim.errors import InputErrors
from c3sim.simulation.simulate import Run, simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node

NODE = load_node("mi210-4")
PAIR = load_node("mi210-cluster")
SIZE = 64 * 2**20
#: Workgroups that stay, with ten tasks each and next to nothing to read.
KERNEL = {"kind": "kernel", "read": SIZE, "written": SIZE, "workgroups": 208, "tiles": 2080}


def run(node: Node, **tasks: dict[str, Any]) -> Run:
    work = workload_of(tasks, node=node.name)
    check_on_node(work, node)
    return simulate(node, work)


def test_results_take_the_links_and_flags_their_time() -> None:
    """A quarter to each of three peers, both ways busy (4.3 % lost): no sooner than the links,
    which an own result does not need. A flag behind each of ten tasks is 10 us of a workgroup.
    """
    links = SIZE / 4 / NODE.links.bandwidth * 1.043
    here = run(NODE, kernel=KERNEL).end
    peers = {**KERNEL, "results": "peers"}
    away = run(NODE, kernel=peers).end
    assert here < links < away < 1.2 * links
    few = {"workgroups": 2, "tiles": 20, "read": SIZE / 64}  # whom nothing binds
    little = {**KERNEL, **few, "written": SIZE / 1024, "results": "peers"}
    plain = run(NODE, kernel=little).end
    flagged = run(NODE, kernel={**little, "publish": "flag"}).end
    assert flagged - plain == pytest.approx(10e-6, rel=0.1)


@pytest.mark.parametrize("name", ["h200-4", "mi300x-8"])
@pytest.mark.parametrize("tile", [2**16, 2**20])
def test_a_kernel_that_only_stores_takes_what_stores_were_measured_to(name: str, tile: int) -> None:
    """Task ``stores`` is checked against records (suites mi300x_stores, h200_stores). A kernel with
    the same bytes for peers also writes its own part, at the rate at which a unit moves bytes.
    """
    node = load_node(name)
    size, workgroups = 84 * 2**20, 4
    own = size // (node.gpus - 1)
    stores = {"kind": "stores", "bytes": size, "workgroups": workgroups, "tile": tile}
    alone = run(node, stores={**stores, "publish": "flag"}).end
    kernel = {"kind": "kernel", "written": size + own, "workgroups": workgroups, "per_unit": 1}
    kernel |= {"tiles": (size + own) // tile, "results": "peers", "publish": "flag"}
    rate = node.gpu.compute_units.read_bandwidth * node.gpu.clock.maximum
    releases = own / tile / workgroups * 0.7e-6  # behind its own tiles as well, 0.6 us at most
    there = alone + own / workgroups / rate + releases
    assert alone < run(node, kernel=kernel).end < 1.05 * there


def test_the_order_decides_whose_results_are_there_first() -> None:
    def ends(order: str) -> tuple[float, float]:
        kernel = {**KERNEL, "results": "peers", "order": order}
        host = {"kind": "host", "time": "1 us"}
        found = run(
            NODE,
            kernel=kernel,
            peers={**host, "after": ["kernel.tiles[peer 1]"]},
            own={**host, "after": ["kernel.tiles[peer 0]"]},
        )
        return found.task("peers").end, found.task("own").end

    peers, own = ends("remote_first")
    assert peers < own
    staggered, last = ends("staggered")
    assert staggered < 0.4 * last  # the first of three peers


def test_a_kernel_awaits_tiles_of_a_kernel_on_all_gpus() -> None:
    """It adds what the others stored: it ends a little after they do, not a kernel later."""
    kernel = {**KERNEL, "results": "peers", "publish": "flag", "per_unit": 4}
    sums = {"kind": "kernel", "read": SIZE / 64, "written": SIZE / 64, "workgroups": 8}
    found = run(NODE, kernel=kernel, sums={**sums, "per_unit": 4, "awaits": ["kernel"]})
    kernel_end, end = found.task("kernel").end, found.task("sums").end
    assert found.task("sums").start < 0.2 * kernel_end < end
    assert end < kernel_end + 50e-6


def put(posting: str | None, post_time: float) -> Run:
    wide = PAIR.scale_out
    wide = wide.changed(kernel_post_time=post_time)
    pair = PAIR.changed(scale_out=wide)
    copy = {"kind": "copy", "executor": "nic", "bytes": SIZE / 2, "gpus": "all"}
    copy |= {"after": ["kernel.tiles[50%]"]} | ({"posted": posting} if posting else {})
    return run(pair, kernel=KERNEL, put=copy)


def test_a_put_is_two_posts_of_the_workgroup_that_ends_the_slice() -> None:
    """100 us each: the transfer begins 200 us later than with posts that take no time."""
    quick, slow = put("serial", 0.0), put("serial", 100e-6)
    assert slow.task("put").end - quick.task("put").end == pytest.approx(200e-6, rel=0.02)
    by_host = put(None, 100e-6)  # the host's post takes 0.5 us, whatever a kernel's takes
    assert by_host.task("put").end == pytest.approx(quick.task("put").end + 0.5e-6, rel=0.02)


def test_who_puts_needs_a_known_cost() -> None:
    cluster = load_node("mi300x-cluster")
    assert cluster.scale_out is not None
    cluster = cluster.changed(scale_out__kernel_post_time=None)
    copy = {"kind": "copy", "executor": "nic", "bytes": SIZE, "peer": 8, "gpus": "all"}
    copy |= {"posted": "serial", "after": ["kernel.tiles[50%]"]}
    with pytest.raises(InputErrors, match=r"gives no scale_out\.kernel_post_time"):
        run(cluster, kernel=KERNEL, put=copy)


def test_stores_at_peers_need_peers_and_a_known_policy() -> None:
    with pytest.raises(InputErrors, match="stores at peers on 1 GPU"):
        run(PAIR, kernel={**KERNEL, "results": "peers"})
    with pytest.raises(InputErrors, match="store policy"):
        run(NODE, kernel={**KERNEL, "results": "peers", "policy": "cached"})

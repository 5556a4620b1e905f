"""A schedule of kind tiles: one GEMM whose tiles release the copies to their owners."""

from __future__ import annotations

from typing import Any

import pytest

from c3sim.errors import InputError
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node, parse_workload
from c3sim.spec.schedules import expanded
from c3sim.spec.workload import Copy, Workload

MESH = load_node("mi300x-8")
SWITCH = load_node("h200-4")


def pair(
    schedule: dict[str, Any] | None,
    node: Node = MESH,
    op: str = "reduce_scatter",
    backend: str = "dma",
) -> Workload:
    """8192 x 8192 results of 16 bit: 128 MiB."""
    move = {"kind": "collective", "op": op, "size": 2**27, "backend": backend, "after": ["gemm"]}
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 2048}
    document = {"schema": 1, "name": "pair", "node": node.name}
    document |= {"tasks": {"gemm": gemm, "scatter": move}}
    return parse_workload(document | ({"schedule": schedule} if schedule else {}))


def test_tasks() -> None:
    """A copy for each of seven peers behind the tiles that belong to it, and the sum of parts."""
    found = expanded(pair({"kind": "tiles", "order": "remote_first"}), MESH).tasks
    copies = {name: task for name, task in found.items() if isinstance(task, Copy)}
    assert list(copies) == [f"scatter-{peer}" for peer in range(1, 8)]
    assert [copy.after for copy in copies.values()] == [
        (f"gemm.tiles[peer {peer}]",) for peer in range(1, 8)
    ]
    assert sum(copy.bytes for copy in copies.values()) == 7 / 8 * 2**27
    gemm, added = found["gemm"], found["scatter-add"]
    assert (gemm.order, gemm.m, added.after) == ("remote_first", 8192, (*copies, "gemm"))


def test_posted_copies_have_no_stream() -> None:
    found = expanded(pair({"kind": "tiles", "posted": "serial"}), MESH).tasks
    assert {task.stream for task in found.values() if isinstance(task, Copy)} == {None}


def end(node: Node, schedule: dict[str, Any] | None, **how: Any) -> float:
    return simulate(node, pair(schedule, node, **how)).end


@pytest.mark.parametrize("node", [MESH, SWITCH], ids=["mesh", "switch"])
def test_staggered_copies_hide_behind_the_tiles_of_other_owners(node: Node) -> None:
    """An owner's tiles leave while the next one's are made. Mixed, all leave at the end."""
    how = {"op": "all_to_all"}
    whole = end(node, None, **how)
    staggered = end(node, {"kind": "tiles", "order": "staggered"}, **how)
    mixed = end(node, {"kind": "tiles", "order": "mixed"}, **how)
    assert staggered < 0.97 * whole
    assert mixed == pytest.approx(whole, rel=0.05)


def test_by_owner_all_gpus_send_to_the_same_one() -> None:
    """Behind a switch three copies of a step share one port, so the last parts come later."""
    staggered = end(SWITCH, {"kind": "tiles", "order": "staggered"}, op="all_to_all")
    by_owner = end(SWITCH, {"kind": "tiles", "order": "by_owner"}, op="all_to_all")
    assert by_owner > 1.02 * staggered


@pytest.mark.parametrize(
    ("schedule", "how", "message"),
    [
        ({"kind": "tiles", "pieces": 2}, {}, "leave out pieces"),
        ({"kind": "pieces", "order": "mixed"}, {}, "leave out order"),
        ({"kind": "shards", "posted": "serial"}, {"op": "all_to_all"}, "leave out posted"),
        ({"kind": "tiles"}, {"op": "all_reduce"}, "belong to every rank"),
        ({"kind": "tiles"}, {"backend": "rccl"}, "needs backend dma"),
    ],
)
def test_mistakes(schedule: dict[str, Any], how: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        expanded(pair(schedule, **how), MESH)

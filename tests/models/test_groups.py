"""Collectives in groups of GPUs: who is in which, which links they use, what they take."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import workload_of

from c3sim.errors import InputErrors
from c3sim.models.groups import Group, span_of
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import payload_bytes


def workload(**tasks: dict[str, Any]) -> Workload:
    whole = {
        name: {"kind": "collective", "op": "all_gather", "size": "256 MiB", **fields}
        for name, fields in tasks.items()
    }
    return workload_of(whole)


def wall(node: str, fold: bool | None = None, **tasks: dict[str, Any]) -> float:
    return simulate(load_node(node), workload(**tasks), fold=fold).end


def test_members_by_hand() -> None:
    assert Group(4).members(5) == (4, 5, 6, 7)
    assert Group(4, 2).members(5) == (1, 3, 5, 7)
    assert Group(2, 4).members(5) == (1, 5)
    assert Group(4).peer(6, 3) == 5  # 6 is number 2 of its group; 2 + 3 = 1 mod 4


@pytest.mark.parametrize("op", ["all_gather", "all_reduce", "all_to_all"])
def test_a_group_on_a_switch_is_as_a_node_of_its_size(op: str) -> None:
    """Four of eight H200 have a port each, as the four of a smaller node have."""
    group = wall("h200-8", one={"op": op, "group": 4, "algorithm": None})
    assert group == pytest.approx(wall("h200-4", one={"op": op}), rel=1e-9)


def test_a_group_on_a_mesh_uses_its_own_links_only() -> None:
    """An all-gather of S sends 3/4 S over 3 links instead of 7/8 S over 7: twice the bytes on each;
    of pairs 1/2 S over one: four times.
    """
    eight, four, two = (wall("mi300x-8", one={"group": size}) for size in (8, 4, 2))
    assert four / eight == pytest.approx(2, rel=0.1)
    assert two / eight == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("node", ["mi300x-8", "h200-8"])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("fields", [{}, {"op": "all_reduce"}, {"op": "all_to_all"}])
def test_one_gpu_stands_for_all_groups(node: str, stride: int, fields: dict[str, Any]) -> None:
    """Also where two kinds of groups run at once, as in a mesh."""
    tasks = {"row": {"group": 4, "stride": stride, **fields}, "column": {"group": 2, "stride": 4}}
    one = tasks if stride == 1 else {"row": tasks["row"]}
    assert wall(node, True, **one) == pytest.approx(wall(node, False, **one), rel=1e-9)


def test_rows_and_columns_of_a_mesh_use_disjoint_links() -> None:
    """They still share memory: with links of 1/10 they do not disturb each other."""
    node = load_node("mi300x-8")
    slow = node.changed(links__bandwidth=5e9)

    def end(**tasks: dict[str, Any]) -> float:
        return simulate(slow, workload(**tasks)).end

    row, column = {"group": 4, "channels": 8}, {"group": 2, "stride": 4, "channels": 8}
    together = end(row=row, column=column)
    assert together == pytest.approx(max(end(row=row), end(column=column)), rel=0.02)
    assert end(one=row, other=row) > 1.7 * end(row=row)  # the same links, nearly full with one


def test_engines_copy_inside_the_group() -> None:
    """One copy to each of three peers, of a quarter instead of an eighth."""
    whole = wall("mi300x-8", one={"backend": "dma"})
    assert wall("mi300x-8", one={"backend": "dma", "group": 4}) / whole == pytest.approx(2, rel=0.1)


def test_payload_of_groups() -> None:
    """(4 - 1)/4 of the size on each of eight GPUs."""
    task = workload(one={"group": 4}).tasks["one"]
    node = load_node("h200-8")
    assert payload_bytes(node, task) == pytest.approx(8 * 0.75 * 256 * 2**20)


def test_a_gpu_of_every_node() -> None:
    """Groups along the rails of a cluster use NICs alone; a whole cluster's group is no group."""
    node = load_node("mi300x-cluster")
    rails = workload(one={"group": node.nodes, "stride": node.gpus})
    check_on_node(rails, node)
    assert simulate(node, rails).end > 0
    inside = workload(one={"group": node.gpus})
    check_on_node(inside, node)
    alone = wall("mi300x-8", one={})
    assert simulate(node, inside).end == pytest.approx(alone, rel=1e-6)


BY_ENGINES = {"backend": "dma"}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"op": "all_reduce"},
        {"op": "all_to_all"},
        BY_ENGINES,
        {"op": "all_to_all", **BY_ENGINES},
    ],
)
def test_a_group_of_two_nodes_is_as_a_cluster_of_two(fields: dict[str, Any]) -> None:
    """All 8 groups use NICs and links of their own; one leaf holds all nodes."""
    node = load_node("mi300x-cluster")
    assert node.scale_out is not None
    two = node.changed(scale_out__nodes=2)
    alone = simulate(two, workload(one=fields)).end
    assert wall("mi300x-cluster", one={"group": 16, **fields}) == pytest.approx(alone, rel=1e-9)


def test_engines_have_nothing_to_copy_along_a_rail() -> None:
    """An all-gather of S among 4 of 16 nodes sends 3/4 S by the own NIC: of 256 MiB, at 0.97 of 50
    GB/s, 4.151 ms; latency and posts are some tens of us.
    """
    took = wall("mi300x-cluster", one={"group": 4, "stride": 8, **BY_ENGINES})
    assert took == pytest.approx(0.75 * 2**28 / (0.97 * 50e9), rel=0.02)
    inside = wall("mi300x-cluster", one={"group": 8, **BY_ENGINES})
    assert inside == pytest.approx(wall("mi300x-8", one=BY_ENGINES), rel=1e-9)


def test_where_the_members_of_a_group_are() -> None:
    """By hand, 16 nodes of 8: two of a node in each of four nodes; every other node of a rail."""
    node = load_node("mi300x-cluster")
    assert span_of(node, Group(8, 4)) == (Group(2, 4), Group(4, 1))
    assert span_of(node, Group(4, 16)) == (Group(1), Group(4, 2))
    assert span_of(node, Group(4, 2)) == (Group(4, 2), Group(1))


@pytest.mark.parametrize("fields", [{"op": "all_reduce"}, {"op": "all_to_all"}, {}, BY_ENGINES])
@pytest.mark.parametrize("shape", [(4, 1), (4, 2), (2, 4), (2, 2)], ids=str)
def test_one_gpu_stands_for_all_groups_across_nodes(
    shape: tuple[int, int], fields: dict[str, Any]
) -> None:
    """Two nodes of four on a full mesh: both nodes, two of each, one of each; pairs in a node."""
    node = load_node("teaching-cluster")
    node = node.changed(links__topology="full_mesh", gpus=4)
    group, stride = shape
    found = workload(one={"group": group, "stride": stride, "size": "4 MiB", **fields})
    check_on_node(found, node)
    one, all_of_them = (simulate(node, found, fold=fold).end for fold in (True, False))
    assert one == pytest.approx(all_of_them, rel=1e-9)


@pytest.mark.parametrize(
    ("node", "fields", "message"),
    [
        ("h200-8", {"group": 3}, "groups of 3 GPUs, 1 apart, do not divide the 8 GPUs"),
        ("h200-8", {"group": 4, "stride": 4}, "4 apart"),
        ("h200-8", {"group": 1}, "at least 2"),
        ("h200-8", {"stride": 2}, "give group too"),
        ("teaching-4", {"group": 2}, "is a ring"),
        ("mi300x-cluster", {"group": 12}, "do not divide the 16 nodes of 8 GPUs"),
        ("mi300x-cluster", {"group": 4, "stride": 12}, "do not divide the 16 nodes of 8 GPUs"),
    ],
)
def test_groups_that_are_none(node: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputErrors, match=message):
        check_on_node(workload(one=fields), load_node(node))

"""Groups of GPUs that each have a collective of their own at the same time.

Groups of s GPUs, t apart, divide all GPUs as the axes of a device mesh do: GPU g is number
j = (g div t) mod s of its group, which begins at g - j t. All groups do the same, so that one GPU
can stand for all: renumbered by place in their groups, the GPUs of a full mesh or a switch are
alike. Two groups use no link of each other's: a group uses the links between its members only.

On N nodes of n GPUs a group is m members in each of some nodes: one (t >= n, on the rails), all
(s t <= n), or m = n / t in s / m nodes. What goes between nodes stays on the rails of its members,
and all groups share the network.
"""

from __future__ import annotations

from typing import NamedTuple

from c3sim.models.capacity import Port
from c3sim.models.links import Hop
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Collective


class Group(NamedTuple):
    """*size* GPUs, *stride* apart."""

    size: int
    stride: int = 1

    def place(self, gpu: int) -> int:
        """The number of *gpu* in its group."""
        return gpu // self.stride % self.size

    def peer(self, gpu: int, further: int) -> int:
        """The GPU so many places *further* round the group of *gpu*."""
        place = self.place(gpu)
        return gpu + ((place + further) % self.size - place) * self.stride

    def members(self, gpu: int) -> tuple[int, ...]:
        """The group of *gpu*, in order."""
        first = gpu - self.place(gpu) * self.stride
        return tuple(first + number * self.stride for number in range(self.size))

    def hop(self, gpus: int, gpu: int, hop: Hop) -> Hop:
        """*hop* of GPU 0, translated to *gpu* of *gpus* GPUs."""
        offset, port = hop
        where = self.peer(gpu, offset // self.stride)
        if port.number is None:
            return where, port
        to = self.peer(gpu, port.number // self.stride)
        return where, port._replace(number=(to - gpu) % gpus)

    def back(self, port: Port) -> Port:
        """The port of GPU 0 that stands for the one its peer through *port* answers by."""
        assert port.number is not None  # ports of a switch are their own pair
        return port._replace(number=(self.size - port.number // self.stride) * self.stride)


def group_of(node: Node, task: Collective) -> Group | None:
    """The groups of *task*; None: all GPUs together."""
    if task.group is None or task.group == node.ranks:
        return None
    return Group(task.group, task.stride)


class Span(NamedTuple):
    """Members of a group *inside* each of its nodes, and its nodes (*between*)."""

    inside: Group
    between: Group

    @property
    def size(self) -> int:
        return self.inside.size * self.between.size


def span_of(node: Node, group: Group | None) -> Span:
    """Members of *group* (None: all GPUs) in a node, and its nodes, so many apart."""
    gpus = node.gpus
    if group is None:
        return Span(Group(gpus), Group(node.nodes))
    size, stride = group
    if stride >= gpus:
        return Span(Group(1), Group(size, stride // gpus))
    if size * stride <= gpus:
        return Span(Group(size, stride), Group(1))
    inside = gpus // stride
    return Span(Group(inside, stride), Group(size // inside))


def divides(node: Node, group: Group) -> bool:
    """True if every group of such has as many members in each of its nodes."""
    size, stride = group
    if node.ranks % (size * stride):
        return False
    inside, between = span_of(node, group)
    if inside.size == 1:
        return stride % node.gpus == 0
    return node.gpus % (inside.size * inside.stride) == 0 and inside.size * between.size == size


def ranks_in(node: Node, task: Collective) -> int:
    """GPUs that *task* is among."""
    group = group_of(node, task)
    return node.ranks if group is None else group.size

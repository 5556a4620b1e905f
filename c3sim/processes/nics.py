"""Transfers between nodes that a program posts to NICs itself: copies, and the part of a collective
on DMA engines that leaves the node.

A host thread posts one transfer after another. What one task posts on one GPU moves in order, read
from and written to GPU memory by the NICs, and is seen at the other end the network's latency
later; the transfer behind it does not wait for that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from c3sim.machine.state import Asked
from c3sim.machine.traffic import Traffic
from c3sim.models.capacity import POSTS
from c3sim.models.groups import Span, span_of
from c3sim.models.network import (
    Draw,
    Peers,
    hop_latency,
    mirrored,
    network,
    nic_rate,
    point_to_point,
    same_leaf,
)
from c3sim.processes.plan import Context
from c3sim.spec.hardware import Node
from c3sim.spec.task import Posting
from c3sim.spec.workload import Copy

#: Work requests of a put by a kernel: the bytes, then a flag that the queue keeps behind them.
PUT_AND_FLAG = 2


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes to other nodes; traffic is per byte."""

    size: float
    draws: tuple[Draw, ...]
    latency: float  # s until it is seen
    posts: int = 1  # work requests it takes
    arriving: float = 1.0  # bytes written here
    remote: tuple[tuple[int, float, float], ...] = ()  # (GPU, bytes read there, written there)


class NicQueue:
    """Posts of *task* on *gpu*."""

    def __init__(self, context: Context, task: str, gpu: int):
        self.context, self.task, self.gpu = context, task, gpu
        self._waiting: deque[tuple[Transfer, Callable[[], None]]] = deque()
        self._busy = False

    def post(self, transfer: Transfer, arrived: Callable[[], None]) -> None:
        """The host thread posts it; *arrived()* when it is seen at the other end."""
        time = transfer.posts * network(self.context.node).post_time
        self.context.poster(self.gpu, self.task).do(time, partial(self._posted, transfer, arrived))

    def put(self, transfer: Transfer, posting: Posting, arrived: Callable[[], None]) -> float:
        """Workgroups put it, and a flag behind it, without a host; *arrived()* when the flag is
        seen. Seconds until they have: one of them (serial), or one for each peer (lanes).
        """
        each = network(self.context.node).kernel_post_time or 0.0  # given (checked on input)
        each *= POSTS not in self.context.machine.private
        time = PUT_AND_FLAG * each * (transfer.posts if posting == "serial" else 1)
        self.context.once_past(time, partial(self._posted, transfer, arrived))
        return time

    def _posted(self, transfer: Transfer, arrived: Callable[[], None]) -> None:
        self._waiting.append((transfer, arrived))
        if not self._busy:
            self._next()

    def _next(self) -> None:
        self._busy = bool(self._waiting)
        if not self._waiting:
            return
        transfer, arrived = self._waiting.popleft()
        begun = self.context.env.now

        def moved(_flow: object) -> None:
            self.context.span(self.gpu, "nic", self.task, self.task, begun, bytes=transfer.size)
            self.context.after(transfer.latency, arrived)
            self._next()

        here = 1.0 + transfer.arriving
        traffic = Traffic(
            cache=here,
            hbm_read=1.0,
            hbm_write=transfer.arriving,
            inserted=here,
            network=transfer.draws,
            remote=transfer.remote,
            together=bool(transfer.arriving),
        )
        asked = Asked(self.gpu, nic_rate(self.context.node), traffic)
        self.context.machine.flow(self.task, asked, transfer.size, moved, f"{self.task}:network")


def to_all(node: Node, gpu: int, size: float, peers: Peers, span: Span | None = None) -> Transfer:
    """*size* bytes that every GPU sends in equal parts to its rail, or to all other nodes, of its
    group's *span* (None: of all).
    """
    inside, between = span or span_of(node, None)
    posts = (between.size - 1) * (1 if peers == "rail" else inside.size)
    draws = mirrored(node, gpu, peers, 1.0, span)
    return Transfer(size, draws, hop_latency(node, peers, span), posts)


def copy_transfer(node: Node, gpu: int, task: Copy) -> Transfer:
    """A copy to a GPU of another node."""
    peer, wide = node.peer(gpu, task.peer), network(node)
    latency = wide.latency + (0.0 if same_leaf(node, gpu, peer) else wide.spine_latency)
    draws = point_to_point(node, gpu, peer, 1.0)
    if task.gpus == "all":  # as much arrives here
        return Transfer(task.bytes, draws, latency)
    return Transfer(task.bytes, draws, latency, arriving=0.0, remote=((peer, 0.0, 1.0),))

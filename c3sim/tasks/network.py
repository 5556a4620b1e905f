"""Between nodes without compute units: copies by NICs, and collectives for which engines copy
inside each node and NICs between nodes.

``all_gather``   each GPU's part goes to the same GPU of every node by its NIC. What has arrived,
                 and at once the own part, goes to the GPUs of the node by engines
``all_to_all``   ``hierarchical``: everything for a rail goes to the GPU on that rail by engines,
                 then to the nodes by its NIC. ``direct``: straight to every GPU of other nodes by
                 the own NIC, inside the node by engines

The message is cut into parts, so that engines and NICs work at once; a part goes on when it has
arrived on every GPU. The number of parts is the power of two with the smallest estimate, time in
both halves against the cost of submission.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from c3sim.models.groups import group_of, span_of
from c3sim.models.links import rate_both_ways
from c3sim.models.network import network, shared_rate
from c3sim.processes.dma.commands import program_steps
from c3sim.processes.dma.host import DmaHost
from c3sim.processes.nics import NicQueue, to_all
from c3sim.processes.plan import Context, Turn
from c3sim.processes.signals import Callback, countdown
from c3sim.spec.hardware import Node
from c3sim.spec.task import Posting
from c3sim.spec.workload import Collective, Copy
from c3sim.tasks.engine_collective import ByEngines, collective_program
from c3sim.tasks.on_engines import stall


def parts_of(node: Node, task: Collective) -> int:
    """Parts of *task*: its own choice, or those with the smallest

    max(halves) + min(halves) / parts + parts x submission.
    """
    inside, between = span_of(node, group_of(node, task))
    wide, gpus, nodes = network(node), inside.size, between.size
    if task.pipeline or _direct(task) or gpus == 1:
        return task.pipeline or 1
    remote = (nodes - 1) / nodes * task.size
    by_nic = (remote / gpus if task.op == "all_gather" else remote) / shared_rate(node)
    engines = min(rate_both_ways(node.links), node.gpu.dma_engines.bandwidth)
    by_engine = task.size / gpus / engines
    submission = (gpus - 1) * node.host.copy_time + (nodes - 1) * wide.post_time
    counts = [1 << power for power in range(wide.pipeline.bit_length())]
    long, short = max(by_nic, by_engine), min(by_nic, by_engine)
    return min(counts, key=lambda parts: long + short / parts + parts * submission)


def _direct(task: Collective) -> bool:
    return task.op == "all_to_all" and task.algorithm == "direct"


class EngineCollective:
    """One run of a collective by the GPUs of a group; :meth:`submit` once for each."""

    def __init__(self, context: Context, planned: AcrossNodes, ranks: int):
        self.context, self.dma = context, context.part(DmaHost)
        self.name, self.task, self.queue = planned.name, planned.task, planned.queue
        self.span, self.ranks = span_of(context.node, group_of(context.node, self.task)), ranks
        self.parts = parts_of(context.node, self.task)
        self._landed = [0] * self.parts
        self._then: list[list[Callback]] = [[] for _ in range(self.parts)]

    def submit(self, gpu: int, done: Callback) -> None:
        """Submit the transfers of *gpu* to engines and NIC; call *done()* when all it sends has
        arrived.
        """
        node, task, nic = self.context.node, self.task, NicQueue(self.context, self.name, gpu)
        span, inside, nodes = self.span, self.span.inside.size, self.span.between.size
        remote = (nodes - 1) / nodes * task.size  # to send, or to pass on, to other nodes
        if _direct(task):
            ended = countdown(2, done)
            nic.post(to_all(node, gpu, remote, "all", span), ended)
            self._copies(gpu, task.size / nodes, ended)
        elif task.op == "all_gather":
            ended = countdown(self.parts + 1, done)
            for part in range(self.parts):
                self._then[part].append(partial(self._copies, gpu, remote / self.parts, ended))
                nic.post(
                    to_all(node, gpu, remote / inside / self.parts, "rail", span),
                    partial(self._land, part),
                )
            self._copies(gpu, task.size / nodes, ended)
        else:
            ended = countdown(self.parts, done)
            for part in range(self.parts):
                transfer = to_all(node, gpu, remote / self.parts, "rail", span)
                self._then[part].append(partial(nic.post, transfer, ended))
                self._copies(gpu, task.size / self.parts, partial(self._land, part))

    def put(self, gpu: int, posting: Posting, done: Callback) -> float:
        """Post packets as :meth:`submit` does, by workgroups that put each other node's part of a
        direct all-to-all. Seconds in which they do.
        """
        size = self.task.size * (1.0 - 1.0 / self.span.size)
        transfer = to_all(self.context.node, gpu, size, "all", self.span)
        return NicQueue(self.context, self.name, gpu).put(transfer, posting, done)

    def _copies(self, gpu: int, size: float, done: Callback) -> None:
        """To each other GPU of the group in the node size / g, if there are any."""
        if self.span.inside.size == 1:
            done()
            return
        part, context, name = self.task.changed(size=size), self.context, self.name
        program = collective_program(context.node, gpu, part)
        steps = program_steps(context, name, gpu, program, mirrored=True, queue=self.queue)
        self.dma.submit(name, gpu, steps, done)

    def _land(self, part: int) -> None:
        """*part* has arrived from one more GPU; from the last one it goes on everywhere."""
        self._landed[part] += 1
        if self._landed[part] == self.ranks:
            for then in self._then[part]:
                then()


class AcrossRuns:
    """The collectives under way in one run, by task and repeat."""

    def __init__(self, context: Context):
        self.context = context
        self._runs: dict[tuple[str, int, int], EngineCollective] = {}

    def joined(self, planned: AcrossNodes, turn: Turn) -> EngineCollective:
        """The one that *turn* is part of, with as many of its GPUs as are simulated."""
        group, ranks = group_of(self.context.node, planned.task), self.context.machine.gpus
        if group is not None:
            ranks = tuple(gpu for gpu in group.members(turn.gpu) if gpu in ranks)
        key = planned.name, turn.repeat, ranks[0]
        if key not in self._runs:
            self._runs[key] = EngineCollective(self.context, planned, len(ranks))
        return self._runs[key]


@dataclass(frozen=True, kw_only=True, eq=False)
class AcrossNodes(ByEngines):
    """A collective over several nodes."""

    @property
    def ahead(self) -> bool:
        """Parts go on when they have arrived."""
        return False

    def submit(self, context: Context, turn: Turn, done: Callback) -> None:
        run = context.part(AcrossRuns).joined(self, turn)
        turn.detail["parts"] = run.parts
        if self.task.posted is None:
            run.submit(turn.gpu, done)
        else:
            stall(context, self, turn.gpu, run.put(turn.gpu, self.task.posted, done))


def copies_alike(node: Node, task: Copy) -> bool:
    """True if every GPU does a copy by its NIC, and sees the same network as it does. A copy to
    another place of its node stays on its leaf for some GPUs and crosses the spine for others, as
    NICs are shared.
    """
    wide = node.scale_out
    one_leaf = wide is None or node.nodes <= wide.nodes_per_leaf
    return task.gpus == "all" and one_leaf and task.peer % node.gpus == 0

"""A pair as PyTorch's operators over symmetric memory run it: ``fused_all_gather_matmul`` and
``fused_matmul_reduce_scatter``. One shard of rows is a step; engines pull, two streams take turns.

all-gather      barrier, the own shard into the buffer that peers read, barrier; the own rows' GEMM;
                each other shard is pulled, then its rows' GEMM; the own shard into the gathered
                operand; barrier
reduce-scatter  barrier; each peer's rows' GEMM, barrier, a pull of the peer's part, barrier; the
                own rows' GEMM; barrier; a kernel adds the parts

A barrier is a kernel of one warp; GPUs come to it at the same time here. What the own stream runs
first of a reduce-scatter is kept back by a kernel that sleeps, so that a peer's rows come first.

Source: ``torch/distributed/_symmetric_memory/__init__.py`` of PyTorch 2.11,
``_pipelined_multi_all_gather_and_consume`` and ``_pipelined_produce_and_all2all``.
"""

from __future__ import annotations

from dataclasses import replace

from c3sim.errors import InputError
from c3sim.schedules.cuts import piece
from c3sim.schedules.moves import addition, peer_copy, placed
from c3sim.schedules.pair import WHERE, Pair
from c3sim.specs.hardware import Node
from c3sim.specs.kernel import Kernel
from c3sim.specs.operators import SymmetricMemory
from c3sim.specs.workload import Copy, Task


def costs_of(node: Node) -> SymmetricMemory:
    """Raises InputError where the GPU's file has none."""
    operators = node.gpu.operators
    if operators is None or operators.symmetric_memory is None:
        needed = "gpu.operators.symmetric_memory, which a micro_pipeline needs"
        raise InputError(f"{node.name} has no {needed}", WHERE)
    return operators.symmetric_memory


class MicroPipeline:
    """The tasks of *pair*, those without an ``after`` behind the one before them in their stream;
    *before*: what the pair waits for; *ends*: the tasks whose end is its own.
    """

    def __init__(self, pair: Pair, node: Node, before: list[str]):
        pull = pair.move.model_copy(update={"direction": "pull"})
        self.pair, self.node, self.costs = replace(pair, move=pull), node, costs_of(node)
        self.before = before
        self.compute = pair.work.stream or "compute"
        self.tasks: dict[str, Task] = {}
        if pair.feeds:
            self._all_gather()
        else:
            self._reduce_scatter()
        self.ends = [next(reversed(self.tasks))]

    def _all_gather(self) -> None:
        name, ranks = self.pair.collective, self.pair.ranks
        self._warp(f"{name}-begin", 0, self.costs.barrier, *self.before)
        self._own_shard(f"{name}-shared", 0)
        self._warp(f"{name}-ready", 0, self.costs.barrier)
        self._gemm(0, 0)
        side = ""
        for step in range(1, ranks):
            waits = [f"{name}-ready"] if step == 1 else []
            self._pull(step, step, step % 2, waits)
            side = self._gemm(step, step % 2) if step % 2 else side
            if not step % 2:
                self._gemm(step, 0)
        kept = self._own_shard(f"{name}-gathered", ranks % 2)
        self._warp(f"{name}-end", 0, self.costs.barrier, kept if ranks % 2 else side)

    def _reduce_scatter(self) -> None:
        name, ranks = self.pair.collective, self.pair.ranks
        barrier = self.costs.barrier
        self._warp(f"{name}-begin", 0, barrier, *self.before)
        side = ""
        for step in range(1, ranks):
            turn = step % 2
            if step == 2:
                self._warp(f"{name}-sleep", 0, self.costs.sleep)
            self._gemm(step, turn, *([f"{name}-begin"] if step == 1 else []))
            self._warp(f"{name}-made-{step}", turn, barrier)
            self._pull(step, ranks - step, turn, [])
            read = self._warp(f"{name}-read-{step}", turn, barrier)
            side = read if turn else side
        if ranks == 2:
            self._warp(f"{name}-sleep", 0, self.costs.sleep)
        self._gemm(0, 0)
        self._warp(f"{name}-end", 0, barrier, side)
        parts = addition(self.pair, 1)
        self._add(f"{name}-sum", 0, parts.model_copy(update={"stream_efficiency": self.costs.sum}))

    def _warp(self, name: str, turn: int, time: float, *after: str) -> str:
        """A kernel of one warp, which fits beside any other."""
        most = self.node.gpu.compute_units.waves
        one = Kernel(kind="kernel", time=time, workgroups=1, per_unit=most, lds=0.0)
        return self._add(name, turn, one, *after)

    def _own_shard(self, name: str, turn: int) -> str:
        """A copy of the own shard within the GPU, by a kernel."""
        size = self.pair.move.size / self.pair.ranks
        copy = Copy(kind="copy", bytes=size, destination="gpu", executor="kernel", gpus="all")
        return self._add(name, turn, copy)

    def _pull(self, step: int, peer: int, turn: int, after: list[str]) -> None:
        copy = peer_copy(self.pair, self.node, peer, 1)
        self._add(f"{self.pair.collective}-{step}", turn, copy, *after)

    def _gemm(self, step: int, turn: int, *after: str) -> str:
        work = piece(self.pair, 1, 0, begun=step > 0, own=True)
        return self._add(f"{self.pair.gemm}-{step}", turn, work, *after)

    def _add(self, name: str, turn: int, task: Task, *after: str) -> str:
        stream = f"{self.compute}-{turn}" if turn else self.compute
        self.tasks[name] = placed(task, stream, list(after))
        return name

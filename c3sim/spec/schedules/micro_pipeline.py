"""A pair as PyTorch's operators over symmetric memory run it: ``fused_all_gather_matmul`` and
``fused_matmul_reduce_scatter``. One shard of rows is a step; engines pull, two streams take turns.

all-gather      barrier, the own shard into the buffer that peers read, barrier; the own rows' GEMM;
                each other shard is pulled, then its rows' GEMM; the own shard into the gathered
                operand; barrier
reduce-scatter  barrier; each peer's rows' GEMM, barrier, a pull of the peer's part, barrier; the
                own rows' GEMM; barrier; a kernel adds the parts

A barrier is a kernel of one warp; GPUs come to it at the same time here. Of a reduce-scatter, a
kernel that sleeps keeps back the first GEMM of the own stream, so that a peer's rows come first.

Source: ``torch/distributed/_symmetric_memory/__init__.py`` of PyTorch 2.11,
``_pipelined_multi_all_gather_and_consume`` and ``_pipelined_produce_and_all2all``.
"""

from __future__ import annotations

from dataclasses import replace

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.operators import SymmetricMemory
from c3sim.spec.schedules.pair import WHERE, Pair
from c3sim.spec.schedules.pieces import addition, own_shard, peer_copy, piece, placed
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Task


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
        pull = pair.move.changed(direction="pull")
        self.pair, self.node, self.costs = replace(pair, move=pull), node, costs_of(node)
        self.before = before
        self.compute = pair.work.stream or "compute"
        self.tasks: dict[str, Task] = {}
        self.last: dict[int, str] = {}  # of the own stream (0) and of the one at the side (1)
        if pair.feeds:
            self._all_gather()
        else:
            self._reduce_scatter()
        self.ends = [next(reversed(self.tasks))]

    def _all_gather(self) -> None:
        name, ranks = self.pair.collective, self.pair.ranks
        self._barrier("begin", 0, *self.before)
        self._add(f"{name}-shared", 0, own_shard(self.pair))
        ready = self._barrier("ready", 0)
        self._gemm(0, 0)
        for step in range(1, ranks):
            self._pull(step, step, *([ready] if step == 1 else []))
            self._gemm(step, step % 2)
        self._add(f"{name}-gathered", ranks % 2, own_shard(self.pair))
        self._barrier("end", 0, self.last[1])

    def _reduce_scatter(self) -> None:
        name, ranks = self.pair.collective, self.pair.ranks
        begin = self._barrier("begin", 0, *self.before)
        for step in range(1, ranks):
            if step == 2:
                self._sleep()
            self._gemm(step, step % 2, *([begin] if step == 1 else []))
            self._barrier(f"made-{step}", step % 2)
            self._pull(step, ranks - step)
            self._barrier(f"read-{step}", step % 2)
        if ranks == 2:
            self._sleep()
        self._gemm(0, 0)
        self._barrier("end", 0, self.last[1])
        parts = addition(self.pair, 1)
        self._add(f"{name}-sum", 0, parts.changed(stream_efficiency=self.costs.sum))

    def _barrier(self, what: str, turn: int, *after: str) -> str:
        return self._warp(f"{self.pair.collective}-{what}", turn, self.costs.barrier, *after)

    def _sleep(self) -> None:
        self._warp(f"{self.pair.collective}-sleep", 0, self.costs.sleep)

    def _warp(self, name: str, turn: int, time: float, *after: str) -> str:
        """A kernel of one warp, which fits beside any other."""
        most = self.node.gpu.compute_units.waves
        one = Kernel(kind="kernel", time=time, workgroups=1, per_unit=most, lds=0.0)
        return self._add(name, turn, one, *after)

    def _pull(self, step: int, peer: int, *after: str) -> None:
        copy = peer_copy(self.pair, self.node, peer, 1)
        self._add(f"{self.pair.collective}-{step}", step % 2, copy, *after)

    def _gemm(self, step: int, turn: int, *after: str) -> None:
        work = piece(self.pair, 1, 0, begun=step > 0, own=True)
        self._add(f"{self.pair.gemm}-{step}", turn, work, *after)

    def _add(self, name: str, turn: int, task: Task, *after: str) -> str:
        stream = f"{self.compute}-{turn}" if turn else self.compute
        self.tasks[name] = placed(task, stream, list(after))
        self.last[turn] = name
        return name

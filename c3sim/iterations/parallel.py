"""Collectives of data parallelism, and what waits for them, as PyTorch has them.

``ddp`` (torch.nn.parallel.DistributedDataParallel): gradients are copied into buckets as the
backward pass completes them; a full bucket is reduced beside the rest of the pass. The first bucket
is full at 1 MiB. Behind the pass each gradient is copied back out of its bucket, once that is
reduced, unless gradients are views of the buckets.

``fsdp`` (torch.distributed.fsdp.fully_shard): the weights of a unit are copied into one buffer,
gathered, and copied out in front of its operators. A gather waits until the copy-out of the unit so
many before it has freed a buffer. Gradients are copied into one buffer behind the unit and
reduce-scattered; the next unit's copy waits for that. Embedding and head are one unit, gathered
once. Where shards have replicas (HSDP), gradients are all-reduced behind that, which the optimizer
waits for. Experts that are dealt to GPUs are gathered among those that have the same. What the host
does for these copies is in ``gather_time`` and ``reduce_time``.
"""

from __future__ import annotations

from c3sim.iterations.builder import COPIES, Builder
from c3sim.iterations.mesh import Mesh
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Op, Step
from c3sim.iterations.units import Unit
from c3sim.spec.host import HostCall
from c3sim.spec.iteration import Ddp

#: torch.distributed: the first bucket, so that communication begins early.
FIRST_BUCKET = 2.0**20
EXPERTS = "replicas of experts"  # of the groups of a mesh
ROOT = -1  # stands for embedding and head, one unit


class Replicas:
    """Nothing is exchanged between replicas; the base of those that do."""

    def ways(self, step: Op) -> int:
        """Parts of the parameters of *step*, one of which this GPU updates."""
        return 1

    def begin(self, builder: Builder, order: list[Unit]) -> None:
        """Before the forward pass over the units in *order*."""

    def before(self, builder: Builder, index: int, *, backward: bool) -> None:
        """Before the operators of unit *index* of the forward order."""

    def after(self, builder: Builder, index: int, *, backward: bool) -> None:
        """Behind them."""

    def ready(self, builder: Builder, name: str, step: Step) -> None:
        """Behind an operator of the backward pass, the task *name*."""

    def end(self, builder: Builder) -> None:
        """Behind the backward pass."""


class Buckets(Replicas):
    """Distributed data parallel. Gradients of experts that are dealt to GPUs are added up, in
    buckets of their own, among the *copies* of each.
    """

    def __init__(self, ddp: Ddp, operators: OperatorSet, *, copies: int = 1):
        self.ddp, self.o, self.copies = ddp, operators, copies
        self.filled = {"data": 0.0, EXPERTS: 0.0}
        self.number = {"data": 0, EXPERTS: 0}
        self.sizes: dict[str, list[int]] = {"data": [], EXPERTS: []}
        self.sent: list[tuple[str, list[int]]] = []  # the collective, sizes of what it reduces

    def ready(self, builder: Builder, name: str, step: Step) -> None:
        if not isinstance(step, Op):
            return
        if step.dealt and self.copies == 1:  # they stay where they are
            return
        among = EXPERTS if step.dealt else "data"
        for number, size in enumerate(step.gradients):
            builder.compute(name, self._copied(f"into-bucket{number or ''}", size))
            self.sizes[among].append(size)
            self.filled[among] += size * self.o.kept
            most = self.ddp.bucket if self.number[among] else FIRST_BUCKET
            if self.filled[among] >= most:
                self._send(builder, among)

    def end(self, builder: Builder) -> None:
        for among, filled in self.filled.items():
            if filled:
                self._send(builder, among)
        if self.ddp.views:
            builder.awaits(name for name, _ in self.sent)
            return
        for name, sizes in self.sent:
            builder.awaits([name])
            for number, size in enumerate(sizes):
                builder.compute(name, self._copied(f"out{number}", size))

    def _copied(self, name: str, size: int) -> Op:
        calls: dict[HostCall, float] = {"bucket": 1.0 if self.ddp.views else 0.5}
        return self.o.elementwise(name, size, 1, 1, element=self.o.kept).called(calls)

    def _send(self, builder: Builder, among: str) -> None:
        name = f"{'expert-' if among == EXPERTS else ''}bucket{self.number[among]}"
        size, ready = self.filled[among], [builder.last]
        reduced = builder.collective(name, "all_reduce", size, ready, among=among)
        self.sent.append((reduced, self.sizes[among]))
        self.filled[among], self.sizes[among] = 0.0, []
        self.number[among] += 1


class Shards(Replicas):
    """Fully sharded data parallel. *reduces*: gradients are exchanged too."""

    def __init__(self, mesh: Mesh, operators: OperatorSet, *, reduces: bool = True):
        assert mesh.fsdp is not None
        self.mesh, self.fsdp, self.o, self.reduces = mesh, mesh.fsdp, operators, reduces
        self.order: list[Unit] = []
        self.gathers: dict[tuple[int, bool], list[str]] = {}
        self.copied_out: list[str] = []  # in the order of the compute stream
        self.freed: dict[int, str] = {}  # unit -> the last task of its forward pass
        self.reduced = ""
        self.summed: list[str] = []  # of replicas of shards, for the optimizer

    def begin(self, builder: Builder, order: list[Unit]) -> None:
        self.order = order
        self._gather(builder, ROOT, backward=False)
        self._copy_out(builder, ROOT, backward=False)

    def before(self, builder: Builder, index: int, *, backward: bool) -> None:
        if not self._is_layer(index) or (backward and not self.fsdp.reshard):
            return
        explicit = backward or self.fsdp.forward_prefetch  # else each in its turn
        ahead = min(self.fsdp.prefetch, len(self.order)) if explicit else 0
        step = -1 if backward else 1
        self._gather(builder, index, backward=backward)
        self._copy_out(builder, index, backward=backward)
        for further in range(1, ahead + 1):
            if self._is_layer(index + step * further):
                self._gather(builder, index + step * further, backward=backward)

    def after(self, builder: Builder, index: int, *, backward: bool) -> None:
        if not backward:
            self.freed[index] = builder.last
        elif self._is_layer(index) and self.reduces:
            self._reduce(builder, f"reduce{index}", index)

    def end(self, builder: Builder) -> None:
        if self.reduces and self._exchanged(ROOT):
            self._reduce(builder, "reduce-root", ROOT)
        if self.reduced:
            builder.awaits([self.reduced, *self.summed[-1:]])

    def _is_layer(self, index: int) -> bool:
        return 0 < index < len(self.order) - 1

    def _exchanged(self, index: int) -> dict[str, int]:
        """Group of GPUs -> numbers of unit *index* that these have in shards."""
        if index == ROOT:
            numbers = self.order[0].shared + self.order[-1].shared
            return {"data": numbers} if numbers else {}
        if not self._is_layer(index):
            return {}
        unit = self.order[index]
        if self.mesh.ep == 1 and self.mesh.etp == self.mesh.size("tp"):
            return {"data": unit.parameters}
        experts = unit.parameters - unit.shared if self.mesh.copies > 1 else 0
        return {among: n for among, n in (("data", unit.shared), (EXPERTS, experts)) if n}

    def ways(self, step: Op) -> int:
        return self._ways(EXPERTS if step.dealt else "data")

    def _ways(self, among: str) -> int:
        return self.mesh.copies if among == EXPERTS else self.mesh.shards

    def _gather(self, builder: Builder, index: int, *, backward: bool) -> None:
        """Copy the shard in and gather, once; index ROOT: embedding and head."""
        if (index, backward) in self.gathers:
            return
        size, prefix = self.o.element, self._name(index, backward)
        extra = 0.0 if builder.profile is None else builder.profile.gather_time
        waits = [builder.last] if builder.last else []
        if self.fsdp.prefetch:  # a buffer is free when the unit so many before has copied out
            freed = len(self.copied_out) - self.fsdp.prefetch
            waits = self.copied_out[freed : freed + 1] if freed >= 0 else []
            waits += [self.freed[index]] if backward else []
        for among, numbers in self._exchanged(index).items():
            name = f"{prefix}{'-experts' if among == EXPERTS else ''}"
            own = numbers / self._ways(among)
            copy = self.o.over_lists("copy-in", own, size, size, "elementwise").called({})
            ready = builder.put(f"{name}-copy-in", copy, COPIES, waits, extra)
            gather = builder.collective(
                f"{name}-gather", "all_gather", float(numbers * size), [ready], among=among
            )
            self.gathers.setdefault((index, backward), []).append(gather)

    def _copy_out(self, builder: Builder, index: int, *, backward: bool) -> None:
        gathers = self.gathers.get((index, backward))
        if gathers is None:
            return
        numbers = sum(self._exchanged(index).values())
        copy = self.o.elementwise("copy-out", numbers, 1, 1).called({})
        name = builder.compute(self._name(index, backward), copy, gathers)
        if index != ROOT:
            self.copied_out.append(name)

    def _reduce(self, builder: Builder, prefix: str, index: int) -> None:
        """Gradients into one buffer, behind the reduce-scatter before; then their own."""
        extra = 0.0 if builder.profile is None else builder.profile.reduce_time
        for among, numbers in self._exchanged(index).items():
            name = f"{prefix}{'-experts' if among == EXPERTS else ''}"
            copy = self.o.elementwise("copy-in", numbers, 1, 1).called({})
            waits = [self.reduced] if self.reduced else []
            ready = builder.compute(name, copy, waits, extra)
            size = float(numbers * self.o.element)
            self.reduced = builder.collective(
                f"{name}-scatter", "reduce_scatter", size, [ready], among=among
            )
            if self.mesh.size("dp_replicate") > 1:
                own = size / self._ways(among)
                waits = [self.reduced]
                summed = builder.collective(
                    f"{name}-sum", "all_reduce", own, waits, among="replicate"
                )
                self.summed.append(summed)

    def _name(self, index: int, backward: bool) -> str:
        unit = "root" if index == ROOT else str(index)
        return f"{'again' if backward else 'gather'}-{unit}"

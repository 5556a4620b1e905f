"""Steps of an iteration, in the order of their launches: operators and collectives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from c3sim.spec.host import HostCall
from c3sim.spec.task import Kernel, Operator
from c3sim.spec.workload import Gemm

#: The host's calls for an operator of a class, if nothing else is said.
CALLS: dict[Operator, HostCall] = {
    "gemm": "linear",
    "attention": "attention",
    "normalisation": "normalisation",
    "elementwise": "elementwise",
    "embedding": "embedding",
}


@dataclass(frozen=True, slots=True)
class Op:
    """One kernel or a few: a *task* without stream and dependencies, its *operator* class, the
    *flops* that the model needs of it, how many kernels the host *launches* for it, and the sizes
    of the parameters' *gradients* that are complete after it. *calls*: what the host calls for it,
    and how often; left out: the one of its class. *kept*: the backward pass reads what it writes.
    *dealt*: its gradients are of experts that the GPU does not share with all replicas.
    """

    name: str
    task: Kernel | Gemm
    operator: Operator
    flops: float = 0.0
    launches: int = 1
    gradients: tuple[int, ...] = ()
    calls: Mapping[HostCall, float] | None = None
    kept: bool = True
    dealt: bool = False

    def with_task(self, **fields: object) -> Op:
        """The same with these *fields* of its task."""
        return replace(self, task=self.task.changed(**fields))

    def of_attention(self) -> Op:
        """The same in the class of attention."""
        task = self.task.changed(operator="attention")
        return Op(f"attention-{self.name}", task, "attention", self.flops)

    def called(self, calls: Mapping[HostCall, float]) -> Op:
        """The same, launched by *calls*."""
        return replace(self, calls=calls)

    def beside(self, calls: Mapping[HostCall, float]) -> Op:
        """The same with *calls* more: views and the like, which launch nothing."""
        return replace(self, calls={**self.host_calls, **calls})

    @property
    def host_calls(self) -> Mapping[HostCall, float]:
        """Calls that the host makes for it; nothing is known of optimizers."""
        if self.calls is not None:
            return self.calls
        call = CALLS.get(self.operator)
        return {} if call is None else {call: 1.0}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A collective of *size* bytes between operators. It waits for the one before it; the next one
    waits for it, after *beside* operators that need not. *among*: groups of GPUs (mesh.py). shift:
    each GPU sends so much to the next of its group.
    """

    name: str
    op: Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "shift"]
    size: float
    beside: int = 0
    among: str = "tensor"
    backend: str | None = None
    """its library; left out: the node's first"""
    channels: int | None = None
    """its workgroups; left out: the library's choice"""


Step = Op | Exchange

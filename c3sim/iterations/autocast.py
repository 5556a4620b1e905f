"""Training whose weights have 4 bytes, under autocast: the casts around each product.

Norms are computed in 4 byte numbers, and so is what goes round attention and the network. A product
of a norm's output casts it, once for each product, and the gradient of that input back to 4 bytes;
the gradient of what goes round is cast for the products that end attention and the network. A
weight is cast for its first product, and its gradient back (torch.autocast: layer_norm is in the
list of operators in float32, linear in that of 16 bit; a cast weight is kept for the backward
pass). A cast is one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from c3sim.errors import InputError
from c3sim.iterations.mesh import Mesh
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.scales import scaled
from c3sim.iterations.steps import Op, Step
from c3sim.spec.iteration import Iteration
from c3sim.spec.models import Dlrm, Transformer
from c3sim.spec.workload import Gemm

Casts = Callable[[Iterable[Step]], Iterable[Step]]

#: What a cast reads and writes, in numbers of 2 bytes.
TO_NARROW, TO_WIDE = (2.0, 1.0), (1.0, 2.0)
#: Products of attention's and the network's result, whose input has 2 bytes and whose output goes
#: to what goes round.
LAST = ("o", "down")


def casts_around(
    iteration: Iteration, model: Transformer | Dlrm, o: OperatorSet, mesh: Mesh
) -> Casts | None:
    """What puts casts around the products of *iteration*; None: it has none. Raises InputError
    where products are not those of a dense layer that is whole on its GPUs.
    """
    if not iteration.autocast:
        return None if iteration.scales == "none" else partial(scaled, o)
    if isinstance(model, Dlrm) or model.experts > 1 or model.latent is not None or mesh.fsdp:
        message = "autocast is of transformers without experts and latent attention, not sharded"
        raise InputError(message, "autocast")
    return partial(cast, o)


def cast(o: OperatorSet, steps: Iterable[Step]) -> Iterator[Step]:
    """*steps* with the casts around products; gradients of weights are complete behind theirs."""
    for step in steps:
        if isinstance(step, Op) and isinstance(step.task, Gemm):
            yield from _around(o, step, step.task)
        else:
            yield step


def _around(o: OperatorSet, step: Op, gemm: Gemm) -> Iterator[Step]:
    of, _, what = step.name.rpartition("-")
    first, second, results = gemm.m * gemm.k, gemm.k * gemm.n, gemm.m * gemm.n
    if what == "weight":
        yield replace(step, gradients=())
        back = o.elementwise(f"{step.name}-wide", results, *TO_WIDE)
        yield replace(back, gradients=step.gradients, dealt=step.dealt)
    elif what == "input":
        if of in LAST:
            yield o.elementwise(f"{step.name}-narrow", first, *TO_NARROW)
        yield step
        if of not in LAST:
            yield o.elementwise(f"{step.name}-wide", results, *TO_WIDE)
    else:
        if step.name not in LAST:
            yield o.elementwise(f"{step.name}-narrow", first, *TO_NARROW)
        yield o.elementwise(f"{step.name}-narrow-weight", second, *TO_NARROW)
        yield step

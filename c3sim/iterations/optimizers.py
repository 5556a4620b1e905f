"""Optimizers as kernels over lists of tensors, once all gradients are there.

With w weights, g gradients, m and v the moments, u the update, all of e bytes:

    AdamW fused     reads w g m v, writes w m v: torch/optim/adamw.py, fused
    AdamW foreach   8 passes over lists: _multi_tensor_adamw in the same
    LAMB fused      reads w g m v, writes m v u; norms of w and u; reads w u, writes w (NVIDIA
                    Apex, FusedLAMB)
    LAMB foreach    11 passes and the norms, then four small kernels for each tensor: its ratio

LAMB: arXiv 1904.00962, algorithm 2. With master weights (mixed precision) all of these but g have 4
bytes; g is converted before and w, for the model, behind: _process_optimizer.py in NVIDIA Apex.

Units inside the memory go over the same bytes at ``hbm.internal_rate`` times the bandwidth, as much
of it as streams of reads and writes reach; nothing of it passes the compute units.
"""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.errors import InputError
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Op
from c3sim.spec.hardware import Gpu
from c3sim.spec.task import Kernel

#: name -> tensors read and written, of a pass over all parameters
ADAMW = {
    "decay": (1, 1),
    "first-moment": (2, 1),
    "second-moment": (1, 1),
    "square": (2, 1),
    "root": (1, 1),
    "correct": (1, 1),
    "epsilon": (1, 1),
    "update": (3, 1),
}
LAMB = {
    "first-moment": (1, 1),
    "first-moment-add": (2, 1),
    "second-moment": (1, 1),
    "square": (2, 1),
    "root": (1, 1),
    "epsilon": (1, 1),
    "divide": (2, 1),
    "decay": (2, 1),
    "norm-of-weights": (1, 0),
    "norm-of-update": (1, 0),
}
PASSES: dict[tuple[str, bool], dict[str, tuple[int, int]]] = {
    ("adamw", True): {"adamw": (4, 3)},
    ("adamw", False): ADAMW,
    ("lamb", True): {"moments": (4, 3), "norms": (2, 0), "update": (2, 1)},
    ("lamb", False): LAMB,
}
MASTER = 4  # bytes of a number that a mixed-precision optimizer keeps
RATIO_KERNELS = 4  # per tensor: both norms clamped, divided, the update scaled


def optimizer_ops(
    operators: OperatorSet,
    optimizer: str,
    tensors: Sequence[float],
    *,
    fused: bool,
    master: bool = False,
    inside: bool = False,
) -> list[Op]:
    """Kernels of *optimizer* over parameters of these sizes; *master*: with master weights;
    *inside*: by units of the memory. Raises InputError where it has none.
    """
    if optimizer == "none" or not tensors:
        return []
    numbers, element = sum(tensors), operators.kept
    size = max(element, MASTER) if master else element
    ops = _passes(operators, optimizer, tensors, numbers, size, fused=fused)
    if size != element:
        before = operators.over_lists(f"{optimizer}-gradients", numbers, element, size)
        behind = operators.over_lists(f"{optimizer}-weights", numbers, size, element)
        ops = [before, *ops, behind]
    return [_inside_memory(op, operators.gpu) for op in ops] if inside else ops


def _inside_memory(op: Op, gpu: Gpu) -> Op:
    """*op* by units inside the memory."""
    if gpu.hbm.internal_rate is None:
        raise InputError(
            f"{gpu.name} has no units inside its memory; a what-if sets gpu.hbm.internal_rate",
            "optimizer_on",
        )
    assert isinstance(op.task, Kernel)  # optimizers have no GEMMs
    rate = gpu.hbm.internal_rate * gpu.hbm.bandwidth * gpu.hbm.mixed_efficiency
    time = (op.task.read + op.task.written) / rate
    task = Kernel(kind="kernel", operator=op.operator, time=time, workgroups=1)
    return Op(op.name, task, op.operator, launches=op.launches)


def _passes(
    operators: OperatorSet,
    optimizer: str,
    tensors: Sequence[float],
    numbers: float,
    size: int,
    *,
    fused: bool,
) -> list[Op]:
    ops = [
        operators.over_lists(f"{optimizer}-{name}", numbers, read * size, written * size)
        for name, (read, written) in PASSES[optimizer, fused].items()
    ]
    if (optimizer, fused) == ("lamb", False):
        scaled = operators.elementwise("lamb-ratio", numbers, 1, 1, strided=True, element=size)
        task = scaled.task.changed(operator="optimizer")
        ops.append(Op("lamb-ratio", task, "optimizer", launches=RATIO_KERNELS * len(tensors)))
        ops.append(operators.over_lists("lamb-update", numbers, 2 * size, size))
    return ops

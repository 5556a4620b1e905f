"""Optimizers as kernels over lists of tensors, once all gradients are there.

With w weights, g gradients, m and v the moments, u the update, all of e bytes:

    AdamW fused     reads w g m v, writes w m v: torch/optim/adamw.py, fused
    AdamW foreach   8 passes over lists: _multi_tensor_adamw in the same
    LAMB fused      reads w g m v, writes m v u; norms of w and u; reads w u, writes w (NVIDIA
                    Apex, FusedLAMB)
    LAMB foreach    11 passes and the norms, then four small kernels for each tensor: its ratio

LAMB: arXiv 1904.00962, algorithm 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Op

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
RATIO_KERNELS = 4  # per tensor: both norms clamped, divided, the update scaled


def optimizer_ops(
    operators: OperatorSet, optimizer: str, tensors: Sequence[int], *, fused: bool, shards: int = 1
) -> list[Op]:
    """Kernels of *optimizer* over parameters of these sizes, of each a part of *shards*."""
    if optimizer == "none" or not tensors:
        return []
    numbers, size = sum(tensors) / shards, operators.element
    ops = [
        operators.over_lists(f"{optimizer}-{name}", numbers, read * size, written * size)
        for name, (read, written) in PASSES[optimizer, fused].items()
    ]
    if (optimizer, fused) == ("lamb", False):
        scaled = operators.elementwise("lamb-ratio", numbers, 1, 1, strided=True)
        task = scaled.task.model_copy(update={"operator": "optimizer"})
        ops.append(Op("lamb-ratio", task, "optimizer", launches=RATIO_KERNELS * len(tensors)))
        ops.append(operators.over_lists("lamb-update", numbers, 2 * size, size))
    return ops

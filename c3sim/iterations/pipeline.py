"""A pipeline of equal stages, one on each GPU or tensor group.

One micro batch through one stage is simulated, with the copy that hands its output to the next GPU;
all stages do so at once, as in the middle of the pipeline; embedding, head and loss are in it, as
the first and the last stage have them. With m micro batches and p stages, the
iteration takes (m + p - 1) times as long: fill and drain of GPipe (arXiv 1811.06965, section 2.3)
and of one forward, one backward (arXiv 2104.04473) alike. The optimizer runs once.
"""

from __future__ import annotations

from c3sim.iterations.builder import Builder
from c3sim.iterations.mesh import Mesh
from c3sim.specs.workload import Copy


def hand_on(builder: Builder, mesh: Mesh, gpus: int, size: float, direction: str) -> None:
    """Copy a micro batch's output, or its gradient, of *size* bytes to the neighbour of *gpus*."""
    stride = mesh.strides["pipeline"]
    peer = stride if direction == "forward" else gpus - stride
    task = Copy(kind="copy", bytes=size, peer=peer, executor="kernel", gpus="all")
    builder.transfer(f"{direction}-hand-on", task)

"""The scenarios of a study of pieces: one GEMM, one node, one collective, by engines or kernels."""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.input.loading import load_hardware
from c3sim.input.paths import set_field, set_value
from c3sim.specs.hardware import Node
from c3sim.specs.pieces_study import PiecesStudy, Shape
from c3sim.specs.study import Range, Study
from c3sim.specs.workload import Collective, Gemm, HostThreads, Workload
from c3sim.studies.cases import Case

ELEMENT = 2  # bytes of bf16


def pieces_of(study: Study) -> PiecesStudy:
    """What *study* goes through, with what was set of it (``pieces.give_up``)."""
    found = study.pieces
    assert found is not None  # the caller asks only then
    for path, values in study.axes.items():
        root, _, field = path.partition(".")
        if root == "pieces" and not isinstance(values, Range):
            several = isinstance(getattr(found, field, None), tuple)
            found = set_field(found, field, list(values) if several else values[0])
    return found


def cases_of(study: Study, given: Node | None) -> list[Case]:
    """Every scenario; *given*: instead of the study's nodes. Raises InputError."""
    plan = pieces_of(study)
    nodes = [given] if given is not None else [load_hardware(name).node for name in plan.nodes]
    nodes = [_set(node, study) for node in nodes]
    return [
        _case(name, shape, node, op, by)
        for node in nodes
        for op in plan.collectives
        for by in plan.by
        for name, shape in plan.gemms.items()
    ]


def _set(node: Node, study: Study) -> Node:
    """*node* with the values that were set for the study."""
    any_workload = _workload(Shape(m=1, n=1, k=1), 1, "all_gather", "dma")
    for path, values in study.axes.items():
        if path.startswith("pieces."):
            continue
        if isinstance(values, Range) or len(values) > 1:
            raise InputError("a study of pieces takes one value of each path", path)
        node, _ = set_value(node, any_workload, path, values[0])
    return node


def _case(name: str, shape: Shape, node: Node, op: str, by: str) -> Case:
    if shape.n % node.ranks:
        message = f"{name}: n = {shape.n} is no multiple of the {node.ranks} GPUs of {node.name}"
        raise InputError(message, "pieces.gemms")
    backend = "dma" if by == "dma" else next(iter(node.collective_libraries))
    workload = _workload(shape, node.ranks, op, backend)
    point = {"gemm": name, "collective": op, "by": by}
    return Case(name=name, label=name, workload=workload, node=node, point=point)


def _workload(shape: Shape, ranks: int, op: str, backend: str) -> Workload:
    """The pair, not in pieces. Copies are called for ahead: streams wait, not the host."""
    feeds = op != "reduce_scatter"
    n = shape.n // ranks
    size = float(shape.m * (shape.k if feeds else n) * ELEMENT)
    gemm = Gemm(kind="gemm", m=shape.m, n=n, k=shape.k, after=("move",) if feeds else ())
    move = Collective(
        kind="collective", op=op, size=size, backend=backend, after=() if feeds else ("gemm",)
    )
    return Workload(
        schema_version=1,
        name=op,
        tasks={"move": move, "gemm": gemm},
        host=HostThreads(release="per_rank" if backend == "dma" else "event"),
    )

"""A GEMM and a collective of which one feeds the other: the scenarios of a study of pieces, and one
of them under every schedule.

Losses are in parts of the serial time: decomposition is what the pieces take alone, one after the
other, beyond the whole; contention what goes away where compute and communication share nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import fmean
from typing import Any

from c3sim.errors import InputError
from c3sim.evaluation.losses import side
from c3sim.experiments.cases import Case, gemm_of, node_of
from c3sim.experiments.study import Asked, Row
from c3sim.experiments.trees import GemmBy, Sizes, regrets
from c3sim.simulation.runs import run_once, undisturbed
from c3sim.spec.hardware import Node
from c3sim.spec.pieces import MeasuredPieces, PiecesStudy, Shape
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import set_field
from c3sim.spec.schedules import expanded, whole
from c3sim.spec.study import Range, Study
from c3sim.spec.workload import Collective, Gemm, HostThreads, Loop, Schedule, Workload

ELEMENT = 2  # bytes of bf16


def pieces_of(study: Study) -> PiecesStudy:
    """The pieces that *study* goes through, with what was set of it (``pieces.give_up``)."""
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
    nodes = [given] if given is not None else [load_node(name) for name in plan.nodes]
    nodes = [node_of(study, node, but="pieces.") for node in nodes]
    return [
        _case(name, shape, node, op, by)
        for node in nodes
        for op in plan.collectives
        for by in plan.by
        for name, shape in plan.gemms.items()
    ]


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


def as_measured(plan: MeasuredPieces, of: GemmBy, schedule: Schedule | None) -> Workload:
    """A GEMM behind the all-gather of its operand, in a loop behind a barrier of the GPUs, as it
    was measured: kernels are queued in the order of their launches, copies have been called for.
    """
    (name, backend), by_dma = of, of[1] == "dma"
    shape = plan.gemms[name]
    gather: dict[str, Any] = {
        "op": "all_gather",
        "size": shape.m * shape.k * ELEMENT,
        "backend": backend,
    }
    if by_dma:
        gather |= {"direction": "pull", "mapping": "ipc", "out_of_place": schedule is None}
    loop = Loop(iterations=plan.turns, begin="release")
    return Workload(
        schema_version=1,
        name=f"{name}, by {backend}",
        tasks={
            "gather": Collective(kind="collective", **gather),
            "gemm": Gemm(kind="gemm", **shape.model_dump(), after=("gather",)),
        },
        host=HostThreads(release="per_rank" if by_dma else "event", loop=loop),
        schedule=schedule,
    )


def predicted(plan: MeasuredPieces, of: GemmBy) -> dict[str, float]:
    """Time [s] of each schedule of one GEMM."""
    node = load_node(plan.node)
    return {
        name: _time(as_measured(plan, of, schedule), node)
        for name, schedule in plan.schedules.items()
    }


def choosers(asked: Asked) -> list[Row]:
    """Mean and worst regret of each chooser on what the study has measured; none on another node
    than its own.
    """
    plan = pieces_of(asked.study).measured
    if plan is None or asked.options.node is not None:
        return []
    times = {
        (gemm, by): dict(zip(plan.columns, row, strict=True))
        for by, rows in plan.times_us.items()
        for gemm, row in rows.items()
    }
    work = partial(predicted, plan)
    ours = dict(zip(times, asked.each(work, [*times], what="measured pieces"), strict=True))
    sizes = {name: Sizes.of(shape.m, shape.n, shape.k) for name, shape in plan.gemms.items()}
    return [
        Row(chooser=who, choices=len(lost), mean_regret=fmean(lost), worst_regret=max(lost))
        for who, lost in regrets(ours, times, sizes).items()
        if lost
    ]


SERIAL, SHARDS = "serial", "shard-p2p"
#: The four that a heuristic chooses among.
FOUR: Mapping[str, Mapping[str, object]] = {
    "uniform-fused-1d": {"shape": "1d", "steps": "uniform", "fused": True},
    "hetero-fused-1d": {"shape": "1d", "steps": "hetero", "fused": True},
    "hetero-unfused-1d": {"shape": "1d", "steps": "hetero", "fused": False},
    "uniform-fused-2d": {"shape": "2d", "steps": "uniform", "fused": True},
}


def row_of(case: Case, plan: PiecesStudy) -> Row:
    """*case* under serial execution, shards and each of the four schedules that can split it, at
    its best number of pieces. *best*: of the four; *shards_slower*: what shards from peer to peer
    take alone over the collective alone.
    """
    node, pair = case.node, case.workload
    one = whole(pair)
    alone = _parts(one, node)
    serial = _time(one, node)
    schedules = {SERIAL: _outcome(one, node, 1, alone, serial, {1: serial})}
    schedules |= _four(case, plan, alone, serial)
    slower = None
    shards = _split(pair, {"kind": "shards"})
    if _can(shards, node):
        time = _time(shards, node)
        schedules[SHARDS] = _outcome(shards, node, 1, alone, serial, {1: time})
        slower = _parts(shards, node)[1] / alone[1]
    _, gemm = gemm_of(case)
    memory = _memory(pair, gemm)
    return Row(
        gemm=case.name,
        collective=str(case.point["collective"]),
        by=str(case.point["by"]),
        node=node.name,
        m=gemm.m,
        n=gemm.n,
        k=gemm.k,
        gemm_s=alone[0],
        move_s=alone[1],
        ideal_speedup=serial / max(alone),
        memory_bytes=memory,
        fits=memory <= node.gpu.hbm.capacity,
        schedules=schedules,
        best=min(
            (name for name in FOUR if name in schedules), key=lambda n: schedules[n]["time_s"]
        ),
        **({"shards_slower": slower} if slower is not None else {}),
        heuristic=None,
        loss=None,
        fitted=False,
    )


def _four(
    case: Case, plan: PiecesStudy, alone: tuple[float, float], serial: float
) -> dict[str, Row]:
    """Each of the four schedules that can split *case*, at its best number of pieces."""
    schedules = {}
    for name in FOUR:
        times = _times(case.workload, case.node, FOUR[name], plan)
        if times:
            pieces = min(times, key=times.__getitem__)
            split = _split(case.workload, {**FOUR[name], "pieces": pieces})
            schedules[name] = _outcome(split, case.node, pieces, alone, serial, times)
    return schedules


def _split(pair: Workload, schedule: Mapping[str, object]) -> Workload:
    return pair.changed(schedule=Schedule.model_validate(schedule))


def _can(workload: Workload, node: Node) -> bool:
    try:
        expanded(workload, node)
    except InputError:
        return False
    return True


def _times(
    pair: Workload, node: Node, schedule: Mapping[str, object], plan: PiecesStudy
) -> dict[int, float]:
    """Time [s] by number of pieces, as far as they were tried."""
    times: dict[int, float] = {}
    for pieces in plan.pieces:
        split = _split(pair, {**schedule, "pieces": pieces})
        if not _can(split, node):
            continue
        times[pieces] = _time(split, node)
        if times[pieces] > plan.give_up * min(times.values()):
            break
    return times


def _outcome(
    workload: Workload,
    node: Node,
    pieces: int,
    apart: tuple[float, float],
    serial: float,
    times: Mapping[int, float],
) -> Row:
    time = times[pieces]
    alone = sum(_parts(workload, node))
    return Row(
        pieces=pieces,
        time_s=time,
        speedup=serial / time,
        decomposition_loss=(alone - sum(apart)) / serial,
        contention_loss=(time - undisturbed(node, workload).end) / serial,
        by_pieces={str(count): each for count, each in times.items()},
    )


def _parts(workload: Workload, node: Node) -> tuple[float, float]:
    """The times [s] of all GEMMs without anything else, and of all that moves or adds."""
    tasks = expanded(workload, node)
    return _time(side(tasks, gemms=True), node), _time(side(tasks, gemms=False), node)


def _time(workload: Workload, node: Node) -> float:
    return run_once(node, workload, energy=False).end


def _memory(pair: Workload, gemm: Gemm) -> float:
    """Bytes of operands and result, and of what arrives to be added."""
    elements = gemm.m * gemm.k + gemm.k * gemm.n + gemm.m * gemm.n
    move = pair.tasks["move"]
    assert isinstance(move, Collective)
    return elements * ELEMENT + (move.size if move.op == "reduce_scatter" else 0.0)

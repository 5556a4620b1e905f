"""One scenario under every schedule, and what each loses to decomposition and to contention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from c3sim.errors import InputError
from c3sim.evaluation.losses import side
from c3sim.schedules import expanded, whole
from c3sim.simulation.runs import run_once, undisturbed
from c3sim.specs.hardware import Node
from c3sim.specs.pieces_study import PiecesStudy
from c3sim.specs.schedule import Schedule
from c3sim.specs.workload import Collective, Gemm, Workload
from c3sim.studies.cases import Case, gemm_of
from c3sim.studies.pieces.cases import ELEMENT
from c3sim.studies.plain import IF_KNOWN

SERIAL, SHARDS = "serial", "shard-p2p"
#: The four that a heuristic chooses among.
FOUR: Mapping[str, Mapping[str, object]] = {
    "uniform-fused-1d": {"shape": "1d", "steps": "uniform", "fused": True},
    "hetero-fused-1d": {"shape": "1d", "steps": "hetero", "fused": True},
    "hetero-unfused-1d": {"shape": "1d", "steps": "hetero", "fused": False},
    "uniform-fused-2d": {"shape": "2d", "steps": "uniform", "fused": True},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """A schedule at its best number of *pieces*. Losses are in parts of the serial time:
    decomposition is what the pieces take alone, one after the other, beyond the whole; contention
    what goes away where compute and communication share nothing.
    """

    pieces: int
    time_s: float
    speedup: float
    decomposition_loss: float
    contention_loss: float
    by_pieces: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One scenario. *best* and *heuristic*: of the four; *loss*: the time of the heuristic's choice
    over the best one, less 1; *fitted*: whether the heuristic has seen it. *shards_slower*: what
    shards from peer to peer take alone over the collective alone.
    """

    gemm: str
    node: str
    collective: str
    by: str
    m: int
    n: int
    k: int
    gemm_s: float
    move_s: float
    ideal_speedup: float
    memory_bytes: float
    fits: bool
    schedules: Mapping[str, Outcome]
    best: str
    shards_slower: float | None = field(default=None, metadata=IF_KNOWN)
    heuristic: str | None = None
    loss: float | None = None
    fitted: bool = False


def row_of(case: Case, names: Sequence[str], *, plan: PiecesStudy) -> Row:
    """*case* under serial execution, shards and every schedule of *names* that can split it."""
    node, pair = case.node, case.workload
    one = whole(pair)
    alone = _parts(one, node)
    serial = _time(one, node)
    schedules = {SERIAL: _outcome(one, node, 1, alone, serial, {1: serial})}
    slower = None
    shards = _split(pair, {"kind": "shards"})
    if _can(shards, node):
        time = _time(shards, node)
        schedules[SHARDS] = _outcome(shards, node, 1, alone, serial, {1: time})
        slower = _parts(shards, node)[1] / alone[1]
    for name in names:
        times = _times(pair, node, FOUR[name], plan)
        if times:
            pieces = min(times, key=times.__getitem__)
            split = _split(pair, {**FOUR[name], "pieces": pieces})
            schedules[name] = _outcome(split, node, pieces, alone, serial, times)
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
        best=min((name for name in names if name in schedules), key=lambda n: schedules[n].time_s),
        shards_slower=slower,
    )


def _split(pair: Workload, schedule: Mapping[str, object]) -> Workload:
    return pair.model_copy(update={"schedule": Schedule.model_validate(schedule)})


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
) -> Outcome:
    time = times[pieces]
    alone = sum(_parts(workload, node))
    return Outcome(
        pieces=pieces,
        time_s=time,
        speedup=serial / time,
        decomposition_loss=(alone - sum(apart)) / serial,
        contention_loss=(time - undisturbed(node, workload).end) / serial,
        by_pieces={str(count): each for count, each in times.items()},
    )


def _parts(workload: Workload, node: Node) -> tuple[float, float]:
    """What all GEMMs take without anything else, and all that moves or adds [s]."""
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

"""Plain predictors. A model has to beat them.

Those of concurrent runs are given the *measured* isolated times:

``max``       no interference: every task takes its isolated time, the longest is the wall time
``sum``       no overlap: the tasks run one after the other, in the order of their launch
``constant``  one slowdown per suite and kind of task: the median of the suite's *other* records
              of role validation

That of a task alone reads data sheets only (:func:`roofline`): no launch, no latency, no
efficiency, nothing fitted.

A baseline has no value where a measured isolated time is missing, or, for the constant, another
record. A sleep in front of a kernel is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from c3sim.spec.hardware import Node
from c3sim.spec.masks import parse_cu_mask
from c3sim.spec.record import Record
from c3sim.spec.workload import ARRAYS, Collective, Copy, Gemm, StreamKernel, Workload

from .measurements import FigureKey, measured_figures, timed_tasks


class Baselines(NamedTuple):
    """One figure [us, or a ratio for slowdowns]; None where a baseline has no value."""

    max: float | None = None
    sum: float | None = None
    constant: float | None = None
    roofline: float | None = None


PREDICTORS = Baselines._fields
NO_BASELINES = Baselines()


def baselines_of(
    records: Sequence[Record], nodes: Mapping[str, Node] | None = None
) -> list[dict[FigureKey, Baselines]]:
    """The baselines of each record's figures; with *nodes*, by name, rooflines as well."""
    slowdowns: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for number, record in enumerate(records):
        if record.role == "validation":
            for (metric, task), value in measured_figures(record).items():
                if metric.endswith("_slowdown"):
                    key = (record.suite, record.workload.tasks[task].kind)
                    slowdowns.setdefault(key, []).append((number, value))
    return [
        _of_record(record, _constants(record, number, slowdowns))
        | _alone(record, (nodes or {}).get(record.node))
        for number, record in enumerate(records)
    ]


def _alone(record: Record, node: Node | None) -> dict[FigureKey, Baselines]:
    """The rooflines of the tasks that were measured alone."""
    if node is None:
        return {}
    tasks = record.workload.tasks
    return {
        (f"isolated_{tasks[name].kind}", name): Baselines(roofline=time * 1e6)
        for name in record.measured.isolated
        if (time := roofline(node, record.workload, name)) is not None
    }


def _constants(
    record: Record, number: int, slowdowns: Mapping[tuple[str, str], Sequence[tuple[int, float]]]
) -> dict[str, float | None]:
    """Task -> median slowdown of its kind in the suite's other records."""
    constants: dict[str, float | None] = {}
    for name, task in record.workload.tasks.items():
        known = slowdowns.get((record.suite, task.kind), ())
        others = [value for other, value in known if other != number]
        constants[name] = median(others) if others else None
    return constants


def _of_record(record: Record, constants: Mapping[str, float | None]) -> dict[FigureKey, Baselines]:
    alone, tasks = record.measured.isolated, record.workload.tasks
    launched, timed = record.workload.host.order, timed_tasks(record)
    order = [*launched, *(name for name in tasks if name not in launched)]
    order = [name for name in order if name in timed]
    figures: dict[FigureKey, Baselines] = {}
    times: list[float | None] = []
    for place, name in enumerate(order):
        kind, own, constant = tasks[name].kind, alone.get(name), constants[name]
        end = _combined(sum, [alone.get(each) for each in order[: place + 1]])
        times.append(None if own is None or constant is None else own * constant)
        figures[f"{kind}_time", name] = Baselines(own, end, times[-1])
        waited = None if own is None or end is None else end / own
        figures[f"{kind}_slowdown", name] = Baselines(1.0, waited, constant)
        figures[f"{kind}_lasting", name] = Baselines(own, own)
    isolated = [alone.get(name) for name in order]
    figures["wall", ""] = Baselines(
        _combined(max, isolated), _combined(sum, isolated), _combined(max, times)
    )
    return figures


def _combined(
    combine: Callable[[list[float]], float], times: Sequence[float | None]
) -> float | None:
    """None unless every time is known."""
    known = [time for time in times if time is not None]
    return combine(known) if known and len(known) == len(times) else None


def roofline(node: Node, workload: Workload, name: str) -> float | None:
    """Return the seconds of task *name* alone; None for a kind that data sheets do not tell.

    ``gemm``        the longer of FLOP / peak rate of its compute units, and operands and result
                    once / peak bandwidth of the memory
    ``stream``      bytes / peak bandwidth of the memory; unknown with arithmetic beside
    ``collective``  bus bytes of a GPU / signalling rate of its links, all at once
    ``copy``        bytes / signalling rate of the link; within a GPU read and written at the peak
                    of the memory
    """
    task = workload.tasks[name]
    if isinstance(task, Gemm):
        once = _gemm(node, workload, task)
    elif isinstance(task, StreamKernel) and not task.flops_per_byte:
        once = sum(ARRAYS[task.pattern]) * task.bytes * task.passes / node.gpu.hbm.bandwidth
    elif isinstance(task, Collective):
        once = _collective(node, task)
    elif isinstance(task, Copy) and task.executor != "nic":
        once = _copy(node, task)
    else:
        return None
    return once * task.repeat


def _gemm(node: Node, workload: Workload, task: Gemm) -> float:
    gpu = node.gpu
    stream = workload.streams.get(task.stream or "")
    cus = len(parse_cu_mask(stream.compute_units if stream else None, gpu.compute_unit_count))
    peak = cus * gpu.compute_units.flops_per_cycle[task.dtype] * gpu.clock.maximum
    flops = 2.0 * task.m * task.n * task.k * task.batch
    return max(flops / peak, task.operand_bytes / gpu.hbm.bandwidth)


def _link(node: Node) -> float:
    """B/s of all links of a GPU to one neighbour, or to the switch, one direction."""
    links = node.links
    return links.per_peer * (links.raw_bandwidth or links.bandwidth)


def _collective(node: Node, task: Collective) -> float:
    ways = {"full_mesh": node.gpus - 1, "ring": 2, "switch": 1}[node.links.topology]
    rounds = 2 if task.op == "all_reduce" else 1
    return rounds * task.size * (node.gpus - 1) / node.gpus / (ways * _link(node))


def _copy(node: Node, task: Copy) -> float:
    ends = {task.source, task.destination}
    if "host" in ends:
        return task.bytes / node.host.link_bandwidth
    if "peer" in ends:
        return task.bytes / _link(node)
    return 2 * task.bytes / node.gpu.hbm.bandwidth

"""Times of a measured step by class of operators, from traces of the PyTorch profiler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from c3sim.errors import InputError
from c3sim.importers.files import read_log
from c3sim.importers.workloads.imported import trace_files
from c3sim.importers.workloads.tasks import class_of
from c3sim.importers.workloads.trace import Iteration, Trace, Work, choose, exposed, read_trace
from c3sim.simulation.exposure import length, union

COMMUNICATION = "communication"


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTimes:
    """Seconds of a step: *wall_s*; *exposed_s*, communication runs and no operator does; *busy_s*
    of each class, left out where only times of the whole are known; *host_s*, its calls.
    """

    name: str
    wall_s: float
    exposed_s: float | None
    busy_s: Mapping[str, float]
    host_s: float | None = None


def step_times(paths: Sequence[Path], wanted: int | None = None) -> StepTimes:
    """The last marked step, or number *wanted*, in traces of one rank or of several: means over
    ranks, but of communication the least, which waits least for others. Raises InputError.
    """
    found = [_of_trace(_read(path), wanted) for path in trace_files(paths)]
    count = len(found)
    classes = {name for each in found for name in each.busy_s}
    busy = {
        name: sum(each.busy_s.get(name, 0.0) for each in found) / count
        for name in sorted(classes - {COMMUNICATION})
    }
    if COMMUNICATION in classes:
        busy[COMMUNICATION] = min(each.busy_s.get(COMMUNICATION, 0.0) for each in found)
    hosts = [each.host_s for each in found if each.host_s is not None]
    return StepTimes(
        name=found[0].name,
        wall_s=sum(each.wall_s for each in found) / count,
        exposed_s=min(each.exposed_s or 0.0 for each in found),
        busy_s=busy,
        host_s=sum(hosts) / len(hosts) if len(hosts) == count else None,
    )


def _read(path: Path) -> Trace:
    return read_trace(read_log(path)[0], path.name)


def _of_trace(trace: Trace, wanted: int | None) -> StepTimes:
    iteration, _ = choose(trace, wanted)
    if not iteration.wall:
        raise InputError(f"{iteration.name} has no duration", file=trace.file)
    spans: dict[str, list[tuple[float, float]]] = {}
    for work in iteration.works:
        spans.setdefault(_class(work, trace), []).append((work.start, work.end))
    return StepTimes(
        name=iteration.name,
        wall_s=1e-6 * iteration.wall,
        exposed_s=1e-6 * exposed(iteration.works),
        busy_s={name: 1e-6 * length(union(each)) for name, each in spans.items()},
        host_s=_host(iteration, trace),
    )


def _class(work: Work, trace: Trace) -> str:
    if work.is_collective:
        return COMMUNICATION
    return "gemm" if work.kind.kind == "gemm" else class_of(work, trace.optimizer)[0]


def _host(iteration: Iteration, trace: Trace) -> float | None:
    """Seconds from the first call to the last, less those in which the host waits for the GPU."""
    calls = [(w.called, w.launched) for w in iteration.works if w.called and w.launched]
    if len(calls) < len(iteration.works) / 2:
        return None
    begin, end = min(called for called, _ in calls), max(back for _, back in calls)
    waits = _within(((sync.start, sync.end) for sync in trace.syncs), begin, end)
    return 1e-6 * (end - begin - length(union(waits)))


def _within(
    spans: Iterable[tuple[float, float]], begin: float, end: float
) -> list[tuple[float, float]]:
    return [(max(a, begin), min(b, end)) for a, b in spans if b > begin and a < end]

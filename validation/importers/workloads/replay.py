"""The replay of an imported workload beside its trace: how far off, and which kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

from .build import Built

CLOSE = 0.05  # of the wall time: a replay is as long as its trace
SHOWN = 6  # groups of kernels


@dataclass(frozen=True, kw_only=True)
class Apart:
    """Kernels of one name: how many, and how long they ran in the trace and the replay [us]."""

    name: str
    count: int
    trace: float
    replay: float


@dataclass(frozen=True, kw_only=True)
class Replay:
    """*wall* [us] of the replay; *apart*: the groups of kernels that differ most."""

    run: Run
    wall: float
    error: float
    apart: tuple[Apart, ...]

    def lines(self, built: Built) -> list[str]:
        """In words."""
        if not built.timed:
            return [f"replay: {self.wall / 1e3:.3f} ms; the trace has no times to compare with"]
        lines = [
            f"replay: {self.wall / 1e3:.3f} ms, trace: {built.wall / 1e3:.3f} ms"
            f" ({self.error:+.1%})"
        ]
        if abs(self.error) > CLOSE:
            lines.append("which kernels differ most (trace, replay, in ms):")
            lines += [
                f"  {each.trace / 1e3:8.3f} {each.replay / 1e3:8.3f}  {each.count} x {each.name}"
                for each in self.apart
            ]
            if any("ccl" in each.name and each.trace > each.replay for each in self.apart):
                lines.append(
                    "a collective's time in a trace has its wait for other ranks:"
                    " give the traces of all of them"
                )
        return lines


def replay(built: Built, workload: Workload, node: Node, *, trace: bool = False) -> Replay:
    """Run *workload*, which *built* was written as, under the conditions of its trace; *trace*:
    keep its timeline.
    """
    run = simulate(node, workload, trace=trace, energy=True)
    wall = 1e6 * (run.end - min(times.start for times in run.times.values()))
    if not built.timed:
        return Replay(run=run, wall=wall, error=0.0, apart=())
    return Replay(run=run, wall=wall, error=wall / built.wall - 1.0, apart=_apart(built, run))


def _apart(built: Built, run: Run) -> tuple[Apart, ...]:
    groups: dict[str, list[str]] = {}
    for task, work in built.works.items():
        groups.setdefault(_short(work.name), []).append(task)
    spans: Mapping[str, float] = {
        name: 1e6 * (times.end - times.start) for (name, gpu), times in run.times.items() if not gpu
    }
    found = [
        Apart(
            name=name,
            count=len(tasks),
            trace=sum(built.works[task].duration for task in tasks),
            replay=sum(spans[task] for task in tasks),
        )
        for name, tasks in groups.items()
    ]
    found.sort(key=lambda each: -abs(each.trace - each.replay))
    return tuple(found[:SHOWN])


def _short(name: str) -> str:
    return name.split("(")[0].split("<")[0].removeprefix("void ")[:70] or name[:70]

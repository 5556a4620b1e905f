"""Kernels on a time line: which ran beside which, how long, and in which episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from c3sim.simulation.exposure import Span, length, union

# an overlap of less than this share of the shorter kernel is a hand-over, not concurrency
NEGLIGIBLE = 0.01


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """One instance; times in us. *task*: it in the workload schema, None for an unknown size."""

    name: str
    kind: Literal["gemm", "collective", "other"]
    start: float
    duration: float
    device: str
    stream: str
    task: Mapping[str, Any] | None = field(default=None, hash=False)
    key: str = ""  # the same for instances of the same work
    launched: float | None = None  # when the host had launched it
    gpus: int | None = None  # that take part in a collective

    @property
    def end(self) -> float:
        return self.start + self.duration


def both(first: Sequence[Span], second: Sequence[Span]) -> list[Span]:
    """Where both of two unions run."""
    shared, i, j = list[Span](), 0, 0
    while i < len(first) and j < len(second):
        start, end = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if start < end:
            shared.append((start, end))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return shared


def _pairs(kernels: Sequence[Kernel]) -> Iterable[tuple[int, int]]:
    """Indices of *kernels*, in order of start, of different streams that run at once."""
    running: list[int] = []
    for i, kernel in enumerate(kernels):
        running = [j for j in running if kernels[j].end > kernel.start]
        for j in running:
            other = kernels[j]
            shared = min(kernel.end, other.end) - kernel.start
            shorter = min(kernel.duration, other.duration)
            if other.stream != kernel.stream and shared > NEGLIGIBLE * shorter:
                yield j, i
        running.append(i)


def overlaps(kernels: Sequence[Kernel]) -> list[float]:
    """How long [us] others ran beside each of *kernels*: of one device, in order of start."""
    beside: list[list[Span]] = [[] for _ in kernels]
    for i, j in _pairs(kernels):
        span = (max(kernels[i].start, kernels[j].start), min(kernels[i].end, kernels[j].end))
        beside[i].append(span)
        beside[j].append(span)
    return [length(union(spans)) for spans in beside]


def episodes(kernels: Sequence[Kernel]) -> list[list[Kernel]]:
    """*kernels*, of one device in order of start, in groups connected by running at once."""
    leader = list(range(len(kernels)))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    for i, j in _pairs(kernels):
        leader[find(i)] = find(j)
    groups: dict[int, list[Kernel]] = {}
    for i, kernel in enumerate(kernels):
        groups.setdefault(find(i), []).append(kernel)
    return list(groups.values())

"""One episode of concurrent kernels as a workload, with its times."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

from c3sim.errors import InputError, short
from c3sim.importers.collector import Collector
from c3sim.importers.result import ImportResult, KernelTimes
from c3sim.importers.values import (
    OP_TASKS,
    assumed_collective,
    assumed_gemm,
    collective_of,
    task_text,
)
from c3sim.simulation.exposure import Span, length, union


@dataclass(frozen=True, kw_only=True)
class Part:
    """A run of equal kernels on one stream; *start*, *end* [us] from the episode's first one."""

    key: str
    what: str
    count: int
    start: float
    end: float
    busy: float  # time its kernels ran


@dataclass(frozen=True, kw_only=True)
class Episode:
    """*others*, *total*: kernel time [us] of what is neither GEMM nor collective, and of all."""

    workload: dict[str, Any]
    tasks: dict[str, Part]
    streams: tuple[str, ...]
    first_of_streams: tuple[str, ...]  # the first task of each
    wall: float
    others: float
    total: float
    unknown: frozenset[str]  # names of kernels of unknown size
    gpus: int | None


def describe(kernels: Sequence[Kernel]) -> Episode:
    """*kernels* of one device, in order of their start."""
    known = [kernel for kernel in kernels if kernel.kind != "other"]
    unknown = frozenset(kernel.name.split("(")[0] for kernel in known if kernel.task is None)
    release = min((k.start for k in known), default=0.0)
    runs = [
        list(run)
        for stream in dict.fromkeys(k.stream for k in known)
        for _, run in groupby((k for k in known if k.stream == stream), key=lambda k: k.key)
    ]
    names = _names([run[0] for run in runs])
    streams = _stream_names(known)
    tasks = {name: _part(run, release) for name, run in zip(names, runs, strict=True)}
    firsts: dict[str, str] = {}
    for name, run in zip(names, runs, strict=True):
        firsts.setdefault(run[0].stream, name)
    others = sum(k.duration for k in kernels if k.kind == "other")
    return Episode(
        workload={} if unknown or not runs else _workload(names, runs, streams, release),
        tasks=tasks,
        streams=tuple(streams.values()),
        first_of_streams=tuple(firsts.values()),
        wall=max((part.end for part in tasks.values()), default=0.0),
        others=others,
        total=sum(k.duration for k in kernels),
        unknown=unknown,
        gpus=next((k.gpus for k in known if k.gpus), None),
    )


def _part(run: Sequence[Kernel], release: float) -> Part:
    return Part(
        key=run[0].key,
        what=task_text(run[0].task),
        count=len(run),
        start=run[0].start - release,
        end=run[-1].end - release,
        busy=sum(kernel.duration for kernel in run),
    )


def _names(firsts: Sequence[Kernel]) -> list[str]:
    """``gemm``, ``gather``; with numbers where there are several."""
    names: list[str] = []
    for kernel in firsts:
        plain = (
            "gemm"
            if kernel.kind == "gemm"
            else OP_TASKS.get((kernel.task or {}).get("op", ""), "collective")
        )
        count = sum(name == plain or name.startswith(f"{plain}_") for name in names)
        names.append(plain if not count else f"{plain}_{count + 1}")
    return names


def _stream_names(kernels: Sequence[Kernel]) -> dict[str, str]:
    """Streams of the trace -> ``compute`` and ``comm``, with numbers where there are several."""
    names: dict[str, str] = {}
    for stream in dict.fromkeys(k.stream for k in kernels):
        kinds = {k.kind for k in kernels if k.stream == stream}
        plain = "comm" if kinds == {"collective"} else "compute"
        count = sum(name.startswith(plain) for name in names.values())
        names[stream] = plain if not count else f"{plain}_{count + 1}"
    return names


def _workload(
    names: Sequence[str], runs: Sequence[Sequence[Kernel]], streams: dict[str, str], release: float
) -> dict[str, Any]:
    tasks: dict[str, Any] = {}
    for name, run in zip(names, runs, strict=True):
        repeat = {"repeat": len(run)} if len(run) > 1 else {}
        tasks[name] = {**(run[0].task or {}), "stream": streams[run[0].stream], **repeat}
    shown = [
        task_text(run[0].task) + (f", {len(run)} times" if len(run) > 1 else "") for run in runs
    ]
    launches = [kernel.launched for run in runs for kernel in run]
    order = sorted(range(len(runs)), key=lambda i: runs[i][0].launched or runs[i][0].start)
    host: dict[str, Any] = {"order": [names[i] for i in order]}
    if all(launch is not None for launch in launches):
        host["launch"] = (
            "queued"
            if all(launch <= release for launch in launches if launch is not None)
            else "eager"
        )
    by_kind = sorted(range(len(runs)), key=lambda i: runs[i][0].kind != "gemm")
    return {
        "name": " beside ".join([shown[i] for i in by_kind][:3])
        + (" and more" if len(runs) > 3 else ""),
        "tasks": tasks,
        "streams": {name: {} for name in streams.values()},
        "host": host,
    }


# Kernels on a time line: which ran beside which, how long, and in which episodes.


# an overlap of less than this share of the shorter kernel is a hand-over, not concurrency
NEGLIGIBLE = 0.01
# kernels of a device at once: GPUs of NVIDIA hold 128 grids (CUDA C++ Programming Guide, technical
# specifications per compute capability), those of AMD as many as they have hardware queues
MOST_AT_ONCE = 256


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
    """The spans in which both of two unions run."""
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
        if len(running) > MOST_AT_ONCE:
            raise InputError(
                f"more than {MOST_AT_ONCE} kernels of device '{kernel.device}' run at once at"
                f" {kernel.start:.0f} us; no GPU does that: is every event there once?"
            )
        for j in running:
            other = kernels[j]
            shared = min(kernel.end, other.end) - kernel.start
            shorter = min(kernel.duration, other.duration)
            if other.stream != kernel.stream and shared > NEGLIGIBLE * shorter:
                yield j, i
        running.append(i)


def overlaps(kernels: Sequence[Kernel]) -> list[float]:
    """The time [us] that others ran beside each of *kernels*: of one device, in order of start."""
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


# The class of a kernel by its name: GEMM or collective, its library, its macro-tile.
#
# Names of NCCL and RCCL kernels end in an algorithm and a protocol (``_RING_LL``). One such kernel
# runs all of them, so nothing is concluded from that. Macro-tiles are in the library's own order,
# as in the name.


@dataclass(frozen=True)
class KernelClass:
    """*library*: the schema's name of who wrote it; *op*: None where the name does not tell."""

    kind: Literal["gemm", "collective", "other"]
    library: str = ""
    op: str | None = None
    macro_tile: tuple[int, int] | None = None


_COLLECTIVE = re.compile(
    r"(?P<prefix>nccl|rccl)\w*?[Kk]ernel(?:_(?P<op>[A-Z][A-Za-z]+))?|(?P<other>msccl)\w*"
)
_OTHER_TRAFFIC = re.compile(
    r"flash|fmha|attention|softmax|layer_?norm|elementwise|reduce_kernel|splitKreduce|PostGSU",
    re.IGNORECASE,
)
_TENSILE = re.compile(r"Cijk_")
_TENSILE_TILE = re.compile(r"_MT(\d+)x(\d+)(?:x\d+)?")
_TILES = (
    re.compile(r"tilesize(\d+)x(\d+)x\d+"),  # sm90_xmma_gemm_..._tilesize128x128x64_...
    re.compile(r"_(\d+)x(\d+)_\d+x\d+"),  # nvjet_..._256x128_64x4_..., cutlass_..._256x128_32x3_...
    re.compile(r"_(\d{2,3})x(\d{2,3})_"),  # ampere_..._128x64_ldg8_...
    re.compile(r"_(\d{2,3})x(\d{2,3})x\d{2,3}(?:_|$)"),  # cutlass3x_sm90_..._128x256x64_...
)
_GEMMS = (
    (r"^nvjet_", "cublas"),
    (r"^(?:void )?(?:ampere|turing|volta|maxwell|hopper|blackwell|sm\d+)_\w*gemm\w*", "cublas"),
    (r"cutlass\w*gemm|cutlass\d*x?_sm\d+|cutlass_\d+_\w*gemm", "cublas"),
    (r"cutlass::(?:Kernel|device_kernel).*[Gg]emm", "cublas"),
    (r"(?:cublas\w*::)?\b(?:gemmk1|gemmSN|gemv\w*)_?kernel", "cublas"),
    (r"\bck(?:_tile)?::.*[Gg]emm|kernel_gemm_(?:xdl|mul)|^kernel_batched_gemm", "ck"),
    (r"^triton_\w*_(?:mm|bmm|addmm|matmul|gemm)(?:_|\b)", "triton"),
)
# a bare Python name: Triton has no others
_PLAIN_NAME = re.compile(r"_?(?:[a-z0-9]+_)*(?:matmul|gemm)(?:_\w+)?")


def classify(name: str) -> KernelClass:
    """The class of the kernel *name*; ``other`` when it is neither."""
    if match := _COLLECTIVE.match(name.removeprefix("void ")):
        op = collective_of(match["op"]) if match["op"] else None
        return KernelClass("collective", match["prefix"] or "rccl", op)
    if _OTHER_TRAFFIC.search(name):
        return KernelClass("other")
    if _TENSILE.search(name):
        return KernelClass("gemm", "hipblaslt", macro_tile=_tile(name, (_TENSILE_TILE,)))
    for pattern, library in _GEMMS:
        if re.search(pattern, name):
            tile = _tile(name, _TILES) if library == "cublas" else None
            return KernelClass("gemm", library, macro_tile=tile)
    if _PLAIN_NAME.fullmatch(name):
        return KernelClass("gemm", "triton")
    return KernelClass("other")


def _tile(name: str, patterns: Iterable[re.Pattern[str]]) -> tuple[int, int] | None:
    for pattern in patterns:
        if match := pattern.search(name):
            return int(match[1]), int(match[2])
    return None


# Sizes that a trace lacks: from the user's assumptions, else a warning.


_HOW = {"gemm": "m=, n=, k=, dtype=", "collective": "op=, size=, dtype="}


class Sizes:
    """Notes kernels of unknown size; ``settle`` fills in what the user assumed, where clear."""

    def __init__(self, collector: Collector):
        self._collector = collector
        self._seen: dict[str, Mapping[str, Any]] = {}
        self._reasons: dict[tuple[str, str], list[str]] = {}

    def missing(self, name: str, kind: str, reason: str, **seen: object) -> None:
        """*seen* is the part of the task that the trace has."""
        self._seen.setdefault(name, seen)
        self._reasons.setdefault((kind, name), []).append(reason)

    @staticmethod
    def key(name: str, task: Mapping[str, Any] | None) -> str:
        """The same for instances of the same work."""
        return name + json.dumps(task, sort_keys=True)

    def settle(self, kernels: Sequence[Kernel]) -> list[Kernel]:
        """*kernels* with assumed sizes, where one kernel of a kind lacks them; else a warning."""
        names: dict[str, list[str]] = {}
        for kind, name in self._reasons:
            names.setdefault(kind, []).append(name)
        filled: dict[str, Mapping[str, Any]] = {}
        for kind, unsized in names.items():
            task = self._assumed(kind, unsized[0]) if len(unsized) == 1 else None
            if task is not None:
                filled[unsized[0]] = task
                continue
            for name in unsized:
                self._warn(kind, name, several=len(unsized) > 1)
        return [self._fill(kernel, filled) for kernel in kernels]

    def _assumed(self, kind: str, name: str) -> dict[str, Any] | None:
        known, assume = classify(name), self._collector.given.assume
        if kind == "gemm":
            fixed = assumed_gemm(assume)
            tile = {"macro_tile": list(known.macro_tile)} if known.macro_tile else {}
            found: dict[str, Any] = {"library": known.library, **tile}
        else:
            fixed = assumed_collective(assume, known.op)
            found = {"backend": known.library}
        return {"kind": kind, **fixed, **found, **self._seen[name]} if fixed else None

    def _warn(self, kind: str, name: str, several: bool) -> None:
        reasons = self._reasons[kind, name]
        called = name.split("(")[0]
        called = called if len(called) <= 80 else called[:77] + "..."
        hint = "" if several else f"; if you know it: --assume {_HOW[kind]}"
        article = "no record of" if several else "no records of"
        self._collector.warn(f"{article} {called} ({len(reasons)} instances): {reasons[0]}{hint}")

    def _fill(self, kernel: Kernel, filled: Mapping[str, Mapping[str, Any]]) -> Kernel:
        if kernel.task is not None or kernel.name not in filled:
            return kernel
        task = filled[kernel.name]
        gpus = self._collector.given.assume.get("gpus")
        return replace(
            kernel,
            task=task,
            key=self.key(kernel.name, task),
            gpus=int(gpus) if gpus else kernel.gpus,
        )


# Kernel times and overlap of a trace, for people.


def kernel_lines(result: ImportResult) -> Iterator[str]:
    """A line per device, and one per GEMM and collective; the rest is counted."""
    for each in result.overlaps:
        yield (
            f"device {short(str(each.device), 40)}: GEMMs ran {each.gemm_us:.1f} us,"
            f" collectives {each.collective_us:.1f} us, both at once {each.both_us:.1f} us,"
            f" exposed communication {each.exposed_us:.1f} us"
        )
    for kernel in result.kernels:
        if kernel.kind != "other":
            yield "  " + _line(kernel)
    if others := sum(kernel.kind == "other" for kernel in result.kernels):
        yield f"  {others} other kernels are in --json"


def _line(kernel: KernelTimes) -> str:
    name = kernel.what or kernel.name.split("(")[0][:60]
    alone = f"{kernel.isolated} alone" + (
        f", median {kernel.isolated_us:.1f} us" if kernel.isolated else ""
    )
    beside = f"{kernel.concurrent} beside others"
    if kernel.concurrent:
        beside += f", median {kernel.concurrent_us:.1f} us"
        beside += f", of which {kernel.overlap_us:.1f} us overlapped"
    slower = f"; slowdown {kernel.slowdown:.3f}" if kernel.slowdown else ""
    return f"{name} (stream {', '.join(kernel.streams)}): {alone}; {beside}{slower}"

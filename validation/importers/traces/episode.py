"""One episode of concurrent kernels as a workload, with its times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ..names import OP_TASKS, task_text
from .intervals import Kernel


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

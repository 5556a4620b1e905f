"""A TransferBench log with its settings, and what its tables share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.importers.collector import Collector, us
from c3sim.importers.values import as_float

NO_GPUS = "the log does not state how many GPUs there are (--assume gpus=)"
DEVICE = re.compile(r"(CPU|GPU)\s*(\d+)")


@dataclass(frozen=True, kw_only=True)
class Log:
    """Lines, and what the header says; *gpus* is None where the log does not state it."""

    lines: tuple[str, ...]
    settings: Mapping[str, int]
    software: str
    gpus: int | None
    ended: bool  # the last line has its line end
    managed: bool  # whether launches have their parameters in managed memory

    @property
    def samples(self) -> int | None:
        """Timed iterations behind each figure; a negative setting is a time limit, not a count."""
        count = self.settings.get("NUM_ITERATIONS", 0)
        return count if count > 0 else None

    @property
    def note(self) -> str:
        memory = "fine-grained memory" if self.settings.get("USE_FINE_GRAIN") else ""
        return "; ".join(part for part in (memory,) if part)

    @property
    def facts(self) -> str:
        count = f"{self.gpus} GPUs" if self.gpus else ""
        iterations = f"{self.samples} iterations" if self.samples else ""
        return ", ".join(part for part in (count, iterations) if part)

    def add(
        self,
        collector: Collector,
        *,
        preset: str,
        workload: Mapping[str, Any],
        measured: Mapping[str, Any],
        line: int,
        note: str = "",
    ) -> None:
        """A record of this log."""
        tasks = {name: self._launched(task) for name, task in workload["tasks"].items()}
        collector.add(
            suite=f"transferbench_{preset}",
            workload={**workload, "tasks": tasks},
            measured=measured,
            software=self.software,
            facts=self.facts,
            samples=self.samples,
            note="; ".join(part for part in (note, self.note) if part),
            line=line,
            gpus=self.gpus,
        )

    def _launched(self, task: Mapping[str, Any]) -> Mapping[str, Any]:
        by_kernel = self.managed and task["executor"] == "kernel"
        return {**task, "parameters": "managed"} if by_kernel else task

    def add_copy(
        self,
        collector: Collector,
        *,
        preset: str,
        name: str,
        task: Mapping[str, Any],
        time: float,
        line: int,
        note: str = "",
    ) -> None:
        """A record of one copy, *time* [us]."""
        workload = {"name": name, "tasks": {"copy": dict(task)}}
        measured = {"isolated": {"copy": us(time)}}
        self.add(
            collector, preset=preset, workload=workload, measured=measured, line=line, note=note
        )


def cells(line: str) -> list[str]:
    """The values of a table row, separated by spaces (text) or commas (CSV)."""
    return [cell for cell in re.split(r"[,\s]+", line.strip()) if cell]


def rate(text: str) -> float | None:
    """GB/s as a number, None for N/A. Raises ValueError."""
    if text.upper() == "N/A":
        return None
    value = as_float(text)
    if not 0 < value < 1e6:
        raise ValueError(f"got {text!r}; expected a rate in GB/s above 0")
    return value


def copy_task(
    *, size: int, source: str, destination: str, peer: int | None, dma: bool, workgroups: int | None
) -> dict[str, Any]:
    """A copy of the workload schema; a DMA engine takes no workgroups."""
    task: dict[str, Any] = {
        "kind": "copy",
        "bytes": size,
        "source": source,
        "destination": destination,
    }
    if peer is not None:
        task["peer"] = peer
    task["executor"] = "dma" if dma else "kernel"
    if workgroups and not dma:
        task["workgroups"] = workgroups
    return task


# Transfers of one TransferBench test as copies of the workload schema.


# letters of TransferBench: plain and fine-grained GPU memory; host memory
_GPU_MEMORY, _HOST_MEMORY = "GF", "CBDHUK"
_SHAPE = re.compile(r"([A-Z])(\d+)")


@dataclass(frozen=True)
class Transfer:
    """One line: memories as in ``G0``; *executor* GPU (kernel), DMA or CPU, and its index."""

    gbps: float
    size: int
    source: str
    executor: str
    index: int
    workgroups: int
    destination: str
    line: int


def add_test(
    log: Log,
    collector: Collector,
    title: str,
    preset: str,
    transfers: Sequence[Transfer],
    rates: Mapping[int, float],
) -> None:
    """Copies of one GPU, or of all alike, a record as seen by each; *rates* are per GPU."""
    by_gpu: dict[int, list[dict[str, Any]]] = {}
    speeds: dict[int, list[Transfer]] = {}
    for transfer in transfers:
        try:
            task = _task(transfer, log.gpus)
        except ValueError as error:
            collector.leave_out(f"test {title!r}", str(error), transfer.line)
            return
        by_gpu.setdefault(transfer.index, []).append(task)
        speeds.setdefault(transfer.index, []).append(transfer)
    order = {gpu: _by_peer(tasks) for gpu, tasks in by_gpu.items()}
    sorted_tasks = {g: [tasks[i] for i in order[g]] for g, tasks in by_gpu.items()}
    first = next(iter(sorted_tasks))
    alike = all(tasks == sorted_tasks[first] for tasks in sorted_tasks.values())
    everyone = len(by_gpu) > 1 and alike and len(by_gpu) == log.gpus
    if len(by_gpu) > 1 and not everyone:
        reason = "its GPUs run different copies, or not all of them take part"
        has = "the schema has one GPU or all alike"
        collector.leave_out(f"test {title!r}", f"{reason}; {has}", transfers[0].line)
        return
    for gpu, tasks in sorted_tasks.items():
        mine = [speeds[gpu][i] for i in order[gpu]]
        _add_record(log, collector, title, preset, gpu, tasks, mine, rates.get(gpu), everyone)


def _by_peer(tasks: Sequence[Mapping[str, Any]]) -> list[int]:
    """Indices of *tasks*, the nearest peer first, so that the lists of two GPUs can be compared."""
    return sorted(range(len(tasks)), key=lambda index: int(tasks[index].get("peer", 0)))


def _task(transfer: Transfer, gpus: int | None) -> dict[str, Any]:
    """Raises ValueError with what the schema cannot say."""
    dma = transfer.executor in ("DMA", "D")
    if not dma and transfer.executor not in ("GPU", "GFX", "G"):
        has = "the schema has copies by kernels and DMA engines of a GPU"
        raise ValueError(f"executor {transfer.executor}; {has}")
    if transfer.gbps <= 0:
        raise ValueError(f"a rate of {transfer.gbps:g} GB/s gives no time")
    sides, peer = [], None
    for memory in (transfer.source, transfer.destination):
        match = _SHAPE.fullmatch(memory)
        if match is None or match[1] not in _GPU_MEMORY + _HOST_MEMORY:
            has = "the schema has copies between one GPU and itself, a peer or the host"
            raise ValueError(f"memory {memory!r}; {has}")
        local = int(match[2]) == transfer.index
        sides.append("host" if match[1] in _HOST_MEMORY else "gpu" if local else "peer")
        if sides[-1] == "peer":
            if gpus is None:
                raise ValueError(NO_GPUS)
            peer = (int(match[2]) - transfer.index) % gpus
    if "gpu" not in sides:
        raise ValueError("neither source nor destination is the GPU that copies")
    return copy_task(
        size=transfer.size,
        source=sides[0],
        destination=sides[1],
        peer=peer,
        dma=dma,
        workgroups=transfer.workgroups,
    )


def _add_record(
    log: Log,
    collector: Collector,
    title: str,
    preset: str,
    gpu: int,
    tasks: list[dict[str, Any]],
    transfers: list[Transfer],
    total: float | None,
    everyone: bool,
) -> None:
    times, line = [each.size / each.gbps / 1e3 for each in transfers], transfers[0].line
    seen = f", as seen by GPU{gpu}" if everyone else f" on GPU{gpu}"
    gpus = {"gpus": "all"} if everyone else {}
    if len(tasks) == 1:
        name, task = title + seen, {**tasks[0], **gpus}
        log.add_copy(collector, preset=preset, name=name, task=task, time=times[0], line=line)
        return
    names = _names(tasks)
    bytes_moved = sum(transfer.size for transfer in transfers)
    wall = bytes_moved / total / 1e3 if total else max(times)
    by = "DMA engines" if tasks[0]["executor"] == "dma" else "copy kernels"
    workload = {
        "name": f"{title} by {by}{seen}",
        "tasks": {
            name: {**task, **gpus, "stream": f"s_{name}"}
            for name, task in zip(names, tasks, strict=True)
        },
        "streams": {f"s_{name}": {} for name in names},
    }
    measured = {
        "wall_us": us(max(wall, *times)),
        "tasks": {name: {"time_us": us(time)} for name, time in zip(names, times, strict=True)},
    }
    wall_note = "wall_us is the bytes of all over the rate of the GPU"
    note = f"{len(tasks)} copies at once on each GPU; {wall_note}"
    log.add(collector, preset=preset, workload=workload, measured=measured, line=line, note=note)


def _names(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """By peer, where every copy has one of its own."""
    names = [f"to{task['peer']}" if "peer" in task else f"copy{i}" for i, task in enumerate(tasks)]
    return names if len(set(names)) == len(names) else [f"copy{i}" for i in range(len(tasks))]

"""Tests that list their transfers: preset a2a, and tests from a configuration file. Text and CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .collector import Collector, us
from .transferbench_log import Log, copy_task

__all__ = ["Transfer", "add_test", "read_tests"]

_TEST = re.compile(r"\s*Test (\d+):")
_EXECUTOR = re.compile(r"\s*Executor:\s*(\w+?)\s+(\d+)\S*\s*\|\s*([\d.]+) GB/s\s*\|.*?\|\s*(\d+) bytes")
_TRANSFER = re.compile(
    r"\s*Transfer\s+\d+\s*\|\s*([\d.]+) GB/s\s*\|.*?\|\s*(\d+) bytes\s*\|\s*"
    r"(\S+)\s*->\s*([A-Za-z]+?)\s*(\d+)(?:\.\d+)?:(\d+)\s*->\s*(\S+)"
)
_COUNT = re.compile(r"\((\d+) Transfers\)")
_GPU_MEMORY, _HOST_MEMORY = "GF", "CBDHUK"  # letters of TransferBench: plain and fine-grained GPU memory; host memory
_SHAPE = re.compile(r"([A-Z])(\d+)")


@dataclass(frozen=True)
class Transfer:
    """One line: source and destination memory as in ``G0``; *executor* GPU (kernel), DMA or CPU, and its index."""

    gbps: float
    size: int
    source: str
    executor: str
    index: int
    workgroups: int
    destination: str
    line: int


def read_tests(log: Log, collector: Collector) -> int:
    """The number of tests found."""
    tests: dict[str, list[Transfer]] = {}
    rates: dict[str, dict[int, float]] = {}
    test, expected, header = "", 0, list[str]()
    for number, line in enumerate(log.lines, 1):
        if match := _COUNT.search(line):
            expected = int(match[1])
        if match := _TEST.match(line):
            test = match[1]
        elif match := _EXECUTOR.match(line):
            rates.setdefault(test, {})[int(match[2])] = float(match[3])
        elif match := _TRANSFER.match(line):
            gbps, size, source, executor, index, workgroups, destination = match.groups()
            tests.setdefault(test, []).append(Transfer(
                float(gbps), int(size), source, executor.upper(), int(index), int(workgroups), destination, number
            ))  # fmt: skip
        elif re.match(r"\s*Transfer\s+\d", line) or re.match(r"\s*Executor:", line):
            form = "'Transfer 00 | 96.7 GB/s | 0.694 ms | 67108864 bytes | G0 -> GPU00:004 -> G1'"
            collector.broken(f"not a line of the form {form}; it may be cut off", number)
        elif line.startswith("Test#"):
            header = [cell.strip().lower() for cell in line.split(",")]
        elif header and line.count(",") >= 7:
            _read_csv(line, number, header, tests, collector)
    found = sum(map(len, tests.values()))
    if tests and expected and found < expected:
        collector.broken(f"{found} of {expected} transfers were found", len(log.lines))
        return len(tests)
    preset = "a2a" if any("All-To-All" in line for line in log.lines) else "tests"
    for name, transfers in tests.items():
        title = "all to all" if preset == "a2a" else f"T{name}"
        add_test(log, collector, title, preset, transfers, rates.get(name, {}))
    return len(tests)


def _read_csv(line: str, number: int, header: list[str], tests: dict[str, list[Transfer]], collector: Collector) -> None:
    values = dict(zip(header, (cell.strip() for cell in next(csv.reader([line]))), strict=False))
    try:
        if not values["transfer#"].isdigit():
            return  # sums over transfers
        kind = re.fullmatch(r"([A-Za-z]+)\s*(\d+)\S*", values["exe"])
        if kind is None:
            raise ValueError(f"executor {values['exe']!r}")
        transfer = Transfer(
            float(values["bw(gb/s)"]), int(values["numbytes"]), values["src"], kind[1].upper(), int(kind[2]),
            int(values["cus"]), values["dst"], number,
        )  # fmt: skip
    except (KeyError, ValueError) as error:
        columns = "Test#,Transfer#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s)"
        collector.broken(f"{error}; expected the columns {columns}; the line may be cut off", number)
        return
    tests.setdefault(values["test#"], []).append(transfer)


def add_test(
    log: Log, collector: Collector, title: str, preset: str, transfers: Sequence[Transfer], rates: Mapping[int, float]
) -> None:
    """Copies of one GPU, or the same copies on all of them (then a record as seen by each). *rates* are per GPU."""
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
    order = {g: sorted(range(len(tasks)), key=lambda i, t=tasks: t[i].get("peer", 0)) for g, tasks in by_gpu.items()}  # type: ignore[misc]
    sorted_tasks = {g: [tasks[i] for i in order[g]] for g, tasks in by_gpu.items()}
    first = next(iter(sorted_tasks))
    alike = all(tasks == sorted_tasks[first] for tasks in sorted_tasks.values())
    everyone = len(by_gpu) > 1 and alike and len(by_gpu) == log.gpus
    if len(by_gpu) > 1 and not everyone:
        reason = "its GPUs run different copies, or not all of them take part; the schema has one GPU or all alike"
        collector.leave_out(f"test {title!r}", reason, transfers[0].line)
        return
    for gpu, tasks in sorted_tasks.items():
        mine = [speeds[gpu][i] for i in order[gpu]]
        _add_record(log, collector, title, preset, gpu, tasks, mine, rates.get(gpu), everyone)


def _task(transfer: Transfer, gpus: int | None) -> dict[str, Any]:
    """Raises ValueError with what the schema cannot say."""
    dma = transfer.executor in ("DMA", "D")
    if not dma and transfer.executor not in ("GPU", "GFX", "G"):
        raise ValueError(f"executor {transfer.executor}; the schema has copies by kernels and DMA engines of a GPU")
    sides, peer = [], None
    for memory in (transfer.source, transfer.destination):
        match = _SHAPE.fullmatch(memory)
        if match is None or match[1] not in _GPU_MEMORY + _HOST_MEMORY:
            raise ValueError(f"memory {memory!r}; the schema has copies between one GPU and itself, a peer or the host")
        local = int(match[2]) == transfer.index
        sides.append("host" if match[1] in _HOST_MEMORY else "gpu" if local else "peer")
        if sides[-1] == "peer":
            if gpus is None:
                raise ValueError("the log does not tell how many GPUs there are (--assume gpus=)")
            peer = (int(match[2]) - transfer.index) % gpus
    if "gpu" not in sides:
        raise ValueError("neither source nor destination is the GPU that copies")
    return copy_task(
        size=transfer.size, source=sides[0], destination=sides[1], peer=peer, dma=dma, workgroups=transfer.workgroups
    )


def _add_record(
    log: Log, collector: Collector, title: str, preset: str, gpu: int, tasks: list[dict[str, Any]],
    transfers: list[Transfer], total: float | None, everyone: bool,
) -> None:  # fmt: skip
    times = [transfer.size / transfer.gbps / 1e3 for transfer in transfers]
    seen = f", as seen by GPU{gpu}" if everyone else f" on GPU{gpu}"
    gpus = {"gpus": "all"} if everyone else {}
    if len(tasks) == 1:
        task = {**tasks[0], **gpus}
        log.add_copy(collector, preset=preset, name=title + seen, task=task, time=times[0], line=transfers[0].line)
        return
    names = [f"to{task['peer']}" if "peer" in task else f"copy{i}" for i, task in enumerate(tasks)]
    if len(set(names)) < len(names):
        names = [f"copy{i}" for i in range(len(tasks))]
    bytes_moved = sum(transfer.size for transfer in transfers)
    wall = bytes_moved / total / 1e3 if total else max(times)
    workload = {
        "name": f"{title} by {'DMA engines' if tasks[0]['executor'] == 'dma' else 'copy kernels'}{seen}",
        "tasks": {name: {**task, **gpus, "stream": f"s_{name}"} for name, task in zip(names, tasks, strict=True)},
        "streams": {f"s_{name}": {} for name in names},
    }
    measured = {
        "wall_us": us(max(wall, *times)),
        "tasks": {name: {"time_us": us(time)} for name, time in zip(names, times, strict=True)},
    }
    note = f"{len(tasks)} copies at once on each GPU; wall_us is the bytes of all over the rate of the GPU"
    collector.add(
        suite=f"transferbench_{preset}", workload=workload, measured=measured, software=log.software, facts=log.facts,
        samples=log.samples, note="; ".join(filter(None, (note, log.note))), line=transfers[0].line, gpus=log.gpus,
    )  # fmt: skip

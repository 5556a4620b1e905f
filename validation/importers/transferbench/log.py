"""A TransferBench log with its settings, and what its tables share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..collector import Collector, us
from ..numbers import as_float

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
    *,
    size: int,
    source: str,
    destination: str,
    peer: int | None,
    dma: bool,
    workgroups: int | None,
    gpus: str = "",
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
    if gpus:
        task["gpus"] = gpus
    return task

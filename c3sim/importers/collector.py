"""Collects the records and remarks of one log while an importer reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from c3sim.errors import InputErrors
from c3sim.importers.result import Given, ImportResult, KernelTimes, Overlap, Remark
from c3sim.spec.reading.checks.workload import check_workload
from c3sim.spec.record import Record, record_id


def us(value: float) -> float:
    """Microseconds to a tenth of a nanosecond, which is more than any log has."""
    return round(value, 4)


class Collector:
    """``add`` for what was read, ``warn`` for doubts, ``leave_out`` and ``broken`` for the rest."""

    def __init__(self, format: str, given: Given):
        self.format, self.given = format, given
        self.kernels: list[KernelTimes] = []
        self.overlaps: list[Overlap] = []
        self._records: list[dict[str, Any]] = []
        self._remarks: list[Remark] = []
        self._left_out: dict[tuple[str, str], list[int]] = {}

    def broken(self, message: str, line: int = 0) -> None:
        """Something that could not be read: the result is partial."""
        self._remarks.append(Remark(message, line, lost=True))

    def warn(self, message: str, line: int = 0) -> None:
        """Something the user should know; said once."""
        if all(remark.message != message for remark in self._remarks):
            self._remarks.append(Remark(message, line))

    def leave_out(self, what: str, reason: str, line: int = 0) -> None:
        """A measurement that is no record; the same reason is reported once, with a count."""
        self._left_out.setdefault((what, reason), []).append(line)

    def add(
        self,
        *,
        suite: str,
        workload: Mapping[str, Any],
        measured: Mapping[str, Any],
        software: str,
        facts: str = "",
        samples: int | None = None,
        note: str = "",
        line: int = 0,
        gpus: int | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """A record, unless it is not valid, or of another number of *gpus* than the node has; with
        *more* fields.
        """
        given = self.given
        if gpus is not None and given.gpus is not None and gpus != given.gpus:
            reason = f"measured on {gpus} GPUs, but node {given.node!r} has {given.gpus}"
            self.leave_out("measurement", f"{reason}; name the node it was measured on", line)
            return
        conditions = {"schema": 1, "name": workload["name"], "node": given.node, **workload}
        record: dict[str, Any] = {
            "schema": 1,
            "id": record_id(given.node, conditions, "as_written", software),
            "suite": given.suite or suite,
            "node": given.node,
            "workload": conditions,
            "strategy": "as_written",
            "measured": dict(measured),
            **({"samples": samples} if samples else {}),
            "source": self._source(facts),
            "software": software,
            "role": self._role(workload),
            **({"note": note} if note else {}),
            **(more or {}),
        }
        if fault := _fault(record):
            self.broken(f"{workload['name']}: {fault}", line)
        else:
            self._records.append(record)

    def _role(self, workload: Mapping[str, Any]) -> str:
        """The role that the user gave, but validation for tasks that ran at the same time."""
        if self.given.role != "calibration" or len(workload["tasks"]) < 2:
            return self.given.role
        reason = "tasks that ran at the same time are never fitted to"
        self.warn(f"{reason}: these records have the role validation")
        return "validation"

    def _source(self, facts: str) -> str:
        """Source of the log: the user's words, *facts* of the log, what the user assumed."""
        assumed = ", ".join(f"{key}={value}" for key, value in self.given.assume.items())
        origin = (self.given.origin, facts, f"assumed by the user: {assumed}" if assumed else "")
        return "; ".join(part for part in origin if part)

    @property
    def count(self) -> int:
        """Records so far."""
        return len(self._records)

    def result(self) -> ImportResult:
        remarks = list(self._remarks)
        for (what, reason), lines in self._left_out.items():
            several = "" if len(lines) == 1 else f" ({len(lines)} of them, this is the first)"
            remarks.append(Remark(f"{what} left out: {reason}{several}", lines[0]))
        return ImportResult(
            format=self.format,
            records=tuple(self._records),
            remarks=tuple(sorted(remarks, key=lambda remark: remark.line)),
            kernels=tuple(self.kernels),
            overlaps=tuple(self.overlaps),
        )


def _fault(record: dict[str, Any]) -> str:
    """Mistake in *record*; empty where there is none."""
    try:
        check_workload(Record.model_validate(record).workload)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"{where}: got {first.get('input')!r}; {first['msg'].lower()}"
    except InputErrors as error:
        return str(error.errors[0])
    return ""

"""A measurement record: one JSON line, self-contained (schema 1).

``id`` is a hash of the conditions (node, workload, strategy, software), never of results or role; two lines with one
id are repeats of one measurement. Times are in microseconds, as in the logs they come from.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from c3sim.specs.workload import Workload

__all__ = ["Measured", "Record", "TaskTime", "record_id"]

Microseconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskTime(Spec):
    """From the common release of all streams (see design: task time), and the start where known."""

    time_us: Microseconds
    start_us: float | None = Field(None, ge=0)


class Measured(Spec):
    wall_us: Microseconds | None = None
    tasks: dict[str, TaskTime] = {}
    isolated: dict[str, Microseconds] = Field(
        {}, description="each task alone, as the same source measured it"
    )


class Record(Spec):
    schema_version: Literal[1] = Field(1, alias="schema")
    id: str
    suite: str = Field(description="the table or campaign it belongs to")
    node: str
    workload: Workload
    strategy: str = "as_written"
    measured: Measured
    samples: Annotated[int, Field(gt=0)] | None = Field(
        None, description="how many runs stand behind the figures"
    )
    source: str
    software: str
    role: Literal["calibration", "validation"]
    note: str = ""
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def record_id(node: str, workload: dict[str, object], strategy: str, software: str) -> str:
    """First 16 hex digits of the SHA-256 of the conditions as canonical JSON (sorted keys, no spaces)."""
    text = json.dumps(
        [node, workload, strategy, software], sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]

"""A measurement record: one JSON line, self-contained (schema 1).

``id`` is a hash of the conditions (node, workload, strategy, software), never of results or role;
two lines with one id are repeats of one measurement. Times are in microseconds, as in the logs.
What the probe harness adds (machine to observed) is optional and never part of the ``id``.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from c3sim.spec.base import SchemaOne, Spec
from c3sim.spec.workload import Workload


def _iso_date(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"got {text!r}; must be an ISO 8601 date, as in 2026-11-22T09:30:00Z"
        ) from None
    return text


Microseconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
IsoDate = Annotated[str, AfterValidator(_iso_date)]


class TaskTime(Spec):
    """From the common release of all streams (see design: task time), and the start where known."""

    time_us: Microseconds
    start_us: float | None = Field(None, ge=0)
    moving_us: Microseconds | None = None
    """time of a collective in a loop, less what it waits for ranks: 5th percentile over turns"""
    waited_for_ranks_us: float | None = Field(None, ge=0)
    """wait of a collective, from its start until its channels are there on every rank"""


class Measured(Spec):
    wall_us: Microseconds | None = None
    tasks: dict[str, TaskTime] = Field({})
    isolated: dict[str, Microseconds] = Field({})
    """each task alone, as the same source measured it"""
    lasting: dict[str, Microseconds] = Field({})
    """from a task's own start to its end, where a source has only that: behind another task"""

    @property
    def has_times(self) -> bool:
        """True if there is anything to compare a prediction with."""
        return self.wall_us is not None or any((self.tasks, self.isolated, self.lasting))

    def text(self) -> str:
        """JSON, without *lasting* and waits where there are none, as files had before: hashes of
        fits stay. No serializer of Python does it: pydantic makes its own error of a Ctrl-C there.
        """
        waits = ("moving_us", "waited_for_ranks_us")
        left_out: dict[str, Any] = {
            "tasks": {
                name: {each for each in waits if getattr(task, each) is None}
                for name, task in self.tasks.items()
            }
        }
        return self.model_dump_json(
            exclude=left_out if self.lasting else left_out | {"lasting": True}
        )


class GpuInfo(Spec):
    """One GPU of the machine; what cannot be read is left out."""

    name: str
    compute_units: Annotated[int, Field(gt=0)] | None = None
    memory_bytes: Annotated[int, Field(gt=0)] | None = None
    l2_bytes: Annotated[int, Field(ge=0)] | None = None
    pci: str = ""


class Reading(Spec):
    """Clocks, power and temperature of one GPU at one moment; what cannot be read is left out."""

    core_clock_mhz: float | None = Field(None, ge=0)
    memory_clock_mhz: float | None = Field(None, ge=0)
    power_w: float | None = Field(None, ge=0)
    temperature_c: float | None = None
    limited_by: Literal["power", "thermal", "other"] | None = None


class Machine(Spec):
    """State of the machine; readings, one per GPU, just before and just after the
    measurement.
    """

    gpus: tuple[GpuInfo, ...] = ()
    driver: str = ""
    runtime: str = ""
    compiler: str = ""
    libraries: dict[str, str] = Field({})
    before: tuple[Reading, ...] = ()
    after: tuple[Reading, ...] = ()


class Samples(Spec):
    """Every sample of one time, in the order they were taken."""

    times_us: tuple[Microseconds, ...] = Field(min_length=1)
    disturbed: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """indices of samples that were throttled or disturbed"""
    why: str = ""
    """what disturbed them"""


class Record(Spec):
    schema_version: SchemaOne = Field(1, alias="schema")
    id: str
    suite: str
    """the table or campaign it belongs to"""
    node: str
    workload: Workload
    strategy: str = "as_written"
    measured: Measured
    samples: Annotated[int, Field(gt=0)] | None = None
    """how many runs stand behind the figures"""
    source: str
    software: str
    role: Literal["calibration", "validation"]
    note: str = ""
    machine: Machine | None = None
    command: str = ""
    """the exact command line that measured it"""
    revision: str = ""
    """git revision of the harness"""
    date: IsoDate | None = None
    sets: dict[str, Samples] = Field({})
    """all samples of 'wall', 'tasks.NAME' and 'isolated.NAME'"""
    observed: dict[str, Any] = Field({})
    """what the workload cannot say: latencies, where each workgroup ran"""


def record_id(node: str, workload: dict[str, object], strategy: str, software: str) -> str:
    """First 16 hex digits of the SHA-256 of the conditions as canonical JSON."""
    conditions = [node, workload, strategy, software]
    text = json.dumps(conditions, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]

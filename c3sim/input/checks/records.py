"""What must hold between the fields of a measurement record: names of tasks, times, samples."""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.errors import InputError
from c3sim.input.hints import unknown_errors
from c3sim.input.yaml_nodes import join
from c3sim.specs.record import Record


def check_record(record: Record) -> list[InputError]:
    """Every mistake between fields that are right one by one; paths are those of the record."""
    return [*_times(record), *_samples(record)]


def _times(record: Record) -> Iterator[InputError]:
    measured = record.measured
    if not measured.has_times and not record.observed:
        message = "holds no time; needs wall_us, tasks or isolated, or the record 'observed'"
        yield InputError(message, "measured")
    for part, names in (("tasks", measured.tasks), ("isolated", measured.isolated)):
        for name in names:
            path = join("measured", part, name)
            yield from unknown_errors("task", name, record.workload.tasks, path)


def _samples(record: Record) -> Iterator[InputError]:
    names = record.workload.tasks
    allowed = ["wall", *(f"{part}.{name}" for part in ("tasks", "isolated") for name in names)]
    for name, samples in record.sets.items():
        path = join("sets", name)
        yield from unknown_errors("set of samples", name, allowed, path)
        count = len(samples.times_us)
        for place, index in enumerate(samples.disturbed):
            if index >= count:
                message = f"got {index}; must be less than {count}, the number of samples"
                yield InputError(message, f"{path}.disturbed[{place}]")

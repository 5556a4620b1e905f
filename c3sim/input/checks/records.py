"""What must hold between the fields of a measurement record: names of tasks, times, samples."""

from __future__ import annotations

import math
from collections.abc import Iterator

from c3sim.errors import InputError
from c3sim.input.documents import join
from c3sim.specs.record import Record
from c3sim.specs.words import unknown_errors


def check_record(record: Record) -> list[InputError]:
    """Every mistake between fields that are right one by one; paths are those of the record."""
    return [*_times(record), *_samples(record), *_energy(record)]


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


def _energy(record: Record) -> Iterator[InputError]:
    """Of a load in a loop, what is compared: the power of each GPU, and the time of a turn."""
    energy = record.observed.get("energy")
    if not isinstance(energy, dict):
        return
    where = join("observed", "energy")
    turn = energy.get("iteration_us")
    if turn is not None and not _is_positive(turn):
        message = f"got {str(turn)[:40]!r}; must be a number greater than 0"
        yield InputError(message, join(where, "iteration_us"))
    gpus = energy.get("gpus") or ()
    if not isinstance(gpus, tuple) or not all(
        isinstance(gpu, dict) and _is_positive(gpu.get("power_w")) for gpu in gpus
    ):
        message = "must be a list of GPUs, each with power_w, a number greater than 0"
        yield InputError(message, join(where, "gpus"))


def _is_positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value > 0

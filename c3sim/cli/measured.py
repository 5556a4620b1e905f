"""``--measured``: the step that was measured, which a run is held against and begins from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from c3sim.errors import InputError

if TYPE_CHECKING:
    from c3sim.cli.against import Given
    from c3sim.importers.workloads.step import StepTimes
    from c3sim.iterations.calibrated import Calibrated

Measured = Annotated[
    list[str] | None,
    Option(
        "--measured",
        metavar="TRACE|wall=TIME|exposed=TIME",
        help="Of an iteration: traces of the step as it ran (files, or their folder), or its times."
        " Says what differs by class, fixes what the host and the kernels of that machine take;"
        " --set, --strategy and --against then ask what if. May be repeated.",
    ),
]


def measured_step(texts: Sequence[str]) -> StepTimes:
    """The step that *texts* of ``--measured`` name. Raises InputError."""
    from c3sim.importers.workloads.step import StepTimes, step_times
    from c3sim.spec.quantities import Time
    from c3sim.spec.reading.mistakes import convert

    times: dict[str, float] = {}
    paths = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            paths.append(Path(text))
        elif name not in ("wall", "exposed"):
            raise InputError(f"{name!r} is not measured; allowed: wall, exposed", "--measured")
        else:
            times[name] = convert(Time, value.strip(), "text", "--measured")
    if paths and times:
        raise InputError("a trace has its own times; give one or the other", "--measured")
    if paths:
        return step_times(paths)
    if "wall" not in times:
        raise InputError("exposed alone says too little; give wall=TIME too", "--measured")
    wall, exposed = times["wall"], times.get("exposed")
    if not wall > 0 or not 0 <= (exposed or 0.0) < wall:
        raise InputError("must be 0 s < wall, and exposed less than that", "--measured")
    return StepTimes(name="the step", wall_s=wall, exposed_s=exposed, busy_s={})


def calibrate(given: Given, texts: Sequence[str]) -> Calibrated:
    """The iteration that was asked for, without what ``--set`` changes, as the measured machine
    runs it. Raises InputError: it is none.
    """
    from c3sim.api import prepare
    from c3sim.iterations.calibrated import calibrated
    from c3sim.spec.iteration import Described

    workload, node = prepare(given.workload, given.node)
    if not isinstance(workload, Described):
        message = "is for iterations; traces become workloads by: c3sim import --as workload"
        raise InputError(message, "--measured")
    return calibrated(workload, node, measured_step(texts))


def band(found: Calibrated, given: Given) -> tuple[dict[str, float], int]:
    """5th percentile, median and 95th of the what-if's wall time [s]: the measured one, and the
    difference with the same draws in both; of how many draws.
    """
    from c3sim.cli.against import band_between
    from c3sim.spec.reading.settings import Settings

    plain = replace(given, settings=Settings(), strategy="as_written")
    change, draws = band_between(plain, given, lambda effort: None)
    wall = found.measured.wall_s
    return {name: wall + found.left_over * value for name, value in change.items()}, draws

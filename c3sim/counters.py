"""Counters of a timeline from the recorded rates: bandwidths, clock, power, busy compute units, DMA engines.

    gpu0.hbm, gpu0.l2, gpu0.link[3].out, gpu0.dma[2] ...   B/s, by task, beside the capacity
    gpu0.dma                                               B/s, all engines together
    gpu0.compute_units                                     units that hold working workgroups, by task
    gpu0.power                                             W, idle power included in the total
    gpu0.clock                                             Hz

Values hold from their instant to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from c3sim.energy import flow_power
from c3sim.machine import Machine
from c3sim.observe import Recorder, Segment
from c3sim.result import Counter

__all__ = ["counters"]

Part = tuple[float, float, str, float]  # start, end, task, value


def counters(recorder: Recorder, machine: Machine) -> tuple[Counter, ...]:
    """Every counter of the run that *recorder* saw on *machine*, by name."""
    gpu = machine.node.gpu
    parts = _parts(machine, recorder.segments())
    found = []
    for name, pieces in parts.items():
        _, _, part = name.partition(".")
        base, unit, maximum = 0.0, "B/s", None
        if part == "compute_units":
            unit, maximum = "1", float(gpu.compute_unit_count)
        elif part == "power":
            base, unit, maximum = gpu.clock.idle_power, "W", gpu.clock.power_limit
        elif part == "dma":
            maximum = gpu.dma_engines.count * gpu.dma_engines.bandwidth
        else:
            maximum = machine._value(name)
        times, values, by_task = _steps(pieces, base)
        found.append(
            Counter(name=name, unit=unit, times=times, values=values, maximum=maximum, by_task=by_task)
        )
    for domain, steps in recorder.clocks.items():
        where, _, task = domain.partition("~")  # a domain may be one task's own
        name = f"{where.partition('.')[0]}.clock" + (f"~{task}" if task else "")
        times, values = [time for time, _ in steps], [factor * gpu.clock.maximum for _, factor in steps]
        found.append(Counter(name=name, unit="Hz", times=times, values=values, maximum=gpu.clock.maximum))
    return tuple(sorted(found, key=lambda counter: counter.name))


def _parts(machine: Machine, segments: Iterable[Segment]) -> dict[str, list[Part]]:
    """What each flow adds to each counter, and when."""
    parts: dict[str, list[Part]] = {}

    def add(name: str, segment: Segment, value: float) -> None:
        if value > 0:
            part = (segment.start, segment.end, segment.flow.tags.task, value)
            parts.setdefault(name, []).append(part)

    for segment in segments:
        tags = segment.flow.tags
        here = f"gpu{machine.home(tags.gpu)}"
        for name, amount in segment.flow.amounts:
            add(name, segment, amount * segment.rate)
            gpu, _, part = name.partition(".")
            if part.startswith("dma["):
                add(f"{gpu}.dma", segment, amount * segment.rate)
        add(f"{here}.compute_units", segment, tags.compute_units)
        add(f"{here}.power", segment, flow_power(machine.node.gpu, segment))
    return parts


def _steps(parts: Sequence[Part], base: float) -> tuple[list[float], list[float], dict[str, list[float]]]:
    """The sum of *parts* over time as a step function from 0 on, in total (plus *base*) and by task."""
    tasks = list(dict.fromkeys(task for _, _, task, _ in parts))
    instants = sorted({0.0, *(start for start, *_ in parts), *(end for _, end, *_ in parts)})
    opening: dict[float, list[int]] = {}
    closing: dict[float, list[int]] = {}
    for number, (start, end, _, _) in enumerate(parts):
        opening.setdefault(start, []).append(number)
        closing.setdefault(end, []).append(number)
    active: dict[int, None] = {}
    times: list[float] = []
    rows: list[tuple[float, ...]] = []
    for instant in instants:
        for number in closing.get(instant, ()):
            del active[number]
        active.update(dict.fromkeys(opening.get(instant, ())))
        sums = dict.fromkeys(tasks, 0.0)
        for number in active:
            sums[parts[number][2]] += parts[number][3]
        row = tuple(sums.values())
        if not rows or row != rows[-1]:
            times.append(instant)
            rows.append(row)
    by_task = {task: [row[column] for row in rows] for column, task in enumerate(tasks)}
    return times, [base + sum(row) for row in rows], by_task

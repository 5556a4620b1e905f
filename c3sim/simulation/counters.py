"""Counters of a timeline from the recorded rates: bandwidths, clock, power, busy compute units, DMA
engines.

    gpu0.hbm, gpu0.l2, gpu0.link[3].out, gpu0.dma[2] ...   B/s, by task, beside the capacity
    gpu0.dma                                               B/s, all engines together
    gpu0.compute_units                                     units that hold working workgroups, by task
    gpu0.power                                             W, by task and by component, idle power included
    gpu0.clock                                             Hz

Values hold from their instant to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from c3sim.engine.recorder import Recorder, Segment
from c3sim.machine.energy import COMPONENT_OF, IDLE, components_of, flow_powers
from c3sim.machine.machine import Machine
from c3sim.result import Counter

Part = tuple[float, float, tuple[str, str], float]  # start, end, (task, component), value


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
        times, rows = _steps(pieces)
        by_task, by_component = _sums(rows, 0), {}
        if part == "power":
            spent = _sums(rows, 1) | {COMPONENT_OF[IDLE]: [base] * len(times)}
            by_component = {key: spent[key] for key in components_of(machine.node) if key in spent}
        values = [base + sum(row.values()) for row in rows]
        found.append(
            Counter(
                name=name,
                unit=unit,
                times=times,
                values=values,
                maximum=maximum,
                by_task=by_task,
                by_component=by_component,
            )
        )
    for domain, steps in recorder.clocks.items():
        where, _, task = domain.partition("~")  # a domain may be one task's own
        name = f"{where.partition('.')[0]}.clock" + (f"~{task}" if task else "")
        times, values = (
            [time for time, _ in steps],
            [factor * gpu.clock.maximum for _, factor in steps],
        )
        found.append(
            Counter(name=name, unit="Hz", times=times, values=values, maximum=gpu.clock.maximum)
        )
    return tuple(sorted(found, key=lambda counter: counter.name))


def _parts(machine: Machine, segments: Iterable[Segment]) -> dict[str, list[Part]]:
    """What each flow adds to each counter, and when."""
    parts: dict[str, list[Part]] = {f"gpu{gpu}.power": [] for gpu in machine.gpus}

    def add(name: str, segment: Segment, value: float, component: str = "") -> None:
        if value > 0:
            part = (segment.start, segment.end, (segment.flow.tags.task, component), value)
            parts.setdefault(name, []).append(part)

    for segment in segments:
        tags = segment.flow.tags
        home = machine.home(tags.gpu)
        for name, amount in segment.flow.amounts:
            add(name, segment, amount * segment.rate)
            gpu, _, part = name.partition(".")
            if part.startswith("dma["):
                add(f"{gpu}.dma", segment, amount * segment.rate)
        add(f"gpu{home}.compute_units", segment, tags.compute_units)
        for where, name, watts in flow_powers(machine.node.gpu, home, segment):
            add(f"gpu{where}.power", segment, watts, COMPONENT_OF[name])
    return parts


def _steps(parts: Sequence[Part]) -> tuple[list[float], list[dict[tuple[str, str], float]]]:
    """The sum of *parts* over time as a step function from 0 on, by task and component."""
    keys = list(dict.fromkeys(key for _, _, key, _ in parts))
    instants = sorted({0.0, *(start for start, *_ in parts), *(end for _, end, *_ in parts)})
    opening: dict[float, list[int]] = {}
    closing: dict[float, list[int]] = {}
    for number, (start, end, _, _) in enumerate(parts):
        opening.setdefault(start, []).append(number)
        closing.setdefault(end, []).append(number)
    active: dict[int, None] = {}
    times: list[float] = []
    rows: list[dict[tuple[str, str], float]] = []
    for instant in instants:
        for number in closing.get(instant, ()):
            del active[number]
        active.update(dict.fromkeys(opening.get(instant, ())))
        row = dict.fromkeys(keys, 0.0)
        for number in active:
            row[parts[number][2]] += parts[number][3]
        if not rows or row != rows[-1]:
            times.append(instant)
            rows.append(row)
    return times, rows


def _sums(rows: Sequence[Mapping[tuple[str, str], float]], place: int) -> dict[str, list[float]]:
    """*rows* summed over all but that *place* of their keys: a column per task (0) or component
    (1).
    """
    columns = {key[place]: [0.0] * len(rows) for key in (rows[0] if rows else ())}
    for number, row in enumerate(rows):
        for key, value in row.items():
            columns[key[place]][number] += value
    return columns

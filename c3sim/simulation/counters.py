"""Counters of a timeline from the recorded rates: bandwidths, clock, power, busy compute units.

    gpu0.hbm, gpu0.link[3].out, gpu0.dma[2] ...   B/s, by task, beside the capacity; of a link with
                                                  what it answers
    gpu0.dma                                      B/s, all engines together
    gpu0.compute_units                            units that hold working workgroups; by task those
                                                  of each, which add up to more where tasks share
                                                  units
    gpu0.power                                    W, by task and by component, with idle power
    gpu0.clock                                    Hz

Values hold from their instant to the next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from c3sim.engine.flow import Flow
from c3sim.engine.recorder import Recorder, Segment
from c3sim.machine.drawing import rate_of
from c3sim.machine.energy import flow_powers
from c3sim.machine.machine import Machine
from c3sim.models.capacity import Capacity
from c3sim.processes.kernels.dispatcher import Dispatcher
from c3sim.result import Counter
from c3sim.spec.energies import COMPONENT_OF, IDLE, components_of
from c3sim.spec.hardware import Node


class MemoryCounter:
    """An observer of the fluid layer. ``reads`` and ``writes``: bytes of GPU 0's memory, by
    task.
    """

    def __init__(self) -> None:
        self.reads: dict[str, float] = defaultdict(float)
        self.writes: dict[str, float] = defaultdict(float)
        self._since: dict[Flow, tuple[float, float]] = {}

    def rates(self, time: float, flows: Iterable[Flow], states: dict[Hashable, Any]) -> None:
        """Count what flowed at the rates before; these hold from *time* on."""
        for flow in flows:
            self._count(flow, time)
            self._since[flow] = time, flow.rate

    def ended(self, time: float, flow: Flow) -> None:
        self._count(flow, time)
        self._since.pop(flow, None)

    def _count(self, flow: Flow, time: float) -> None:
        since, rate = self._since.get(flow, (time, 0.0))
        done = (time - since) * rate
        if flow.tags.gpu == 0:
            self.reads[flow.tags.task] += done * flow.tags.traffic.hbm_read
            self.writes[flow.tags.task] += done * flow.tags.traffic.hbm_write


class UnitsHeld:
    """An observer of the fluid layer that counts in the *dispatchers* of a run, by GPU and group of
    tasks, whenever rates are solved.
    """

    def __init__(self, dispatchers: Mapping[tuple[int, str], Dispatcher]) -> None:
        self._dispatchers = dispatchers
        self._steps: dict[int, tuple[list[float], list[int]]] = {}

    def rates(self, time: float, flows: Iterable[Flow], states: Mapping[Hashable, Any]) -> None:
        held: dict[int, int] = {}
        for (gpu, _), dispatcher in self._dispatchers.items():
            held[gpu] = held.get(gpu, 0) + dispatcher.floor.units
        for gpu, units in held.items():
            times, values = self._steps.setdefault(gpu, ([], []))
            if not values or values[-1] != units:
                times.append(time)
                values.append(units)

    def ended(self, time: float, flow: Flow) -> None:
        """A unit is left when rates are solved next, at the same instant."""

    def times(self, gpu: int) -> list[float]:
        """Times [s] at which the number of *gpu* changes."""
        return self._steps.get(gpu, ([], []))[0]

    def at(self, gpu: int, time: float) -> int:
        """Units of *gpu* that hold workgroups from *time* [s] on."""
        times, values = self._steps.get(gpu, ([], []))
        step = bisect_right(times, time) - 1
        return values[step] if step >= 0 else 0


Key = tuple[str, str]  # task, component
Part = tuple[float, float, Key, float]  # start, end, key, value


#: Tasks of a run whose counters are split by task; of more the parts would be the square of it.
MOST_SPLIT = 100


def counters(recorder: Recorder, machine: Machine, held: UnitsHeld) -> tuple[Counter, ...]:
    """Every counter of the run that *recorder* saw on *machine*, by name; *held*: its compute units
    that hold workgroups. With more than MOST_SPLIT tasks they are not split by task.
    """
    segments = recorder.segments()
    split = len({segment.flow.tags.task for segment in segments}) <= MOST_SPLIT
    parts = _parts(machine, segments, split)
    rows = [_counter(machine.node, place, pieces, held) for place, pieces in parts.items()]
    clock = machine.node.gpu.clock
    for place, steps in recorder.clocks.items():
        assert isinstance(place, Capacity)
        rows.append(
            Counter(
                place=place,
                unit="Hz",
                times=[time for time, _ in steps],
                values=[factor * clock.maximum for _, factor in steps],
                maximum=clock.maximum,
            )
        )
    return tuple(sorted(rows, key=lambda counter: counter.name))


def _counter(node: Node, place: Capacity, parts: Sequence[Part], held: UnitsHeld) -> Counter:
    """The sum of *parts*, in total, by task, and of power by component. A compute unit on which
    several tasks work counts once in the total.
    """
    base, unit, maximum = 0.0, "B/s", None
    if place.kind == "compute_units":
        unit, maximum = "1", float(node.gpu.compute_unit_count)
    elif place.kind == "power":
        clock = node.gpu.clock
        base, unit, maximum = clock.idle_power, "W", clock.power_limit
    elif place.kind == "dma" and place.number is None:
        maximum = node.gpu.dma_engines.count * rate_of(node, place)
    else:
        maximum = rate_of(node, place)
    of_units = place.kind == "compute_units"
    times, rows = _steps(parts, held.times(place.owner_number) if of_units else ())
    values = [base + sum(row.values()) for row in rows]
    if of_units:
        together = [held.at(place.owner_number, time) for time in times]
        values = [_once(*given) for given in zip(values, rows, together, strict=True)]
    by_component = {}
    if place.kind == "power":
        spent = _sums(rows, 1) | {COMPONENT_OF[IDLE]: [base] * len(times)}
        by_component = {key: spent[key] for key in components_of(node) if key in spent}
    return Counter(
        place=place,
        unit=unit,
        times=times,
        values=values,
        maximum=maximum,
        by_task={task: values for task, values in _sums(rows, 0).items() if task},
        by_component=by_component,
    )


def _once(units: float, row: Mapping[Key, float], held: int) -> float:
    """Number of different compute units among *units* by task: as many as are *held* by any task,
    but no fewer than one task says it has.
    """
    return min(units, max([held, *(own for (task, _), own in row.items() if task)]))


def _parts(
    machine: Machine, segments: Iterable[Segment], split: bool
) -> dict[Capacity, list[Part]]:
    """Contribution of each flow to each counter over time; the task is empty if not *split*."""
    parts: dict[Capacity, list[Part]] = {Capacity("gpu", gpu, "power"): [] for gpu in machine.gpus}

    def add(place: Capacity, segment: Segment, value: float, component: str = "") -> None:
        if value > 0:
            task = segment.flow.tags.task if split else ""
            part = (segment.start, segment.end, (task, component), value)
            parts.setdefault(place, []).append(part)

    for segment in segments:
        tags = segment.flow.tags
        home = machine.home(tags.gpu)
        for capacity, amount in segment.flow.amounts:
            assert isinstance(capacity, Capacity)
            add(capacity, segment, amount * segment.rate)
            if capacity.kind == "dma":
                engines = Capacity(capacity.owner, capacity.owner_number, "dma")
                add(engines, segment, amount * segment.rate)
        add(Capacity("gpu", home, "compute_units"), segment, tags.declared.compute_units)
        for where, name, watts in flow_powers(machine.node.gpu, home, segment):
            add(Capacity("gpu", where, "power"), segment, watts, COMPONENT_OF[name])
    return parts


def _steps(
    parts: Sequence[Part], also: Iterable[float]
) -> tuple[list[float], list[dict[Key, float]]]:
    """The sum of *parts* over time as a step function from 0 on, by task and component, with a step
    at *also* those instants.
    """
    keys = list(dict.fromkeys(key for _, _, key, _ in parts))
    kept = set(also)
    instants = sorted({0.0, *kept, *(start for start, *_ in parts), *(end for _, end, *_ in parts)})
    opening: dict[float, list[int]] = {}
    closing: dict[float, list[int]] = {}
    for number, (start, end, _, _) in enumerate(parts):
        opening.setdefault(start, []).append(number)
        closing.setdefault(end, []).append(number)
    active: dict[int, None] = {}
    times: list[float] = []
    rows: list[dict[Key, float]] = []
    for instant in instants:
        for number in closing.get(instant, ()):
            del active[number]
        active.update(dict.fromkeys(opening.get(instant, ())))
        row = dict.fromkeys(keys, 0.0)
        for number in active:
            row[parts[number][2]] += parts[number][3]
        if not rows or row != rows[-1] or instant in kept:
            times.append(instant)
            rows.append(row)
    return times, rows


def _sums(rows: Sequence[Mapping[Key, float]], position: int) -> dict[str, list[float]]:
    """*rows* as a column per task (*position* 0 of their keys) or per component (1)."""
    columns = {key[position]: [0.0] * len(rows) for key in (rows[0] if rows else ())}
    for number, row in enumerate(rows):
        for key, value in row.items():
            columns[key[position]][number] += value
    return columns

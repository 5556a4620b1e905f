"""A figure: one time, slowdown, power or energy, predicted and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from c3sim.evaluation.trust import outside
from c3sim.spec.hardware import Node
from c3sim.spec.record import Record

from .baselines import NO_BASELINES, Baselines, baselines_of
from .loops import UNITS
from .measurements import FigureKey, Measurement, measured_figures
from .predict import Predicted, Progress, predict, predict_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """*predicted* beside *measured*: a time in us, a slowdown, a power in W or an energy in J.

    *metric* as in :func:`measured_figures`; *task* is empty for what belongs to the run.
    """

    measurement: Measurement = field(repr=False)
    metric: str
    task: str
    predicted: float
    measured: float
    baselines: Baselines = NO_BASELINES
    given: float | None = None  # predicted slowdown times measured isolated time
    outside: str = ""  # why its record lies outside what its libraries were calibrated on

    @property
    def record(self) -> Record:
        """Record of the figure; of repeats, the one with their mean times."""
        return self.measurement.record

    @property
    def suite(self) -> str:
        return self.record.suite

    @property
    def held_out(self) -> bool:
        """True if no fit may use it (role validation)."""
        return self.record.role == "validation"

    @property
    def error(self) -> float:
        """Signed relative error."""
        return self.predicted / self.measured - 1

    @property
    def given_error(self) -> float | None:
        """The same of the prediction that is given measured isolated times."""
        return None if self.given is None else self.given / self.measured - 1

    @property
    def fair_error(self) -> float:
        """Error of the prediction to hold beside a plain one: given measured isolated times, where
        there are any.
        """
        return self.error if self.given_error is None else self.given_error

    @property
    def unit(self) -> str:
        """Unit of *predicted* and *measured*: us, W, J, or none for a ratio."""
        return "" if self.metric.endswith("_slowdown") else UNITS.get(self.metric, "us")

    @property
    def unit_us(self) -> float:
        """One unit of a time or a slowdown in us: a slowdown is of the isolated time."""
        return self.record.measured.isolated[self.task] if self.unit == "" else 1.0

    @property
    def differences(self) -> tuple[float, ...]:
        """|a - b| / mean of this figure, for each pair of repeats."""
        return self.measurement.differences((self.metric, self.task))

    @property
    def name(self) -> str:
        """The workload and, if the figure is one task's, the task."""
        workload = self.record.workload.name
        return f"{workload}: {self.task}" if self.task else workload

    @property
    def comparison(self) -> str:
        """Predicted and measured, with unit, and the signed error, in words."""
        predicted, measured = (
            f"{value:.4g} {self.unit}" if self.unit else f"{value:.3f}"
            for value in (self.predicted, self.measured)
        )
        return f"{predicted} predicted, {measured} measured, {100 * self.error:+.1f} %"


def compare_record(node: Node, record: Record) -> list[Figure]:
    """Every figure of *record*, without baselines. Raises InputError (see predict_record)."""
    measurement = Measurement(record=record, repeats=(record,))
    return _figures(measurement, predict_record(node, record), {})


def compare(
    nodes: Mapping[str, Node],
    measurements: Sequence[Measurement],
    jobs: int = 0,
    progress: Progress = lambda count: None,
) -> list[Figure]:
    """Every figure of every measurement, with baselines. See :func:`predict` for the rest."""
    records = [one.record for one in measurements]
    known = baselines_of(records, nodes)
    predicted = predict(nodes, records, jobs, progress)
    return [
        figure
        for each in zip(measurements, predicted, known, strict=True)
        for figure in _figures(*each, _outside(nodes[each[0].record.node], each[0].record))
    ]


def _outside(node: Node, record: Record) -> Mapping[str, str]:
    """Task -> why it lies outside; the node of a record is known by the record's name of it."""
    return outside(node.changed(name=record.node), record.workload)


def _figures(
    measurement: Measurement,
    predicted: Predicted,
    baselines: Mapping[FigureKey, Baselines],
    outside: Mapping[str, str] | None = None,
) -> list[Figure]:
    """The figures; one of a single task counts as outside if that task is, one of a run if any."""
    beyond = outside or {}
    return [
        Figure(
            measurement=measurement,
            metric=key[0],
            task=key[1],
            predicted=predicted.own[key],
            given=predicted.given.get(key),
            measured=measured,
            baselines=baselines.get(key, NO_BASELINES),
            outside=(
                beyond.get(key[1], "")
                if key[0].startswith("isolated_")
                else "; ".join(f"{name}: {words}" for name, words in beyond.items())
            ),
        )
        for key, measured in measured_figures(measurement.record).items()
    ]

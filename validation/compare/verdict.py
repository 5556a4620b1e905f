"""The whole comparison: records in, figures per suite and a verdict out; as data for ``--json`` and
for the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from c3sim.input.loading import LoadedNode
from c3sim.specs.record import Record

from .baselines import PREDICTORS
from .bounds import Bounds, load_bounds
from .figures import Case
from .predict import Progress, predict
from .repeats import Repeated, differences, merge, observations, spread_of_suites
from .scores import Row, metric_of, plain_error, rows

Explained = Mapping[tuple[str, str], Sequence[tuple[Case, str]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Total:
    """One class of metrics over every suite of one node, held-out records only, beside the design's
    target.
    """

    node: str
    name: str
    cases: int
    median_error: float
    p90_error: float
    bias: float
    target_median: float
    target_p90: float
    baselines: Mapping[str, float | None]

    @property
    def on_target(self) -> bool:
        return self.median_error <= self.target_median and self.p90_error <= self.target_p90


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Every figure, grouped; *records* and *nodes* are what it was made from.

    *measurements* are the records with times, repeats merged; the other records are *observations*.
    """

    rows: Sequence[Row]
    cases: Sequence[Case]
    records: Sequence[Record]
    measurements: Sequence[Repeated]
    nodes: Mapping[str, LoadedNode]
    bounds: Bounds

    @property
    def observations(self) -> list[Record]:
        """Records without a time, which are shown and not compared."""
        return observations(self.records)

    @property
    def counts(self) -> str:
        """How much there is, in words."""
        repeated = sum(len(one.each) - 1 for one in self.measurements)
        said = f" ({repeated} of them repeats)" if repeated else ""
        return f"{len(self.records)} records{said}, {len(self.cases)} figures"

    @property
    def missed(self) -> list[Row]:
        """The rows that miss a bound."""
        return [row for row in self.rows if not row.passed]

    @property
    def passed(self) -> bool:
        return not self.missed

    def totals(self) -> list[Total]:
        """One line per node and class of metrics in ``bounds.yaml`` that has a case.

        Of concurrent runs, those whose source measured the tasks alone as well, and slowdowns
        rather than times.
        """
        found = []
        nodes = sorted({case.node for case in self.cases}, reverse=True)
        for node, (name, target) in product(nodes, self.bounds.targets.items()):
            held_out = [
                case for case in self.cases if case.node == node and case.role == "validation"
            ]
            if name in target.metrics:  # the metric that the class is named after stands for it
                cases = [
                    case for case in held_out if case.metric == name and case.plain.max is not None
                ]
            else:
                cases = [case for case in held_out if case.metric in target.metrics]
            if cases:
                errors = np.array([case.error for case in cases])
                absolute = np.abs(errors)
                total = Total(
                    node=node,
                    name=name,
                    cases=len(cases),
                    median_error=float(np.median(absolute)),
                    p90_error=float(np.quantile(absolute, 0.9)),
                    bias=float(np.median(errors)),
                    target_median=target.median,
                    target_p90=target.p90,
                    baselines={each: plain_error(cases, each) for each in PREDICTORS},
                )
                found.append(total)
        return found

    def record_of(self, case: Case) -> Record:
        """The record that a case comes from; of repeats, the one with their mean times."""
        found = (one.record for one in self.measurements)
        return next(r for r in found if (r.id, r.suite) == (case.id, case.suite))

    def to_dict(self, worst: Explained | None = None) -> dict[str, Any]:
        """Plain data for ``--json``. A slowdown is given in us as well: times the measured isolated
        time; power and energy have keys of their own.

        *worst*: (suite, metric) -> worst cases with their explanations.
        """
        return {
            "suites": [
                _row(row, (worst or {}).get((row.name, row.metric), ())) for row in self.rows
            ],
            "cases": [_case(case) for case in self.cases],
            "repeats": {
                name: asdict(each) for name, each in spread_of_suites(self.measurements).items()
            },
            "observed": [_observed(record) for record in self.observations],
            "known_gaps": {name: gap.model_dump() for name, gap in self.bounds.gaps.items()},
            "pass": self.passed,
        }


def validate(
    records: Sequence[Record],
    nodes: Mapping[str, LoadedNode],
    *,
    bounds: Bounds | None = None,
    jobs: int = 0,
    progress: Progress = lambda count: None,
) -> Verdict:
    """Predict every measurement on the node of its name, and judge. *bounds* left out: the packaged
    ones.

    Repeats are compared once, by their mean; *progress* counts measurements.
    """
    limits = bounds or load_bounds()
    plain = {name: loaded.node for name, loaded in nodes.items()}
    measurements = merge(records)
    predicted = predict(plain, [one.record for one in measurements], jobs, progress)
    cases = [
        replace(
            case, repeats=len(one.each), differences=differences(one.each, case.metric, case.task)
        )
        for one, found in zip(measurements, predicted, strict=True)
        for case in found
    ]
    return Verdict(
        rows=rows(cases, limits.suites),
        cases=cases,
        records=records,
        measurements=measurements,
        nodes=nodes,
        bounds=limits,
    )


def _row(row: Row, worst: Sequence[tuple[Case, str]]) -> dict[str, Any]:
    bound = row.bound
    return {
        "name": row.name,
        "metric": row.metric,
        "role": row.role,
        "cases": len(row.cases),
        "median_error": row.median_error,
        "p90_error": row.p90_error,
        "bias": row.bias,
        "bound_median": bound.median if bound else None,
        "bound_p90": bound.p90 if bound else None,
        "pass": row.passed,
        "baselines": dict(row.baselines),
        "on_target": row.on_target,
        "repeats": asdict(row.repeats) if row.repeats else None,
        "known_gap": bound.gap if bound else "",
        "reason": bound.reason if bound else "",
        "worst": [
            {"id": case.id, "name": case.name, "error": case.error, "explanation": why}
            for case, why in worst
        ],
    }


def _case(case: Case) -> dict[str, Any]:
    figures = {
        "predicted_us": case.predicted * case.unit_us,
        "measured_us": case.measured * case.unit_us,
    }
    if case.unit in ("W", "J"):
        unit = case.unit.lower()
        figures = {f"predicted_{unit}": case.predicted, f"measured_{unit}": case.measured}
    return {
        "id": case.id,
        "metric": metric_of(case),
        "predicted_us": None,
        "measured_us": None,
        **figures,
        "error": case.error,
        "suite": case.suite,
        "role": case.role,
        "name": case.name,
        "repeats": case.repeats,
    }


def _observed(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "suite": record.suite,
        "role": record.role,
        "node": record.node,
        "name": record.workload.name,
        "observed": record.observed,
    }
